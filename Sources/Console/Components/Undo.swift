internal import HTTPServing
package import RecordStore
package import Records
internal import Synchronization

// A change can be undone because the journal keeps what was there before. All saves and deletions of one form have one
// id in the journal, and the console remembers their records.

/// All saves and deletions of records that one form asks for.
package final class UndoableChange: Sendable {
    private struct State: Sendable {
        var recordIDs: [RecordID] = []
        var known: Set<RecordID> = []
        var cascaded: [RecordID: Dependent] = [:]
        /// False while the store may still delete records that are deleted with others.
        var isSettled = true
        /// The number of deleted records that came back.
        var restored = 0
        /// The fields that the save of a single record named.
        var fields: [String] = []
        var isTooLarge = false
        var leftByUndo: Int?

        /// - Returns: true for a record that was not noted before.
        @discardableResult mutating func add(_ recordID: RecordID) -> Bool {
            guard !isTooLarge, known.insert(recordID).inserted else { return false }
            recordIDs.append(recordID)
            if recordIDs.count > UndoableChange.recordLimit {
                self = State()
                isTooLarge = true
            }
            return !isTooLarge
        }
    }

    /// The maximum number of records of a change that can be undone here.
    package static let recordLimit = 100_000

    /// The id of the change in the journal: a UUID of version 8 (RFC 9562), which no request has.
    package let id: String
    package let place: Place
    private let state = Mutex(State())

    package init(at place: Place) {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        (bytes[6], bytes[8]) = (bytes[6] & 0x0F | 0x80, bytes[8] & 0x3F | 0x80)
        let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 0x0F, radix: 16) }
        id = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
        self.place = place
    }

    /// True if the journal has this id for changes made in the console, which the log of requests does not have.
    package static func isID(_ id: String) -> Bool {
        id.utf8.count == 36 && id.dropFirst(14).first == "8"
    }

    /// The changed records in the order of their first changes; empty if there are too many.
    package var recordIDs: [RecordID] { state.withLock { $0.recordIDs } }
    package var isTooLarge: Bool { state.withLock { $0.isTooLarge } }
    /// The number of records that could not be brought back when the change was undone; `nil` unless it was.
    package var leftByUndo: Int? { state.withLock { $0.leftByUndo } }
    package var isUndone: Bool { leftByUndo != nil }

    /// The records that are deleted with others, perhaps in the background.
    fileprivate var cascaded: [RecordID: Dependent] { state.withLock { $0.cascaded } }

    /// The record with which a record was deleted; `nil` for one that was not deleted with another.
    package func root(of recordID: RecordID) -> RecordID? { state.withLock { $0.cascaded[recordID]?.root } }

    fileprivate func noteUndone(except left: Int) {
        state.withLock { $0.leftByUndo = left }
    }

    /// - Parameter areRestored: true for records that were deleted before.
    fileprivate func note(_ recordIDs: some Sequence<RecordID>, areRestored: Bool = false) {
        state.withLock { state in
            for recordID in recordIDs {
                state.add(recordID)
                state.cascaded[recordID] = nil
                if areRestored { state.restored += 1 }
            }
        }
    }

    /// - Parameter dependents: records that are expected to be deleted with others.
    fileprivate func note(cascaded dependents: [Dependent]) {
        state.withLock { state in
            for dependent in dependents {
                if state.add(dependent.recordID) { state.cascaded[dependent.recordID] = dependent }
            }
        }
    }

    /// - Parameter operation: the only save of a request.
    fileprivate func note(fieldsOf operation: RecordOperation) {
        let names = operation.fields.keys.sorted().map(\.string)
        state.withLock { $0.fields = names + (operation.parent == .unchanged ? [] : ["parent"]) }
    }

    /// Waits a moment for the records that are deleted with others, so that the next page can tell their final number.
    fileprivate func settle(in database: any RecordDatabase) async {
        let expected = Array(cascaded.keys)
        if expected.isEmpty { return }
        let left = try? await database.awaitDeletion(of: expected, pauses: 10)
        state.withLock { $0.isSettled = left?.isEmpty == true && expected.count < dependentsLimit }
    }

    /// The notice's words about this change; `nil` if the notice names no records and fields.
    func text(of notice: Notice) -> String? {
        let state = state.withLock { $0 }
        switch notice {
        case .recordSaved:
            guard let last = state.fields.last else { return nil }
            let others = state.fields.dropLast()
            if others.isEmpty { return "Saved \(last)." }
            return others.count > 2
                ? "Saved \(Digits.count(state.fields.count, "field"))."
                : "Saved \(others.joined(separator: ", ")) and \(last)."
        case .recordDeleted, .recordsDeleted:
            let named = state.recordIDs.filter { state.cascaded[$0] == nil }
            guard let first = named.first else { return nil }
            let what = named.count == 1 ? first.recordName.string : Digits.count(named.count, "record")
            if state.cascaded.isEmpty { return "Deleted \(what)." }
            let others = state.cascaded.values.words(for: named.count == 1 ? "it" : "them")
            return state.isSettled
                ? "Deleted \(what), and \(others)."
                : "Deleted \(what). Being deleted: \(others), except any that a VALIDATE reference keeps."
        case .undone where state.restored == 1:
            return "Undone: the record is back, as a new record with the same name and values."
        case .undone where state.restored > 1:
            return "Undone: the records are back, as new records with the same names and values."
        default: return nil
        }
    }
}

/// The latest changes that can be undone. A restart of the server forgets them; the histories of the records stay.
package final class UndoableChanges: Sendable {
    /// The maximum number of changes that are kept, and of their records together.
    static let changeLimit = 100
    static let recordLimit = 300_000

    private let changes = Mutex<[UndoableChange]>([])

    package init() {}

    /// Keeps a change, which may still go on. The oldest ones go first.
    package func keep(_ change: UndoableChange) {
        changes.withLock { changes in
            if !changes.contains(where: { $0 === change }) { changes.append(change) }
            var records = changes.reduce(0) { $0 + $1.recordIDs.count }
            while changes.count > 1, changes.count > Self.changeLimit || records > Self.recordLimit {
                records -= changes.removeFirst().recordIDs.count
            }
        }
    }

    /// The change with an id; `nil` if it is of another database or user, or not kept.
    package func change(_ id: String, at place: Place) -> UndoableChange? {
        changes.withLock { changes in
            changes.first { $0.id == id && $0.place.address == place.address && $0.place.user == place.user }
        }
    }
}

// MARK: - Noting

/// A database that notes which records are changed through it, and marks their changes in the journal.
struct NotingDatabase: ForwardingDatabase, RecordJournal {
    let base: any RecordDatabase
    let change: UndoableChange

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        var request = request
        request.requestID = change.id
        let deleted = request.operations.filter(\.kind.isDeletion).compactMap { operation in
            operation.recordName.map { RecordID(recordName: $0, zoneID: operation.zoneID ?? request.zoneID) }
        }
        let cascaded = try await base.dependents(of: deleted)
        let results = try await base.modify(request)
        if request.operations.count == 1 { change.note(fieldsOf: request.operations[0]) }
        // From the end, so that what refers to a record comes before it.
        change.note(cascaded: cascaded.reversed())
        change.note(
            results.compactMap { result in
                switch try? result.get() {
                case .saved(let record): record.recordID
                case .deleted(let recordID): recordID
                case nil: nil
                }
            })
        return results
    }

    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        try await base.require(.keepJournal).journal(request)
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        var reversion = reversion
        reversion.requestID = change.id
        let record = try await base.require(.keepJournal).revert(reversion)
        change.note(CollectionOfOne(record.recordID), areRestored: reversion.recordChangeTag == nil)
        return record
    }
}

/// A record that is deleted with another one, because its reference says so.
package struct Dependent: Sendable {
    package let recordID: RecordID
    package let recordType: Name
    /// The record whose deletion is asked for.
    package let root: RecordID
    /// The number of references from it to the root.
    package let depth: Int
}

/// The number of records at which ``Records/RecordDatabase/dependents(of:)`` ends.
private let dependentsLimit = 10_000

extension RecordDatabase {
    /// The records that are deleted with others, because their references say so, and in turn those that are deleted
    /// with them.
    package func dependents(of recordIDs: [RecordID]) async throws -> [Dependent] {
        guard !recordIDs.isEmpty, can(.traceReferences) else { return [] }
        let tracing = try require(.traceReferences)
        var seen = Set(recordIDs)
        var found: [Dependent] = []
        var open = recordIDs.map { (recordID: $0, root: $0, depth: 0) }[...]
        while let target = open.popFirst(), found.count < dependentsLimit {
            let referrers: [Referrer]
            do {
                referrers = try await tracing.referrers(to: target.recordID, limit: dependentsLimit)
            } catch is RecordError {
                // The deletion itself says what is wrong with it.
                continue
            }
            for referrer in referrers where referrer.action == .deleteSelf {
                let recordID = RecordID(recordName: referrer.recordName, zoneID: target.recordID.zoneID)
                guard seen.insert(recordID).inserted else { continue }
                let depth = target.depth + 1
                found.append(
                    Dependent(recordID: recordID, recordType: referrer.recordType, root: target.root, depth: depth))
                open.append((recordID: recordID, root: target.root, depth: depth))
            }
        }
        return found
    }

    /// Waits while the store still deletes records that are deleted with others: as long as they become fewer.
    /// - Parameter pauses: the maximum number of pauses, each a tenth of a second.
    /// - Returns: the records that are there in the end.
    fileprivate func awaitDeletion(of recordIDs: [RecordID], pauses: Int = .max) async throws -> [RecordID] {
        var left = recordIDs
        var (before, paused) = (Int.max, 0)
        while !left.isEmpty, left.count < before, paused < pauses {
            if before < .max {
                try await Task.sleep(for: .milliseconds(100))
                paused += 1
            }
            before = left.count
            left = try await zip(left, fetch(left, desiredKeys: [])).compactMap { recordID, result in
                if case .success = result { recordID } else { nil }
            }
        }
        return left
    }
}

extension Collection where Element == Dependent {
    /// The sentence of a question before a deletion.
    /// - Parameter target: the deleted records as a pronoun, `it` or `them`.
    package func warning(for target: String) -> String {
        let (verb, reason) = count == 1 ? ("is", "its reference says") : ("are", "their references say")
        return "\(words(for: target)) \(verb) deleted too, because \(reason) DELETE_SELF."
    }

    /// `572 records that refer to it (506 Message, 66 Reaction)`
    fileprivate func words(for target: String) -> String {
        let counts: [Name: Int] = reduce(into: [:]) { $0[$1.recordType, default: 0] += 1 }
        let types = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        var parts = types.prefix(4).map { "\(Digits.grouped($0.value)) \($0.key)" }
        if types.count > parts.count { parts.append(Digits.count(types.count - parts.count, "more type")) }
        let number = Digits.count(count, "record") + (count < dependentsLimit ? "" : " or more")
        return "\(number) that \(count == 1 ? "refers" : "refer") to \(target) (\(parts.joined(separator: ", ")))"
    }
}

extension Visit {
    /// True if the database keeps earlier versions of records, so that changes can be undone.
    package func keepsVersions() async -> Bool {
        guard let journal = database.part(.keepJournal) else { return false }
        // The answer for an unknown record has the limits, too.
        let recordID = RecordID(recordName: "", zoneID: zones.first?.zoneID ?? .default)
        let request = RecordJournalRequest(recordID, limit: PageLimit(records: 1))
        return await (try? measure { try await journal.journal(request) }).map { !$0.limits.isOff } ?? false
    }

    /// True if a deletion asks first: it reaches production, or can't be undone.
    package func asksBeforeDeletions() async -> Bool {
        if place.address.environment == .production || connection != nil { return true }
        return await !keepsVersions()
    }

    /// The notice of an action that changed records, with the way to undo it.
    package func notice(_ notice: Notice) async -> [(name: String, value: String)] {
        guard await keepsVersions() else { return [notice.parameter, (NoticeView.undoField, NoticeView.noUndo)] }
        await measure { await change.settle(in: database) }
        return [notice.parameter, (NoticeView.undoField, kept().id)]
    }

    /// The change of this visit, kept to be undone.
    package func kept() -> UndoableChange {
        changes.keep(change)
        return change
    }
}

// MARK: - Undoing

/// Brings the records of a change back to what they were before it, unless they have changed since. That is a change
/// itself, which can be undone.
struct UndoWork: Sendable {
    let database: any RecordDatabase
    let place: Place
    let change: UndoableChange
    private let changed: Set<RecordID>
    private let cascaded: [RecordID: Dependent]

    /// Records that are brought back at a time.
    private static let width = 16

    init(_ change: UndoableChange, in database: any RecordDatabase, at place: Place) {
        (self.change, self.database, self.place) = (change, database, place)
        (changed, cascaded) = (Set(change.recordIDs), change.cascaded)
    }

    /// What undoes the change of one record.
    private enum Step: Sendable {
        case revert(RecordReversion)
        case delete(tag: String)
        /// The change left the record as it was before.
        case nothing
    }

    private struct Item: Sendable {
        let recordID: RecordID
        let step: Step
    }

    /// - Throws: `CancellationError` on cancellation; `RecordError` if the database refuses everything.
    func run(_ run: BackgroundRun) async throws {
        // The store may still delete records that were deleted with others.
        _ = try await database.awaitDeletion(of: Array(cascaded.keys))
        // The last change first: what was deleted last was referred to by what was deleted before.
        var left = Array(change.recordIDs.reversed())
        while true {
            let refused = try await pass(over: left, in: run)
            if refused.count == left.count {
                for (recordID, error) in refused { add(recordID, error, to: run) }
                change.noteUndone(except: run.now.problemCount)
                return
            }
            // A record may need others that come back after it, or stay until others are deleted.
            left = refused.map(\.0)
        }
    }

    /// - Returns: the records that were refused, and may not be once others are back.
    private func pass(over recordIDs: [RecordID], in run: BackgroundRun) async throws -> [(RecordID, RecordError)] {
        var refused: [(RecordID, RecordError)] = []
        var start = 0
        while start < recordIDs.count {
            try Task.checkCancellation()
            // A record comes back before those that refer to it, so that clients get them in this order.
            let level = depth(of: recordIDs[start])
            let batch = recordIDs[start...].prefix(Self.width).prefix { depth(of: $0) == level }
            start = batch.endIndex
            let outcomes = try await withThrowingTaskGroup(of: (Int, Result<Void, RecordError>).self) { group in
                for (index, recordID) in batch.enumerated() {
                    group.addTask {
                        do {
                            try await undo(recordID)
                            return (index, .success(()))
                        } catch let error as RecordError {
                            return (index, .failure(error))
                        }
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for (index, recordID) in batch.enumerated() {
                switch outcomes[index] {
                case .failure(let error)? where error.code != .conflict && error.code != .notFound:
                    refused.append((recordID, error))
                case .failure(let error)?: add(recordID, error, to: run)
                default:
                    run.update { state in
                        state.done += 1
                        state.achieved += 1
                    }
                }
            }
        }
        return refused
    }

    /// The number of references to the record with which it was deleted.
    private func depth(of recordID: RecordID) -> Int { cascaded[recordID]?.depth ?? 0 }

    private func undo(_ recordID: RecordID) async throws {
        switch try await step(for: recordID) {
        case .nothing: return
        case .revert(let reversion):
            try await again { _ = try await database.require(.keepJournal).revert(reversion) }
        case .delete(let tag):
            if try await !database.dependents(of: [recordID]).allSatisfy({ changed.contains($0.recordID) }) {
                throw RecordError(.conflict, "Records that were added since would be deleted with it, so it stays")
            }
            let operation = RecordOperation(
                .delete, recordName: recordID.recordName, zoneID: recordID.zoneID, recordChangeTag: tag)
            try await again {
                for result in try await database.modify(ModifyRequest([operation], zoneID: recordID.zoneID)) {
                    _ = try result.get()
                }
            }
        }
    }

    /// Repeats what a busy database refused.
    private func again(_ body: () async throws -> Void) async throws {
        for tries in 1... {
            do {
                return try await body()
            } catch let error as RecordError where error.code == .tryAgainLater && tries < 8 {
                try await Task.sleep(for: .milliseconds(50 << tries))
            }
        }
    }

    /// Compares the record with its versions: the latest ones are those of the change.
    /// - Throws: `RecordError` CONFLICT if the record has changed since; NOT_FOUND if no version before is kept.
    private func step(for recordID: RecordID) async throws -> Step {
        let journal = try database.require(.keepJournal)
        var latest: RecordJournalEntry?
        var own: RecordJournalEntry?
        var before: Int64?
        repeat {
            let page = try await journal.journal(
                RecordJournalRequest(recordID, before: before, limit: PageLimit(records: 3)))
            for entry in page.entries {
                latest = latest ?? entry
                if entry.requestID == change.id {
                    own = entry
                    continue
                }
                guard let latest, let own else {
                    // It was expected to be deleted, and stayed.
                    let isOwn = page.entries.contains { $0.requestID == change.id }
                    if cascaded[recordID] != nil, !isOwn { return .nothing }
                    throw RecordError(
                        .conflict,
                        entry.kind == .deleted
                            ? "It was deleted since, and stays deleted" : "It was saved again since, and stays as it is"
                    )
                }
                if own.kind == .created {
                    return latest.kind == .deleted ? .nothing : .delete(tag: latest.recordChangeTag)
                }
                if entry.recordType == Share.recordType, latest.kind == .deleted {
                    throw RecordError(.notFound, "A share that was deleted can’t come back; share the records again")
                }
                return .revert(
                    RecordReversion(
                        recordID, to: entry.position,
                        recordChangeTag: latest.kind == .deleted ? nil : latest.recordChangeTag))
            }
            before = page.before
        } while before != nil
        guard let latest, let own, own.kind == .created else {
            throw RecordError(.notFound, "The version before the change is not kept")
        }
        return latest.kind == .deleted ? .nothing : .delete(tag: latest.recordChangeTag)
    }

    private func add(_ recordID: RecordID, _ error: RecordError, to run: BackgroundRun) {
        run.update { $0.done += 1 }
        run.add(
            BackgroundRun.Problem(
                subject: recordID.recordName.string,
                href: place.link(toRecord: recordID.recordName, in: recordID.zoneID),
                code: error.code.rawValue, reason: error.reason))
    }
}

/// The form of the button Undo.
package enum UndoAction {
    package static let path = "undo"
    static let changeField = "change"
    /// Undoing so few records ends before the next page.
    private static let shortLimit = 200

    /// Undoes a change. If records could not be undone, or there are many, the next page is that of the job.
    package static func submit(_ visit: Visit) async throws -> String {
        guard let change = visit.changes.change(visit.fields[changeField] ?? "", at: visit.place) else {
            throw RecordError(
                .notFound,
                "This change can't be undone here any more; the histories of the records have the versions before it")
        }
        // A page that was open before has the button still.
        if change.isUndone { throw RecordError(.conflict, "This change was undone already") }
        let recordIDs = change.recordIDs
        let back = Place.local(visit.fields["back"]) ?? visit.place.link(Tab.query.rawValue)
        let run = BackgroundRun(
            heading: "Undo the change of \(Digits.count(recordIDs.count, "record"))", verb: "undone",
            total: recordIDs.count, place: visit.place, back: Frame.Link(text: "Back", href: back),
            change: visit.kept())
        let work = UndoWork(change, in: visit.database, at: visit.place)
        try visit.console.runs.start(run) { try await work.run($0) }
        if recordIDs.count <= shortLimit {
            await run.end()
            let state = run.now
            if state.outcome == .done, state.problemCount == 0 {
                return NoticeView.address(back, await visit.notice(.undone))
            }
        }
        return visit.place.link("run", [("id", run.id)])
    }
}
