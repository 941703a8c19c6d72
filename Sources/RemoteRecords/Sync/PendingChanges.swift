internal import Records

/// The changes of records that wait to be sent, in the order in which they were added. Each record is there once, with its last change.
///
/// Adding, removing and asking for the next ones cost the same however many there are.
struct PendingChanges: Sendable {
    struct Entry: Sendable, Hashable {
        let number: Int64
        let change: PendingRecordZoneChange
        /// True if it was sent without an answer.
        var mayBeMade: Bool
        /// The moment when it was added last, also as an equal change. It is not kept.
        var moment: Int64 = 0
    }

    /// By number, with holes in the place of removed ones.
    private var entries: [Entry?] = []
    private var places: [RecordID: Int] = [:]
    /// There are only holes before it.
    private var start = 0
    private var lastNumber: Int64 = 0
    /// Rises with each change that is added.
    private(set) var moment: Int64 = 0
    /// Changes on their way. For a program that ends now, they are pending.
    private var sending: [RecordID: Entry] = [:]
    /// The records whose entries changed since ``takeTouched()``; `nil` if nobody asks.
    private var touched: Set<RecordID>?

    init() {}

    /// - Parameters:
    ///   - kept: in the order of their numbers.
    ///   - tracksChanges: true for a store that keeps each change by itself.
    init(_ kept: [Entry], tracksChanges: Bool = false) {
        arrange(kept)
        lastNumber = kept.last?.number ?? 0
        touched = tracksChanges ? [] : nil
    }

    // MARK: Reading

    var all: [PendingRecordZoneChange] { entries.compactMap { $0?.change } }

    /// - Returns: `nil` also for a record that is on its way.
    subscript(_ recordID: RecordID) -> PendingRecordZoneChange? { places[recordID].flatMap { entries[$0]?.change } }

    func first(_ count: Int, where isWanted: (PendingRecordZoneChange) -> Bool = { _ in true }) -> [PendingRecordZoneChange] {
        var found: [PendingRecordZoneChange] = []
        for case let entry? in entries[start...] {
            if found.count == count { break }
            if isWanted(entry.change) { found.append(entry.change) }
        }
        return found
    }

    /// The changes that have to outlive the program: they wait, or are on their way.
    var toKeep: [Entry] {
        (entries.compactMap { $0 } + sending.values.filter { places[$0.change.recordID] == nil }).sorted { $0.number < $1.number }.map { toKeep($0) }
    }

    /// The records whose entries changed since the last call, each with the entry to keep.
    mutating func takeTouched() -> [(recordID: RecordID, entry: Entry?)] {
        guard let recordIDs = touched else { return [] }
        touched = []
        return recordIDs.map { recordID in (recordID, (places[recordID].flatMap { entries[$0] } ?? sending[recordID]).map { toKeep($0) }) }
    }

    private func toKeep(_ entry: Entry) -> Entry {
        var entry = entry
        if sending[entry.change.recordID] != nil { entry.mayBeMade = true }
        return entry
    }

    // MARK: Changing

    mutating func add(_ change: PendingRecordZoneChange) {
        moment += 1
        var mayBeMade = false
        if let place = places[change.recordID], let entry = entries[place] {
            if entry.change == change {
                entries[place]?.moment = moment
                return
            }
            mayBeMade = entry.mayBeMade
            remove(change.recordID)
        }
        append(change, mayBeMade)
    }

    mutating func remove(_ recordID: RecordID) {
        guard let place = places.removeValue(forKey: recordID) else { return }
        touched?.insert(recordID)
        entries[place] = nil
        while start < entries.count, entries[start] == nil { start += 1 }
        if entries.count > 2 * places.count + 64 { arrange(entries.compactMap { $0 }) }
    }

    /// Takes saves out whose records are gone, unless they were added after a moment.
    mutating func removeSaves(of recordIDs: [RecordID], addedUntil asked: Int64) {
        for recordID in recordIDs where isCurrent(.saveRecord(recordID), addedUntil: asked) { remove(recordID) }
    }

    private func isCurrent(_ change: PendingRecordZoneChange, addedUntil asked: Int64) -> Bool {
        guard let entry = places[change.recordID].flatMap({ entries[$0] }) else { return false }
        return entry.change == change && entry.moment <= asked
    }

    mutating func removeAll(in zoneIDs: Set<ZoneID>) {
        if zoneIDs.isEmpty { return }
        for recordID in places.keys where zoneIDs.contains(recordID.zoneID) { remove(recordID) }
    }

    mutating func removeAll() {
        for recordID in places.keys { remove(recordID) }
    }

    /// Takes changes out that are about to be sent. Newer changes of their records stay.
    /// - Parameter asked: the moment when the records to send were asked for; `nil` for now.
    /// - Returns: the records whose earlier change may have been made already.
    mutating func begin(_ changes: [PendingRecordZoneChange], askedAt asked: Int64? = nil) -> Set<RecordID> {
        var unanswered: Set<RecordID> = []
        for change in changes {
            let recordID = change.recordID
            let entry = places[recordID].flatMap { entries[$0] }
            if entry?.mayBeMade == true { unanswered.insert(recordID) }
            if isCurrent(change, addedUntil: asked ?? moment) { remove(recordID) }
            if entry == nil { lastNumber += 1 }
            sending[recordID] = Entry(number: entry?.number ?? lastNumber, change: change, mayBeMade: true, moment: entry?.moment ?? moment)
            touched?.insert(recordID)
        }
        return unanswered
    }

    /// Puts the changes back whose fate is not known, unless the app has changed their records since.
    /// - Parameter known: the records whose change was made or refused.
    mutating func end(known: Set<RecordID>) {
        var open: [Entry] = []
        for (recordID, entry) in sending {
            touched?.insert(recordID)
            if known.contains(recordID) { continue }
            if let place = places[recordID] { entries[place]?.mayBeMade = true } else { open.append(entry) }
        }
        sending = [:]
        if !open.isEmpty { arrange((open + entries.compactMap { $0 }).sorted { $0.number < $1.number }) }
    }

    private mutating func append(_ change: PendingRecordZoneChange, _ mayBeMade: Bool) {
        lastNumber += 1
        places[change.recordID] = entries.count
        entries.append(Entry(number: lastNumber, change: change, mayBeMade: mayBeMade, moment: moment))
        touched?.insert(change.recordID)
    }

    private mutating func arrange(_ sorted: [Entry]) {
        entries = sorted
        start = 0
        places = Dictionary(sorted.enumerated().map { ($1.change.recordID, $0) }) { _, last in last }
    }
}
