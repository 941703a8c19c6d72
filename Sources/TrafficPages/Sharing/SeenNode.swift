internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// A record in the tree of the page Who sees what, with those below it.
struct SeenNode: ViewModel {
    let recordName: String
    let title: String?
    let href: String
    let type: String
    /// The share of which this record is the root, if it is not the one around.
    let other: SeenMark?
    /// `3 below`
    let below: String?
    let isOpen: Bool
    let children: [SeenNode]
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
struct SeenMark: ViewModel {
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
    static let none = SeenMark(letter: "–", tone: "seen0")
}

/// Chooses the records that a page has room for: those near the tops first.
struct SeenNodes {
    /// Maximum number of records on a page.
    private static let limit = 300
    /// Maximum number of records in one list.
    static let listLimit = 100
    /// Maximum number of levels. Every one takes room at the left.
    private static let depthLimit = 8
    /// Up to this number of records on the page, all lists are open.
    private static let openLimit = 80

    private let tree: SharedTree
    private let marks: [Int64: SeenMark]
    private var shown: [SharedTree.Index: [SharedTree.Index]] = [:]
    private var left: [SharedTree.Index: Int] = [:]
    private var tops: [SharedTree.Index] = []
    private var count = 0
    /// The title of each record, by its name.
    var titles: [Name: String] = [:]
    /// The page's address without the record, and that of records without the name.
    private let page: (_ under: Name, _ after: Name?) -> String
    private let record: String

    init(_ tree: SharedTree, marks: [Int64: SeenMark], in place: Place, page: @escaping (_ under: Name, _ after: Name?) -> String) {
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
    func node(_ index: SharedTree.Index, isTop: Bool = true) -> SeenNode {
        let node = tree.nodes[index]
        let mark = isTop ? nil : tree.roots[index].map { marks[$0] ?? SeenMark.none }
        let children = mark == nil ? shown[index] ?? [] : []
        let below = mark == nil ? tree.below[index] : 0
        var more: Frame.Link?
        if mark == nil, let left = left[index], left > 0 {
            let after = children.last.map { tree.nodes[$0].recordName }
            more = Frame.Link(
                text: after == nil ? "Show \(Digits.grouped(below)) below" : "\(Digits.grouped(left)) more in this list", href: page(node.recordName, after))
        }
        return SeenNode(
            recordName: node.recordName.string, title: titles[node.recordName], href: record + PercentEncoding.encoded(node.recordName.string),
            type: node.recordType.string, other: mark,
            below: below == 0 ? nil : "\(Digits.grouped(below)) below", isOpen: isTop || count <= Self.openLimit,
            children: children.map { self.node($0, isTop: false) }, more: more)
    }
}
