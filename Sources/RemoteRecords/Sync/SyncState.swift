internal import CloudKitClient
internal import Records

/// The complete state of an engine: its position and the pending changes.
struct SyncState: Sendable {
    var userRecordName: Name?
    var databaseToken: SyncToken?
    var zoneTokens: [ZoneID: SyncToken] = [:]
    /// Zones that changed before `databaseToken` and whose changes are not all fetched.
    var zonesToFetch: [ZoneID] = []
    /// Zones of `zonesToFetch` whose token has expired, so that they are fetched from the beginning.
    var zonesFromTheBeginning: Set<ZoneID> = []
    /// Zones whose history was skipped. Records that existed before are not fetched.
    var zonesWithoutHistory: Set<ZoneID> = []
    /// The number of times that each zone was requested again from the beginning. A page that was requested before must
    /// not change the position. These numbers are not stored.
    private(set) var restarts: [ZoneID: Int] = [:]
    var pendingDatabaseChanges: [PendingDatabaseChange] = []
    var pending = PendingChanges()

    private static let format: Int64 = 1

    init() {}

    /// Drops everything that belongs to the previous user.
    mutating func reset(for user: Name?) {
        pending.removeAll()
        let pending = pending
        self = SyncState()
        (self.pending, userRecordName) = (pending, user)
    }

    /// A state with the pending changes of this one, without its position.
    var unsentChanges: SyncState {
        var state = SyncState()
        (state.pendingDatabaseChanges, state.pending) = (pendingDatabaseChanges, pending)
        return state
    }

    var isEmpty: Bool { pendingDatabaseChanges.isEmpty && pending.toKeep.isEmpty }

    /// Adds the changes of a state that was kept. A change that is pending already wins.
    mutating func takeBack(_ kept: SyncState) {
        for entry in kept.pending.toKeep { pending.takeBack(entry) }
        let known = Set(pendingDatabaseChanges.map(\.zoneID))
        pendingDatabaseChanges += kept.pendingDatabaseChanges.filter { !known.contains($0.zoneID) }
    }

    mutating func forget(_ zoneID: ZoneID) {
        zoneTokens[zoneID] = nil
        zonesToFetch.removeAll { $0 == zoneID }
        zonesFromTheBeginning.remove(zoneID)
        zonesWithoutHistory.remove(zoneID)
    }

    /// Makes the next fetch request the whole zone.
    mutating func fetchAnew(_ zoneID: ZoneID) {
        forget(zoneID)
        zonesToFetch.append(zoneID)
        restarts[zoneID, default: 0] += 1
    }

    /// Drops everything that belongs to deleted zones, except pending changes in a zone that is to be created again:
    /// this device may have deleted the zone itself.
    mutating func drop(_ zoneIDs: [ZoneID]) {
        for zoneID in zoneIDs { forget(zoneID) }
        // Another client may create the zone again. A deletion that was meant for the old zone must not delete its
        // records.
        let deletions = zoneIDs.map { PendingDatabaseChange.deleteZone($0) }
        pendingDatabaseChanges.removeAll { deletions.contains($0) }
        pending.removeAll(in: Set(zoneIDs.filter { !pendingDatabaseChanges.contains(.saveZone($0)) }))
    }

    /// Returns whether all changes of the zone up to its token were fetched.
    func isComplete(_ zoneID: ZoneID) -> Bool {
        zoneTokens[zoneID] != nil && !zonesToFetch.contains(zoneID) && !zonesWithoutHistory.contains(zoneID)
    }

    mutating func add(_ change: PendingDatabaseChange) {
        guard !pendingDatabaseChanges.contains(change) else { return }
        pendingDatabaseChanges.removeAll { $0.zoneID == change.zoneID }
        pendingDatabaseChanges.append(change)
    }

    // MARK: JSON

    /// The whole state, for a store that keeps it in one piece.
    var bytes: [UInt8] {
        var object = position
        object["pending"] = .array(
            pending.toKeep.map { entry in
                var json = entry.change.recordID.json
                if case .deleteRecord = entry.change { json["delete"] = true }
                if entry.mayBeMade { json["mayBeMade"] = true }
                return .object(json)
            })
        return JSONWriter.bytes(of: .object(object))
    }

    /// The state without the pending changes of records.
    var positionBytes: [UInt8] { JSONWriter.bytes(of: .object(position)) }

    private var position: JSONObject {
        var object = JSONObject()
        object["format"] = .integer(Self.format)
        object["user"] = userRecordName.map { .string($0.string) }
        object["databaseToken"] = databaseToken.map { .string($0.text) }
        object["zoneTokens"] = .array(
            zoneTokens.sorted { $0.value.text < $1.value.text }.map { zoneID, token in
                .object(
                    JSONObject([
                        .init(name: "zoneID", value: .object(zoneID.json)),
                        .init(name: "token", value: .string(token.text)),
                    ]))
            })
        object["zonesToFetch"] = .array(zonesToFetch.map { .object($0.json) })
        object["zonesFromTheBeginning"] = .array(zonesFromTheBeginning.map { .object($0.json) })
        object["zonesWithoutHistory"] = .array(zonesWithoutHistory.map { .object($0.json) })
        object["saveZones"] = .array(
            pendingDatabaseChanges.compactMap {
                if case .saveZone(let zoneID) = $0 { .object(zoneID.json) } else { nil }
            })
        object["deleteZones"] = .array(
            pendingDatabaseChanges.compactMap {
                if case .deleteZone(let zoneID) = $0 { .object(zoneID.json) } else { nil }
            })
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    init(_ bytes: [UInt8]) throws {
        guard case .object(let object)? = try? JSONReader.value(of: bytes), object["format"] == .integer(Self.format)
        else { throw UnreadableRecord() }
        func string(_ name: Name) -> String? { if case .string(let text)? = object[name] { text } else { nil } }
        func zone(_ json: JSONValue?) throws -> ZoneID {
            guard let json, let zoneID = try? ZoneID(json) else { throw UnreadableRecord() }
            return zoneID
        }
        func zones(_ name: Name) throws -> [ZoneID] { try object.objects(name).map { try zone(.object($0)) } }
        userRecordName = string("user").map { Name($0) }
        databaseToken = string("databaseToken").map { SyncToken($0) }
        for pair in try object.objects("zoneTokens") {
            guard case .string(let token)? = pair["token"] else { throw UnreadableRecord() }
            zoneTokens[try zone(pair["zoneID"])] = SyncToken(token)
        }
        zonesToFetch = try zones("zonesToFetch")
        zonesFromTheBeginning = Set(try zones("zonesFromTheBeginning"))
        zonesWithoutHistory = Set(try zones("zonesWithoutHistory"))
        pendingDatabaseChanges =
            try zones("saveZones").map { .saveZone($0) } + zones("deleteZones").map { .deleteZone($0) }
        guard object["pending"] != nil else { return }
        pending = PendingChanges(
            try object.objects("pending").enumerated().map { place, json in
                let recordID = try RecordID(json: .object(json))
                let change: PendingRecordZoneChange =
                    json["delete"] == .bool(true) ? .deleteRecord(recordID) : .saveRecord(recordID)
                return PendingChanges.Entry(
                    number: Int64(place) + 1, change: change, mayBeMade: json["mayBeMade"] == .bool(true))
            })
    }
}

// MARK: - Changes to send

/// The pending changes of records, in the order in which they were added. Each record occurs once, with its last
/// change.
///
/// The cost of adding, removing and reading the next changes does not depend on their number.
struct PendingChanges: Sendable {
    struct Entry: Sendable, Hashable {
        var number: Int64
        let change: PendingRecordZoneChange
        /// True if the change was sent and its answer is missing, so that it may have been made.
        var mayBeMade: Bool
        /// The moment when the change was last added, even if it was equal. It is not stored.
        var moment: Int64 = 0
    }

    /// The entries by number; `nil` where one was removed.
    private var entries: [Entry?] = []
    private var places: [RecordID: Int] = [:]
    /// All entries before this index are `nil`.
    private var start = 0
    private(set) var lastNumber: Int64 = 0
    /// Increases with each added change.
    private(set) var moment: Int64 = 0
    /// The changes that are being sent. For a program that starts again, they are pending.
    private var sending: [RecordID: Entry] = [:]
    /// The records whose entries changed since ``takeTouched()``; `nil` if changes are not tracked.
    private var touched: Set<RecordID>?

    init() {}

    /// - Parameters:
    ///   - kept: the stored entries, in the order of their numbers.
    ///   - tracksChanges: true for a store that keeps each change separately.
    init(_ kept: [Entry], tracksChanges: Bool = false) {
        arrange(kept)
        lastNumber = kept.last?.number ?? 0
        touched = tracksChanges ? [] : nil
    }

    // MARK: Reading

    var all: [PendingRecordZoneChange] { entries.compactMap { $0?.change } }

    /// - Returns: `nil` if the record has no pending change, or if its change is being sent.
    subscript(_ recordID: RecordID) -> PendingRecordZoneChange? { places[recordID].flatMap { entries[$0]?.change } }

    /// The number of a record's entry; `nil` as for ``subscript(_:)``.
    func number(of recordID: RecordID) -> Int64? { places[recordID].flatMap { entries[$0]?.number } }

    /// The number of the first entry.
    var firstNumber: Int64? { start < entries.count ? entries[start]?.number : nil }
    /// The number of the last entry that is pending.
    var lastPendingNumber: Int64? { entries.last { $0 != nil }??.number }

    func first(_ count: Int, where isWanted: (PendingRecordZoneChange) -> Bool = { _ in true })
        -> [PendingRecordZoneChange]
    {
        var found: [PendingRecordZoneChange] = []
        for case let entry? in entries[start...] {
            if found.count == count { break }
            if isWanted(entry.change) { found.append(entry.change) }
        }
        return found
    }

    /// The changes to store: those that are pending and those that are being sent.
    var toKeep: [Entry] {
        (entries.compactMap { $0 } + sending.values.filter { places[$0.change.recordID] == nil }).sorted {
            $0.number < $1.number
        }.map { toKeep($0) }
    }

    /// The records whose entries changed since the last call, each with the entry to keep.
    mutating func takeTouched() -> [(recordID: RecordID, entry: Entry?)] {
        guard let recordIDs = touched else { return [] }
        touched = []
        return recordIDs.map { recordID in
            (recordID, (places[recordID].flatMap { entries[$0] } ?? sending[recordID]).map { toKeep($0) })
        }
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

    /// Adds an entry of an earlier time, unless the record has a pending change.
    mutating func takeBack(_ entry: Entry) {
        guard places[entry.change.recordID] == nil else { return }
        moment += 1
        append(entry.change, entry.mayBeMade)
    }

    mutating func remove(_ recordID: RecordID) {
        guard let place = places.removeValue(forKey: recordID) else { return }
        touched?.insert(recordID)
        entries[place] = nil
        while start < entries.count, entries[start] == nil { start += 1 }
        if entries.count > 2 * places.count + 64 { arrange(entries.compactMap { $0 }) }
    }

    /// Adds changes that are sent again, after the other entries up to a number and before the entries after it.
    /// - Returns: the number of the last of these changes.
    mutating func addAgain(_ changes: [PendingRecordZoneChange], after number: Int64) -> Int64 {
        let later = entries[start...].compactMap { $0 }.filter { $0.number > number }
        for change in changes where places[change.recordID] == nil { add(change) }
        let last = lastNumber
        for entry in later { moveToEnd(entry.change.recordID) }
        return last
    }

    /// Removes the saves of records that no longer exist. Those that were added after a moment follow all others.
    mutating func removeSaves(of recordIDs: [RecordID], addedUntil asked: Int64) {
        for recordID in recordIDs {
            if isCurrent(.saveRecord(recordID), addedUntil: asked) { remove(recordID) } else { moveToEnd(recordID) }
        }
    }

    private mutating func moveToEnd(_ recordID: RecordID) {
        guard let place = places[recordID], var entry = entries[place] else { return }
        remove(recordID)
        lastNumber += 1
        entry.number = lastNumber
        append(entry)
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

    /// Removes changes that are about to be sent from the pending ones. Newer changes of the same records stay, after
    /// all others.
    /// - Parameter asked: the moment when the records to send were requested; `nil` for now.
    /// - Returns: the records whose earlier change may already have been made.
    mutating func begin(_ changes: [PendingRecordZoneChange], askedAt asked: Int64? = nil) -> Set<RecordID> {
        var unanswered: Set<RecordID> = []
        for change in changes {
            let recordID = change.recordID
            let entry = places[recordID].flatMap { entries[$0] }
            if entry?.mayBeMade == true { unanswered.insert(recordID) }
            if isCurrent(change, addedUntil: asked ?? moment) { remove(recordID) } else { moveToEnd(recordID) }
            if entry == nil { lastNumber += 1 }
            sending[recordID] = Entry(
                number: entry?.number ?? lastNumber, change: change, mayBeMade: true, moment: entry?.moment ?? moment)
            touched?.insert(recordID)
        }
        return unanswered
    }

    /// Makes changes with an unknown outcome pending again, unless the app changed their records since.
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
        append(Entry(number: lastNumber, change: change, mayBeMade: mayBeMade, moment: moment))
    }

    private mutating func append(_ entry: Entry) {
        places[entry.change.recordID] = entries.count
        entries.append(entry)
        touched?.insert(entry.change.recordID)
    }

    private mutating func arrange(_ sorted: [Entry]) {
        entries = sorted
        start = 0
        places = Dictionary(sorted.enumerated().map { ($1.change.recordID, $0) }) { _, last in last }
    }
}
