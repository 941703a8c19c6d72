internal import CloudKitClient
internal import JSON
internal import Records

/// All that an engine has to know to go on: its position, and the changes to send.
struct SyncState: Sendable {
    var userRecordName: Name?
    var databaseToken: SyncToken?
    var zoneTokens: [ZoneID: SyncToken] = [:]
    /// Zones that changed before `databaseToken`, and whose changes are not all here.
    var zonesToFetch: [ZoneID] = []
    /// Zones of `zonesToFetch` whose token has expired, and that are fetched from the beginning.
    var zonesFromTheBeginning: Set<ZoneID> = []
    /// Zones that are followed from some moment on. Records that were there before do not come.
    var zonesWithoutHistory: Set<ZoneID> = []
    /// The number of times that all of a zone was asked for. A page that was asked for before must not move its position. They are not kept.
    private(set) var restarts: [ZoneID: Int] = [:]
    var pendingDatabaseChanges: [PendingDatabaseChange] = []
    var pending = PendingChanges()

    private static let format: Int64 = 1

    init() {}

    /// Drops everything that belongs to the user before.
    mutating func reset(for user: Name?) {
        pending.removeAll()
        let pending = pending
        self = SyncState()
        (self.pending, userRecordName) = (pending, user)
    }

    mutating func forget(_ zoneID: ZoneID) {
        zoneTokens[zoneID] = nil
        zonesToFetch.removeAll { $0 == zoneID }
        zonesFromTheBeginning.remove(zoneID)
        zonesWithoutHistory.remove(zoneID)
    }

    /// Makes the next fetch bring all of a zone.
    mutating func fetchAnew(_ zoneID: ZoneID) {
        forget(zoneID)
        zonesToFetch.append(zoneID)
        restarts[zoneID, default: 0] += 1
    }

    /// Drops all that belongs to zones that were deleted. Changes stay in a zone that is about to be made anew: the deletion may be this device's own.
    mutating func drop(_ zoneIDs: [ZoneID]) {
        for zoneID in zoneIDs { forget(zoneID) }
        // Somebody may make the zone anew. Its records must not go with a deletion that was meant for this one.
        let deletions = zoneIDs.map { PendingDatabaseChange.deleteZone($0) }
        pendingDatabaseChanges.removeAll { deletions.contains($0) }
        pending.removeAll(in: Set(zoneIDs.filter { !pendingDatabaseChanges.contains(.saveZone($0)) }))
    }

    /// True if everything in the zone came, up to its token.
    func isComplete(_ zoneID: ZoneID) -> Bool {
        zoneTokens[zoneID] != nil && !zonesToFetch.contains(zoneID) && !zonesWithoutHistory.contains(zoneID)
    }

    mutating func add(_ change: PendingDatabaseChange) {
        guard !pendingDatabaseChanges.contains(change) else { return }
        pendingDatabaseChanges.removeAll { $0.zoneID == change.zoneID }
        pendingDatabaseChanges.append(change)
    }

    // MARK: JSON

    /// Everything, for a store that keeps it as a whole.
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

    /// Everything but the changes of records.
    var positionBytes: [UInt8] { JSONWriter.bytes(of: .object(position)) }

    private var position: JSONObject {
        var object = JSONObject()
        object["format"] = .integer(Self.format)
        object["user"] = userRecordName.map { .string($0.string) }
        object["databaseToken"] = databaseToken.map { .string($0.text) }
        object["zoneTokens"] = .array(
            zoneTokens.sorted { $0.value.text < $1.value.text }.map { zoneID, token in
                .object(JSONObject([.init(name: "zoneID", value: .object(zoneID.json)), .init(name: "token", value: .string(token.text))]))
            })
        object["zonesToFetch"] = .array(zonesToFetch.map { .object($0.json) })
        object["zonesFromTheBeginning"] = .array(zonesFromTheBeginning.map { .object($0.json) })
        object["zonesWithoutHistory"] = .array(zonesWithoutHistory.map { .object($0.json) })
        object["saveZones"] = .array(pendingDatabaseChanges.compactMap { if case .saveZone(let zoneID) = $0 { .object(zoneID.json) } else { nil } })
        object["deleteZones"] = .array(pendingDatabaseChanges.compactMap { if case .deleteZone(let zoneID) = $0 { .object(zoneID.json) } else { nil } })
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    init(_ bytes: [UInt8]) throws {
        guard case .object(let object)? = try? JSONReader.value(of: bytes), object["format"] == .integer(Self.format) else { throw UnreadableRecord() }
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
        pendingDatabaseChanges = try zones("saveZones").map { .saveZone($0) } + zones("deleteZones").map { .deleteZone($0) }
        guard object["pending"] != nil else { return }
        pending = PendingChanges(
            try object.objects("pending").enumerated().map { place, json in
                let recordID = try RecordID(json: .object(json))
                let change: PendingRecordZoneChange = json["delete"] == .bool(true) ? .deleteRecord(recordID) : .saveRecord(recordID)
                return PendingChanges.Entry(number: Int64(place) + 1, change: change, mayBeMade: json["mayBeMade"] == .bool(true))
            })
    }
}
