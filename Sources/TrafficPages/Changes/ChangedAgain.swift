internal import Console
internal import RecordStore
internal import Records

/// Records that changed after the second of two tokens. The feed holds each record once, at its latest
/// change. Only the journal can tell whether such a record also changed between the two tokens.
struct ChangedAgain: ViewModel {
    /// One change of a record.
    struct Moment: ViewModel {
        let kind: String
        let kindText: String
        let position: String
        let when: ValueView
        let by: String
    }

    struct Row: ViewModel {
        let recordName: String
        let href: String
        let type: String
        /// The last change between the tokens; `nil` if the journal has no entry from that time.
        let between: Moment?
        let now: Moment
        let history: String
    }

    /// The number of these records, and its meaning.
    let sentence: String
    /// A summary of the journal entries for the records that were looked up.
    let finding: String?
    let rows: [Row]
    /// The link that lists them; `nil` if this page lists them.
    let list: String?
    /// The link that looks up the next ones.
    let next: String?
    /// The link back to the changes between the tokens; `nil` unless only these records are listed.
    let back: String?
    let hasLinks: Bool

    /// The number of journal lookups on one page when the user requests them.
    private static let limit = 100
    /// The number of journal lookups without a request.
    private static let unaskedLimit = 20

    /// - Parameter isLast: true if this is the last page of the changes between the tokens, which also lists these
    ///   records.
    /// - Returns: `nil` if it is unknown whether there are any.
    init?(_ span: FeedSpan, _ form: RecordFeedForm, in zoneID: ZoneID, isLast: Bool, visit: Visit) async throws {
        guard let end = span.end, let upto = form.upto, let count = end.changesAfter else { return nil }
        back =
            form.listing == .asked ? nil : visit.place.link("changes", form.parameters(since: form.since, upto: upto))
        guard count > 0 else {
            sentence = "Nothing changed after the second token, so these are all changes between the two tokens."
            (finding, rows, list, next, hasLinks) = (nil, [], nil, nil, back != nil)
            return
        }
        let (noun, them) = count == 1 ? ("1 record", "it") : ("\(Digits.grouped(count)) records", "one of them")
        sentence =
            "\(noun)\(form.type == nil ? "" : ", of any type,") changed after the second token. The feed has each record once, at its latest change. An earlier change of \(them) "
            + "between the tokens is therefore not listed."
        guard visit.database.can(.keepJournal) else {
            finding =
                "This store can't \(Capability.keepJournal.task), so it can't tell which of them also changed between the tokens."
            (rows, list, next, hasLinks) = ([], nil, nil, back != nil)
            return
        }
        var start: ChangeToken?
        switch form.listing {
        case .changedAgain(let from): start = from ?? upto
        case .asked: start = isLast && count <= Self.unaskedLimit ? upto : nil
        }
        guard let start else {
            (finding, rows, next, hasLinks) = (nil, [], nil, back != nil)
            list = visit.place.link(
                "changes", form.parameters(since: form.since, upto: upto, again: ChangeToken(text: "")))
            return
        }
        let request = ZoneChangesRequest(
            zoneID, since: start, limit: PageLimit(records: Self.limit), desiredKeys: [],
            desiredRecordTypes: form.type.map { [$0] })
        let page = try await visit.measure { try await visit.database.zoneChanges(request) }
        let lookup = JournalLookup(
            visit.database, after: span.base, through: end.position, isComplete: end.progress == .complete)
        var (rows, only, lost) = ([Row](), 0, 0)
        for change in page.changes {
            let between: Moment?
            switch try await visit.measure({ try await lookup.lastChange(of: change) }) {
            case .unchanged:
                only += 1
                continue
            case .changed(let entry): between = Moment(entry, visit: visit)
            case .unknown:
                lost += 1
                between = nil
            }
            rows.append(Row(change, between: between, in: zoneID, visit: visit))
        }
        self.rows = rows
        let isAll = start == upto && !page.moreComing
        let looked = Digits.grouped(page.changes.count)
        let which =
            isAll ? form.type.map { ", for the \(looked) of type \($0)" } ?? "" : ", for the \(looked) on this page"
        finding = "From the journal\(which): \(Self.words(found: rows.count - lost, only: only, lost: lost))."
        list = nil
        next =
            page.moreComing
            ? visit.place.link("changes", form.parameters(since: form.since, upto: upto, again: page.syncToken)) : nil
        hasLinks = next != nil || back != nil
    }

    private static func words(found: Int, only: Int, lost: Int) -> String {
        var parts = ["\(Digits.grouped(found)) also changed between the tokens"]
        if only > 0 { parts.append("\(Digits.grouped(only)) only later") }
        if lost > 0 { parts.append("\(Digits.grouped(lost)) have no journal entries from that time") }
        return parts.joined(separator: ", ")
    }
}

extension ChangedAgain.Row {
    fileprivate init(_ change: RecordChange, between: ChangedAgain.Moment?, in zoneID: ZoneID, visit: Visit) {
        let name = change.recordID.recordName
        recordName = name.string
        href = visit.place.link(toRecord: name, in: zoneID)
        type = change.record?.recordType.string ?? RecordChange.unknownText
        self.between = between
        now = ChangedAgain.Moment(
            kind: change.kindName, kindText: change.kindText, position: change.positionText,
            when: change.record.map { ValueView(.time($0.modified.timestamp)) } ?? .missing,
            by: change.record.map { visit.people.name(of: $0.modified.userRecordName) } ?? RecordChange.unknownText)
        history = visit.place.inZone(zoneID).link("record/history", [("name", name.string)])
    }
}

extension ChangedAgain.Moment {
    fileprivate init(_ entry: RecordJournalEntry, visit: Visit) {
        self.init(
            kind: entry.kind.rawValue, kindText: entry.kind.rawValue, position: Digits.grouped(entry.position),
            when: ValueView(.time(entry.signature.timestamp)), by: visit.people.name(of: entry.signature.userRecordName)
        )
    }
}

/// Finds out whether records that changed after a position in the feed also changed before it.
struct JournalLookup: Sendable {
    enum LastChange: Sendable {
        /// The last change in the requested part of the feed.
        case changed(RecordJournalEntry)
        /// There was no change, or the record did not exist yet.
        case unchanged
        /// The journal has no entries from that time.
        case unknown
    }

    private let database: any RecordDatabase
    private let after: Int64
    private let through: Int64
    private let isComplete: Bool

    /// - Parameters:
    ///   - after: searches for changes after this position.
    ///   - through: searches for changes up to this position.
    ///   - isComplete: true if a change of kind `created` proves that the record name was unused before.
    init(_ database: any RecordDatabase, after: Int64, through: Int64, isComplete: Bool) {
        self.database = database
        self.after = after
        self.through = through
        self.isComplete = isComplete
    }

    /// - Parameter change: a change after that part.
    func lastChange(of change: RecordChange) async throws -> LastChange {
        if change.kind == .created, isComplete { return .unchanged }
        let recordID = change.recordID
        let then = try await database.require(.keepJournal).journal(
            RecordJournalRequest(recordID, before: through.addingSaturated(1), limit: PageLimit(records: 1, bytes: 0)))
        if let entry = then.entries.first { return entry.position > after ? .changed(entry) : .unchanged }
        // A record that was created later did not exist then, unless an earlier record of the same name was deleted and
        // forgotten.
        let limits = then.limits
        guard !limits.isOff else { return .unknown }
        let later = try await database.require(.keepJournal).journal(
            RecordJournalRequest(recordID, limit: Self.later(limits)))
        guard later.before == nil, later.entries.count < limits.versions, let first = later.entries.last,
            first.kind == .created,
            first.signature.timestamp > limits.oldest(at: .now())
        else { return .unknown }
        return .unchanged
    }

    /// The maximum number of later versions to read to find a record's creation.
    /// The byte limit further restricts large records, whose fields are read too.
    private static func later(_ limits: JournalLimits) -> PageLimit {
        PageLimit(records: min(limits.versions, 20), bytes: 1 << 17)
    }
}

// MARK: - Order

/// Marks a record that comes before a record it depends on. Clients must handle this order.
///
/// The feed holds each record once, at its latest change. If a parent is saved again later, it therefore comes after
/// its child.
struct OrderWarning: ViewModel {
    let text: String
    /// The target's line on the same page, or else the target's page.
    let href: String
    let explanation: String

    /// The maximum number of targets to look up beyond the page.
    private static let lookupLimit = 200

    private struct Dependency {
        let index: Int
        let target: Name
        /// `parent`, or the name of the field.
        let role: String
    }

    /// The marks of a page's changes, by index. The first change that comes before a target has one; the others before
    /// it have an empty list.
    static func marks(_ changes: [RecordChange], fields: [[Field]], visit: Visit) async throws -> [Int: [OrderWarning]]
    {
        guard let zoneID = visit.place.zoneID else { return [:] }
        let dependencies = zip(changes.indices, changes).flatMap { index, change in
            Self.dependencies(change, fields[index], index: index, zoneID: zoneID, place: visit.place)
        }
        let places = Dictionary(
            zip(changes.map(\.recordID.recordName), changes.indices), uniquingKeysWith: { _, last in last })
        let elsewhere = Set(dependencies.map(\.target)).filter { places[$0] == nil }.sorted().prefix(lookupLimit)
        let positions = try await Self.positions(of: Array(elsewhere), in: zoneID, visit: visit)
        var marks: [Int: [OrderWarning]] = [:]
        var told: Set<Name> = []
        func mark(_ dependency: Dependency, _ warning: OrderWarning) {
            marks[dependency.index, default: []] += told.insert(dependency.target).inserted ? [warning] : []
        }
        for dependency in dependencies {
            let change = changes[dependency.index]
            if let place = places[dependency.target] {
                guard place > dependency.index else { continue }
                mark(dependency, OrderWarning(dependency, target: changes[place], at: place))
            } else if let later = positions[dependency.target], let position = change.position, later > position {
                let href = visit.place.link(toRecord: dependency.target, in: zoneID)
                mark(dependency, OrderWarning(dependency, at: later, href: href))
            }
        }
        return marks
    }

    private static func dependencies(
        _ change: RecordChange, _ fields: [Field], index: Int, zoneID: ZoneID, place: Place
    ) -> [Dependency] {
        guard change.kind != .deleted, let record = change.record else { return [] }
        var dependencies: [Dependency] = []
        var seen: Set<Name> = [change.recordID.recordName]
        if let parent = record.parent, seen.insert(parent).inserted {
            dependencies.append(Dependency(index: index, target: parent, role: "parent"))
        }
        for field in fields {
            for case .reference(let reference) in field.value.elements
            where reference.zoneID.map({ place.isSame($0, zoneID) }) ?? true {
                guard seen.insert(reference.recordName).inserted else { continue }
                dependencies.append(Dependency(index: index, target: reference.recordName, role: "\(field.name)"))
            }
        }
        return dependencies
    }

    /// The position of each target that is not on the page. The times of records don't tell: restored and mirrored ones
    /// keep old times.
    private static func positions(of names: [Name], in zoneID: ZoneID, visit: Visit) async throws -> [Name: Int64] {
        guard visit.database.can(.positionRecords) else { return [:] }
        var positions: [Name: Int64] = [:]
        for name in names {
            positions[name] = try await visit.measure {
                try await visit.database.require(.positionRecords).position(
                    of: RecordID(recordName: name, zoneID: zoneID))
            }?.latest
        }
        return positions
    }

    private init(_ dependency: Dependency, target: RecordChange, at index: Int) {
        href = "#" + target.anchor(at: index)
        text = "\(dependency.role) comes later"
        let place = target.position.map { ", at position \(Digits.grouped($0))" } ?? ""
        explanation =
            target.kind == .deleted
            ? "\(dependency.target), its \(dependency.role), is deleted later in this list\(place)"
            : "\(dependency.target), its \(dependency.role), was saved again later\(place)"
    }

    private init(_ dependency: Dependency, at position: Int64, href: String) {
        self.href = href
        text = "\(dependency.role) comes later"
        explanation =
            "\(dependency.target), its \(dependency.role), was saved again later, at position \(Digits.grouped(position)), further down the feed"
    }
}
