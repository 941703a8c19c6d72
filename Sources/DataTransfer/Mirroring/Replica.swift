internal import CloudKitClient
internal import RecordStore
internal import Records

/// A database of the origin, together with its mirror.
struct Replica: Sendable {
    /// The client for files, whose transfer may take any time.
    let remoteFiles: DatabaseClient
    private let patience: Duration
    /// The time limit for a small request after a failure.
    private static let askingTime: Duration = .seconds(30)
    let local: any RecordDatabase
    private let engine: any RecordEngine

    var scope: DatabaseScope { remoteFiles.scope }

    /// The client for one request that begins now, with the time limit.
    var remote: DatabaseClient { remoteFiles.until(remoteFiles.container.pacing.now() + patience) }

    init(
        _ remote: DatabaseClient, in container: ContainerID, of engine: any RecordEngine, as caller: Caller,
        patience: Duration, _ meter: MirrorMeter
    ) async throws {
        remoteFiles = remote.observing { meter.note($0) }
        self.patience = patience
        let address = DatabaseAddress(
            container: container, environment: remote.container.environment, scope: remote.scope)
        local = try await engine.database(address, as: caller)
        self.engine = engine
    }

    /// Checks after a failure whether only a part of the origin fails.
    /// - Throws: the failure, if the origin does not answer other requests either.
    func checkThatOthersAreAnswered(after failure: CloudKitFailure) async throws {
        if failure.isOfOnePart { return }
        guard case .connectionLost = failure.kind else { throw failure }
        let asked = remoteFiles.until(remoteFiles.container.pacing.now() + Self.askingTime)
        do {
            switch scope {
            case .public: _ = try await asked.caller()
            case .private, .shared: _ = try await asked.databaseChanges(since: nil, limit: 1)
            }
        } catch is CloudKitFailure {
            throw failure
        }
    }

    // MARK: Zones

    /// The zone in the mirror.
    func localZone(_ zoneID: ZoneID) -> ZoneID {
        scope == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName)
    }

    /// True if the mirror has the zone.
    func hasZone(_ zoneID: ZoneID) async throws -> Bool {
        guard case .failure(let error)? = try await local.fetchZones([localZone(zoneID)]).first else { return true }
        guard error.code == .zoneNotFound else { throw error }
        return false
    }

    /// Creates the zone in the mirror, unless it exists. A shared zone is created in its owner's database.
    func makeZone(_ zoneID: ZoneID) async throws {
        let zone = ZoneID(zoneName: zoneID.zoneName)
        let owner = try await owner(of: zoneID)
        for result in try await owner.modifyZones([.create(zone)]) { _ = try result.get() }
        if scope == .shared {
            // Only the share record contains a guest's permission. A write without permission is refused when it is
            // sent.
            _ = try await owner.require(.mirrorRecords).mirror(MirrorBatch(zone, guest: local.caller.userRecordName))
        }
    }

    /// Removes the zone from the mirror, if it exists.
    func removeZone(_ zoneID: ZoneID) async throws {
        for result in try await owner(of: zoneID).modifyZones([.delete(ZoneID(zoneName: zoneID.zoneName))]) {
            if case .failure(let error) = result, error.code != .zoneNotFound { throw error }
        }
    }

    /// The private database that contains the zone.
    private func owner(of zoneID: ZoneID) async throws -> any RecordDatabase {
        guard scope == .shared else { return local }
        guard let owner = zoneID.ownerRecordName else {
            throw RecordError(.zoneNotFound, "The origin does not tell the owner of the zone '\(zoneID.zoneName)'")
        }
        var address = local.address
        address.scope = .private
        return try await engine.database(address, as: Caller(userRecordName: owner))
    }

    /// The number of unsent edits in a zone of the mirror.
    func unsentCount(in zoneID: ZoneID) async throws -> Int {
        var count = 0
        try await eachPageOfEdits { edits in
            count += edits.count {
                $0.recordID.zoneID.zoneName == zoneID.zoneName && isOwner($0.recordID.zoneID, as: zoneID)
            }
        }
        return count
    }

    private func isOwner(_ localZone: ZoneID, as zoneID: ZoneID) -> Bool {
        scope != .shared || localZone.ownerRecordName == zoneID.ownerRecordName
    }

    func eachPageOfEdits(_ body: ([UnsentEdit]) async throws -> Void) async throws {
        var since: Int64?
        while true {
            let edits = try await local.require(.mirrorRecords).unsentEdits(
                since: since, limit: DatabaseClient.itemLimit)
            if !edits.isEmpty { try await body(edits) }
            guard edits.count == DatabaseClient.itemLimit, let last = edits.last else { return }
            since = last.since
        }
    }
}

extension CloudKitFailure {
    /// True if only a part of the origin failed. Refused credentials affect the whole origin.
    var isOfOnePart: Bool { isOfOneRequest && serverError?.code != .authenticationFailed }
}

/// The names of a mirror's marks, which store the state of its pulls.
enum Marks {
    /// The change token of the origin's database.
    static func database(_ scope: DatabaseScope) -> Name { Name("\(scope.rawValue)/token") }

    /// The change token of a zone, or ``noToken``. Every zone that was pulled from the origin has this mark.
    static func token(of zoneID: ZoneID, _ scope: DatabaseScope) -> Name { zone("zone", zoneID, scope) }

    static let noToken = ""

    /// The token in a mark.
    static func token(_ mark: String?) -> SyncToken? {
        mark.flatMap { $0 == noToken ? nil : SyncToken($0) }
    }

    /// Exists while a zone is read again from its beginning, to find the records that it no longer has.
    static func comparison(of zoneID: ZoneID, _ scope: DatabaseScope) -> Name { zone("comparison", zoneID, scope) }

    /// The latest modification time of a type, in milliseconds.
    static func modification(of type: Name) -> Name { Name("public/modification/\(type)") }

    /// The time of the latest comparison of a type's record names, in milliseconds.
    static func sweep(of type: Name) -> Name { Name("public/sweep/\(type)") }

    /// The origin's schema in CloudKit's schema language, if a file was given.
    static let schema: Name = "schema"
    static let files: Name = "files"
    /// The records of a database whose files were temporarily unavailable, for the next pull.
    static func missedFiles(_ scope: DatabaseScope) -> Name { Name("\(scope.rawValue)/missed") }
    static let history: Name = "history"

    private static func zone(_ kind: String, _ zoneID: ZoneID, _ scope: DatabaseScope) -> Name {
        Name(
            "\(scope.rawValue)/\(kind)/\(scope == .shared ? "\(zoneID.ownerRecordName ?? "")\t" : "")\(zoneID.zoneName)"
        )
    }

    /// The zones with a token.
    static func zones(_ scope: DatabaseScope, in marks: [Name: String]) -> [ZoneID] {
        let prefix = "\(scope.rawValue)/zone/"
        return marks.keys.filter { $0.string.hasPrefix(prefix) }.sorted().compactMap { mark in
            let rest = mark.string.dropFirst(prefix.count)
            guard scope == .shared else { return ZoneID(zoneName: Name(String(rest))) }
            guard let tab = rest.utf8.firstIndex(of: UInt8(ascii: "\t")) else { return nil }
            return ZoneID(
                zoneName: Name(String(rest[rest.utf8.index(after: tab)...])),
                ownerRecordName: Name(String(rest[..<tab])))
        }
    }
}

// MARK: - Records

/// The error of a record that a mirror cannot store.
struct UnusableRecord: Error {
    let reason: String
}

extension ReceivedRecord {
    /// The record as a mirror stores it.
    /// - Parameters:
    ///   - zoneID: the zone in the mirror.
    ///   - leftOut: receives the fields whose values have an unknown type.
    func mirrored(in zoneID: ZoneID, leftOut: inout [Name: Set<Name>]) throws(UnusableRecord) -> StoredRecord {
        guard let recordType else { throw UnusableRecord(reason: "the answer lacks its type") }
        guard let recordChangeTag else { throw UnusableRecord(reason: "the answer lacks its change tag") }
        guard let signature = modified ?? created else {
            throw UnusableRecord(reason: "the answer lacks its modification")
        }
        var values: [Field] = []
        for (name, field) in fields {
            if let value = field.value {
                values.append(Field(name: name, value: value.ofOrigin, isEncrypted: field.isEncrypted))
            } else if let value = field.json["value"], value != .null {
                leftOut[recordType, default: []].insert(name)
            }
        }
        return StoredRecord(
            recordID: RecordID(recordName: recordID.recordName, zoneID: zoneID), recordType: recordType,
            recordChangeTag: recordChangeTag,
            created: (created ?? signature).mirrored, modified: signature.mirrored, parent: parent,
            fields: FieldsText(values), sharing: sharing)
    }
}

extension ReceivedSignature {
    /// Members that CloudKit did not report are empty.
    fileprivate var mirrored: Signature {
        Signature(
            timestamp: timestamp ?? Timestamp(milliseconds: 0), userRecordName: userRecordName ?? "",
            deviceID: deviceID ?? "")
    }
}

extension FieldValue {
    fileprivate var ofOrigin: FieldValue {
        mappingAssets { Asset(fileChecksum: $0.fileChecksum, size: $0.size, originChecksum: $0.fileChecksum) }
    }

    func mappingAssets(_ change: (Asset) throws -> Asset) rethrows -> FieldValue {
        switch self {
        case .asset(let asset): .asset(try change(asset))
        case .list(let elements, .asset?): .list(try elements.map { try $0.mappingAssets(change) }, of: .asset)
        default: self
        }
    }
}

// An asset in a mirror also stores the origin's checksum. It shows that the origin has the file. It is kept when the
// asset gets the checksum of the mirror's file.
extension Asset {
    private static let mark = "origin:"

    /// The origin's `fileChecksum`; `nil` for a file that was uploaded to the mirror.
    var originChecksum: String? {
        referenceChecksum.flatMap { $0.hasPrefix(Self.mark) ? String($0.dropFirst(Self.mark.count)) : nil }
    }

    init(fileChecksum: String, size: Int64, originChecksum: String) {
        self.init(fileChecksum: fileChecksum, size: size, referenceChecksum: Self.mark + originChecksum)
    }
}
