internal import Accounts
package import Console
internal import RecordStore
internal import Records

/// The page Who sees what: the records of a zone as trees of parents, by the users who see them.
package enum VisibilityView {
    /// The parameters of the page: the user whose view is shown, the record at the top, and the last one of the
    /// previous page of a list.
    static let viewerField = "viewer"
    static let topField = "under"
    static let afterField = "after"
    /// Maximum number of records that a page looks at.
    private static let treeLimit = 20_000
    /// Maximum number of shares that a page tells apart.
    private static let shareLimit = 50

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        guard let zoneID = visit.place.zoneID ?? visit.usualZoneID else {
            throw RecordError(.badRequest, "The address needs the zone: sees?zone=…")
        }
        let place = visit.place.inZone(zoneID)
        let database = visit.database
        let (found, tree) = try await visit.measure {
            (
                try await database.require(.listShares).shares(in: zoneID, after: nil, limit: shareLimit + 1),
                try await database.require(.listShares).tree(of: zoneID, limit: treeLimit)
            )
        }
        let shares = Array(found.prefix(shareLimit))
        let owner = visit.owner(of: zoneID)
        let viewer = try viewer(visit)
        let scene = SharedTree(tree, shares: shares)
        let marks = Dictionary(
            shares.enumerated().map { ($1.hierarchy, VisibilityMark($0)) }, uniquingKeysWith: { first, _ in first })
        func page(_ parameters: [(name: String, value: String)]) -> String {
            place.link("sees", (viewer.map { [(viewerField, $0.handle)] } ?? []) + parameters)
        }
        let nodes = VisibilityNodes(scene, marks: marks, in: place) { under, after in
            page([(topField, under.string)] + (after.map { [(afterField, $0.string)] } ?? []))
        }
        var maker = PartMaker(
            tree: scene, nodes: nodes, shares: shares, marks: marks, owner: owner, viewer: viewer?.userRecordName,
            visit: visit)
        let (top, after) = (
            visit.fields.text(topField).map { Name($0) }, visit.fields.text(afterField).map { Name($0) }
        )
        if let top {
            try maker.choose(under: top, after: after)
        } else {
            maker.choose(after: after) { page([(afterField, $0.string)]) }
        }
        maker.nodes.titles = try await titles(of: maker.nodes.names, in: zoneID, visit)
        let parts: [any Component] = maker.parts()
        let all = scene.nodes.count
        let incomplete: [String?] = [
            tree.isComplete
                ? nil
                : "The zone has more records. The page shows the \(Digits.grouped(tree.nodes.count)) least recently changed.",
            found.count > shareLimit
                ? "The zone has more than \(shareLimit) shares. Records of the others are listed as if only the owner saw them."
                : nil,
        ]
        let remarks: [any Component] = incomplete.compactMap(\.self).map { Note(remark: $0) }
        let path = top.flatMap { scene.index(of: $0) }.map { scene.ancestors(of: $0) } ?? []
        let above = path.reversed().map { index in
            let name = scene.nodes[index].recordName.string
            return Frame.Link.button(name, page([(topField, name)]))
        }
        let way: [any Component] =
            top != nil || after != nil ? [Paragraph.actions([.button("The whole zone", page([]))] + above)] : []
        let seen = viewer.map { maker.count(seenBy: $0.userRecordName, owner: owner) } ?? 0
        let summary: Inline? = viewer.map { viewer in
            let count = seen == all && all > 0 ? "all" : Digits.grouped(seen)
            let words = "\(viewer.displayName) sees \(count) of \(Digits.count(all, "record"))."
            let there = place.seen(by: viewer, zoneID, of: owner).link("sees")
            let act: Inline = seen == 0 ? "" : " \(.link("Act as \(viewer.displayName)", there))"
            return " \(strong: words)\(act)"
        }
        let choices = viewers(of: shares, owner: owner, chosen: viewer, visit)
        return ComponentPage(
            .sharing,
            PageHead(
                "Who sees what",
                crumb:
                    "zone \(.link(visit.zoneName(zoneID), place.link("zone"))) \(visit.ownerName(zoneID) ?? "")",
                [
                    "Guests see a shared record and all records below it by their parents. Each colour and letter is a share.\(summary ?? "")"
                ],
                forms: [
                    .choosing(
                        "sees", at: place, keeping: top.map { [(topField, $0.string)] } ?? [],
                        [FormField(.sentChoice(choices), viewerField, "As seen by")], button: "Show")
                ]),
            remarks + way + parts, foot: PageFooter(count: Digits.count(all, "record")))
    }

    /// Maximum size of the fields that are read for the titles. Records beyond it go without.
    private static let titleBytes = 1 << 20

    private static func titles(of names: [Name], in zoneID: ZoneID, _ visit: Visit) async throws -> [Name: String] {
        let database = visit.database
        let all = visit.titles
        let results = try await visit.measure {
            try await database.fetch(
                names.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: all.fields, bytesLimit: titleBytes)
        }
        var titles: [Name: String] = [:]
        for case .success(let record) in results {
            titles[record.recordID.recordName] = try all.title(of: record)
        }
        return titles
    }

    /// - Throws: `RecordError` NOT_FOUND for a user who does not exist.
    private static func viewer(_ visit: Visit) throws -> User? {
        guard let name = visit.fields.text(viewerField) else { return nil }
        guard let user = visit.people.user(named: name) else {
            throw RecordError(.notFound, "There is no user '\(name)'")
        }
        return user
    }

    /// Maximum number of users to choose from.
    private static let viewerLimit = 100

    /// The users who take part in any of the shares, the owner first.
    private static func viewers(of shares: [ZoneShare], owner: Name, chosen: User?, _ visit: Visit) -> [Choice] {
        var known: Set<Name> = []
        let names = ([owner, chosen?.userRecordName].compactMap(\.self) + shares.flatMap(\.share.guests)).filter {
            known.insert($0).inserted
        }
        return [Choice("", "everybody", isSelected: chosen == nil)]
            + names.prefix(viewerLimit).compactMap { visit.people.user($0) }.map {
                Choice($0.handle, $0.displayName, isSelected: $0 == chosen)
            }
    }
}

/// Makes the parts of the page.
private struct PartMaker {
    let tree: SharedTree
    var nodes: VisibilityNodes
    let shares: [ZoneShare]
    let marks: [Int64: VisibilityMark]
    let owner: Name
    let viewer: Name?
    let visit: Visit
    /// The share of each part, `nil` for records without one, with the tops of its trees and the link to more of them.
    private var chosen: [(share: ZoneShare?, tops: [SharedTree.Index], more: Frame.Link?)] = []

    init(
        tree: SharedTree, nodes: VisibilityNodes, shares: [ZoneShare], marks: [Int64: VisibilityMark], owner: Name,
        viewer: Name?, visit: Visit
    ) {
        (self.tree, self.nodes, self.shares, self.marks) = (tree, nodes, shares, marks)
        (self.owner, self.viewer, self.visit) = (owner, viewer, visit)
    }

    private var whole: ZoneShare? { shares.first { $0.rootName == nil } }

    /// All parts, those of shares first. With `after`, only the records that no share shows.
    /// - Parameter page: the page with those after a name.
    mutating func choose(after: Name?, page: (Name) -> String) {
        let shared = after == nil ? shares.filter { $0.rootName != nil } : []
        var loose = tree.sorted(tree.tops[nil] ?? [])
        if let after { loose.removeAll { tree.nodes[$0].recordName <= after } }
        let last = Array(loose.prefix(VisibilityNodes.listLimit))
        chosen = shared.map {
            ($0, Array(tree.sorted(tree.tops[$0.hierarchy] ?? []).prefix(VisibilityNodes.listLimit)), nil)
        }
        let left = loose.count - last.count
        let more =
            left > 0
            ? last.last.map {
                Frame.Link(text: "\(Digits.grouped(left)) more in this list", href: page(tree.nodes[$0].recordName))
            } : nil
        if whole != nil || !loose.isEmpty || chosen.isEmpty { chosen.append((whole, last, more)) }
        nodes.choose(below: chosen.flatMap(\.tops))
    }

    /// The part that a record is in, from this record on.
    /// - Throws: `RecordError` NOT_FOUND for a record that the page does not have.
    mutating func choose(under name: Name, after: Name?) throws {
        guard let index = tree.index(of: name) else { throw RecordError.recordNotFound }
        let hierarchy = tree.hierarchy(of: index)
        chosen = [(shares.first { $0.hierarchy == hierarchy } ?? whole, [index], nil)]
        nodes.choose(below: [index], after: after)
    }

    func parts() -> [Section] { chosen.map { part($0.share, tops: $0.tops, more: $0.more) } }

    /// Number of records that a user sees.
    func count(seenBy user: Name, owner: Name) -> Int {
        if user == owner || whole?.share.guests.contains(user) ?? false { return tree.nodes.count }
        return shares.filter { $0.share.guests.contains(user) }.reduce(0) { $0 + tree.count(in: $1.hierarchy) }
    }

    /// - Parameter share: `nil` for records that no share shows.
    private func part(_ share: ZoneShare?, tops: [SharedTree.Index], more: Frame.Link?) -> Section {
        let ownerName = visit.people.name(of: owner)
        let isSeen = viewer.map { $0 == owner || share?.share.guests.contains($0) ?? false }
        let viewerName = viewer.map { visit.people.name(of: $0) } ?? ""
        let mark = share.flatMap { marks[$0.hierarchy] } ?? VisibilityMark.none
        let count = Digits.count(tree.count(in: share?.rootName == nil ? nil : share?.hierarchy), "record")
        let title = share.map { Inline.link($0.title(visit), $0.href(visit)) } ?? "In no share"
        let seenBy =
            share.map {
                $0.share.guests.isEmpty ? "only \(ownerName); nobody has accepted yet" : $0.seenBy(visit)
            } ?? "only \(ownerName)"
        let remarks = [remark(share), moving(share)].compactMap(\.self).joined(separator: " ")
        let verdict: Inline? = isSeen.map { isSeen in
            Inline("\(viewerName) \(isSeen ? "sees" : "does not see") this").styled(
                isSeen ? "state good" : "state warn") + " "
        }
        var parts: [any Component] = [Paragraph("\(verdict ?? "")Seen by \(seenBy). \(remarks)")]
        if !tops.isEmpty {
            let rest: [any Component] = more.map { [Paragraph(.link($0.text, $0.href))] } ?? []
            parts.append(
                Fold(
                    "Records", style: "records", isOpen: isSeen ?? true,
                    [VisibilityTree(nodes: tops.map { nodes.node($0) })] + rest))
        }
        return Section(
            share.map { "share-\($0.hierarchy)" } ?? "loose",
            "\(Inline(mark.letter).styled("letter")) \(title) \(.faint(Inline(count)))",
            style: "seen \(mark.tone)\(isSeen == false ? " unseen" : "")", parts)
    }

    private func moving(_ share: ZoneShare?) -> String? {
        let count = tree.moving[share?.rootName == nil ? nil : share?.hierarchy] ?? 0
        return count == 0
            ? nil
            : "\(Digits.count(count, "record")) of them \(count == 1 ? "is" : "are") still being moved: the store moves large trees in steps."
    }

    private func remark(_ share: ZoneShare?) -> String? {
        if share != nil { return share?.rootName == nil ? "The whole zone is shared, with all records." : nil }
        if shares.isEmpty { return "Nothing in this zone is shared." }
        return tree.tops[nil] == nil
            ? nil
            : "These records have no parent in a share, so guests do not see them, even if shared records refer to them."
    }
}

// MARK: - Nodes

/// Records as trees of parents.
struct VisibilityTree: Component {
    static let template = "who_sees"

    let nodes: [VisibilityNode]
}

/// A record in the tree of the page Who sees what, with those below it.
struct VisibilityNode: ViewModel {
    let recordName: String
    let title: String?
    let href: String
    let type: String
    /// The share of which this record is the root, if it is not the one around.
    let other: VisibilityMark?
    /// `3 below`
    let below: String?
    let isOpen: Bool
    let children: [VisibilityNode]
    /// The link to those that the page leaves out.
    let more: Frame.Link?

    func child(named name: String) -> Any? {
        switch name {
        case "recordName": recordName
        case "title": title ?? Absent()
        case "href": href
        case "type": type
        case "other": other ?? Absent()
        case "below": below ?? Absent()
        case "isOpen": isOpen
        case "isBranch": !children.isEmpty
        case "children": children
        case "more": more ?? Absent()
        default: nil
        }
    }
}

/// The letter and the colour of a share on a page.
struct VisibilityMark: ViewModel {
    let letter: String
    let tone: String

    private static let toneCount = 6

    /// - Parameter index: of the share among those of the page.
    init(_ index: Int) {
        let scalar = index < 26 ? UnicodeScalar(UInt8(ascii: "A") + UInt8(index)) : nil
        letter = scalar.map { String(Character($0)) } ?? String(index + 1)
        tone = "seen\(index % Self.toneCount + 1)"
    }

    private init(letter: String, tone: String) { (self.letter, self.tone) = (letter, tone) }

    /// For records that no share shows.
    static let none = VisibilityMark(letter: "–", tone: "seen0")
}

/// Chooses the records that a page has room for: those near the tops first.
struct VisibilityNodes {
    /// Maximum number of records on a page.
    private static let limit = 300
    /// Maximum number of records in one list.
    static let listLimit = 100
    /// Maximum number of levels. Every one takes room at the left.
    private static let depthLimit = 8
    /// Up to this number of records on the page, all lists are open.
    private static let openLimit = 80

    private let tree: SharedTree
    private let marks: [Int64: VisibilityMark]
    private var shown: [SharedTree.Index: [SharedTree.Index]] = [:]
    private var left: [SharedTree.Index: Int] = [:]
    private var tops: [SharedTree.Index] = []
    private var count = 0
    /// The title of each record, by its name.
    var titles: [Name: String] = [:]
    /// The page's address without the record, and that of records without the name.
    private let page: (_ under: Name, _ after: Name?) -> String
    private let record: String

    init(
        _ tree: SharedTree, marks: [Int64: VisibilityMark], in place: Place,
        page: @escaping (_ under: Name, _ after: Name?) -> String
    ) {
        self.tree = tree
        self.marks = marks
        self.page = page
        // Relative to this page, because the path is as long as the rest of a line.
        record = FormFields.url("record", place.parameters) + "&name="
    }

    /// - Parameters:
    ///   - tops: of all lists of the page.
    ///   - after: the last name of the previous page of the first top.
    mutating func choose(below tops: [SharedTree.Index], after: Name? = nil) {
        self.tops = tops
        count = tops.count
        var waiting = tops.map { (index: $0, depth: 1) }
        var next = 0
        while next < waiting.count {
            let (index, depth) = waiting[next]
            next += 1
            var children = tree.sorted(tree.children[index] ?? [])
            if let after, next == 1 { children.removeAll { tree.nodes[$0].recordName <= after } }
            if children.isEmpty { continue }
            let room = depth < Self.depthLimit ? max(0, min(Self.listLimit, Self.limit - count)) : 0
            shown[index] = Array(children.prefix(room))
            left[index] = max(0, children.count - room)
            count += min(room, children.count)
            waiting += children.prefix(room).filter { tree.roots[$0] == nil }.map { ($0, depth + 1) }
        }
    }

    /// The names of all records on the page.
    var names: [Name] { (tops + shown.values.flatMap(\.self)).map { tree.nodes[$0].recordName } }

    /// - Parameter isTop: true for the top of a list, which is never marked as belonging to another share.
    func node(_ index: SharedTree.Index, isTop: Bool = true) -> VisibilityNode {
        let node = tree.nodes[index]
        let mark = isTop ? nil : tree.roots[index].map { marks[$0] ?? VisibilityMark.none }
        let children = mark == nil ? shown[index] ?? [] : []
        let below = mark == nil ? tree.below[index] : 0
        var more: Frame.Link?
        if mark == nil, let left = left[index], left > 0 {
            let after = children.last.map { tree.nodes[$0].recordName }
            more = Frame.Link(
                text: after == nil
                    ? "Show \(Digits.grouped(below)) below" : "\(Digits.grouped(left)) more in this list",
                href: page(node.recordName, after))
        }
        return VisibilityNode(
            recordName: node.recordName.string, title: titles[node.recordName],
            href: record + PercentEncoding.encoded(node.recordName.string),
            type: node.recordType.string, other: mark,
            below: below == 0 ? nil : "\(Digits.grouped(below)) below", isOpen: isTop || count <= Self.openLimit,
            children: children.map { self.node($0, isTop: false) }, more: more)
    }
}
