internal import Console
internal import JSON
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

    /// - Parameter isLast: true if this is the last page of the changes between the tokens, which also lists these records.
    /// - Returns: `nil` if it is unknown whether there are any.
    init?(_ span: FeedSpan, _ form: RecordFeedForm, in zoneID: ZoneID, isLast: Bool, visit: Visit) async throws {
        guard let end = span.end, let upto = form.upto, let count = end.changesAfter else { return nil }
        back = form.listing == .asked ? nil : visit.place.link("changes", form.parameters(since: form.since, upto: upto))
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
            finding = "This store can't \(Capability.keepJournal.rawValue), so it can't tell which of them also changed between the tokens."
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
            list = visit.place.link("changes", form.parameters(since: form.since, upto: upto, again: ChangeToken(text: "")))
            return
        }
        let request = ZoneChangesRequest(
            zoneID, since: start, limit: PageLimit(records: Self.limit), desiredKeys: [], desiredRecordTypes: form.type.map { [$0] })
        let page = try await visit.measure { try await visit.database.zoneChanges(request) }
        let lookup = JournalLookup(visit.database, after: span.base, through: end.position, isComplete: end.progress == .complete)
        var (rows, only, lost) = ([Row](), 0, 0)
        for change in page.changes {
            let between: Moment?
            switch try await visit.measure({ try await lookup.past(of: change) }) {
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
        let which = isAll ? form.type.map { ", for the \(looked) of type \($0)" } ?? "" : ", for the \(looked) on this page"
        finding = "From the journal\(which): \(Self.words(found: rows.count - lost, only: only, lost: lost))."
        list = nil
        next = page.moreComing ? visit.place.link("changes", form.parameters(since: form.since, upto: upto, again: page.syncToken)) : nil
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
        type = change.record?.recordType.string ?? RecordChange.untold
        self.between = between
        now = ChangedAgain.Moment(
            kind: change.kindName, kindText: change.kindText, position: change.positionText,
            when: change.record.map { ValueView(.time($0.modified.timestamp)) } ?? .missing,
            by: change.record.map { visit.people.name(of: $0.modified.userRecordName) } ?? RecordChange.untold)
        history = visit.place.inZone(zoneID).link("record/history", [("name", name.string)])
    }
}

extension ChangedAgain.Moment {
    fileprivate init(_ entry: RecordJournalEntry, visit: Visit) {
        self.init(
            kind: entry.act.rawValue, kindText: entry.act.rawValue, position: Digits.grouped(entry.position),
            when: ValueView(.time(entry.signature.timestamp)), by: visit.people.name(of: entry.signature.userRecordName))
    }
}
