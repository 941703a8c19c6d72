public import RecordStore
public import Records

/// Ada's zone with a list that she shares, and what others see of it.
public struct SharingStage: Sendable {
    public let engine: any RecordEngine
    /// Ada's private database.
    public let owner: any RecordDatabase
    /// The zone as guests name it.
    public static let seen = ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName)
    static let graceAddress = "grace@example.org"

    /// A list with two items, one of which has a part, beside a record that nobody else sees.
    public init(on engine: any RecordEngine) async throws {
        self.engine = engine
        owner = try await engine.withZone()
        try await owner.edit(.addType(RecordType(name: "Item", systemIndexes: [.recordID: [.queryable, .sortable]])))
        for (name, parent) in [("list", nil), ("milk", "list"), ("brand", "milk"), ("bread", "list"), ("diary", nil)]
            as [(Name, Name?)]
        {
            try await owner.save(
                name, in: notes, ["text": .string(name.string)], parent: parent.map { .record($0) } ?? .unchanged)
        }
    }

    public func shared(_ guest: Caller) async throws -> any RecordDatabase { try await engine.full(.shared, as: guest) }

    /// Shares a record, and returns the share.
    @discardableResult
    public func share(
        _ root: Name = "list", as name: Name = "share", tag: String? = nil, publicPermission: SharePermission? = nil,
        with participants: [ShareParticipant] = []
    ) async throws -> StoredRecord {
        try await save(
            name, .create, tag: nil,
            ShareInput(
                root: .init(recordName: root, recordChangeTag: tag), publicPermission: publicPermission,
                participants: participants))
    }

    /// Shares a record as an import does, which keeps what earlier versions accepted: also within another share.
    @discardableResult
    public func restoreShare(_ root: Name, as name: Name, with participants: [ShareParticipant]) async throws
        -> StoredRecord
    {
        var operation = RecordOperation(
            .create, recordName: name, recordType: Share.recordType, provenance: Self.provenance)
        operation.share = ShareInput(root: .init(recordName: root, recordChangeTag: nil), participants: participants)
        let results = try await owner.modify(ModifyRequest([operation], zoneID: notes))
        guard case .saved(let record)? = try results.first?.get() else {
            throw RecordError(.internalError, "not a save")
        }
        return record
    }

    /// The creator and editor of what the tests restore.
    public static let provenance = Provenance(created: signature, modified: signature)
    private static let signature = Signature(
        timestamp: Timestamp(milliseconds: 1), userRecordName: ada.userRecordName, deviceID: "2")

    /// Changes a share, and returns it.
    @discardableResult
    public func save(
        _ name: Name, _ kind: RecordOperation.Kind = .update, tag: String?, _ input: ShareInput,
        as caller: Caller? = nil
    ) async throws -> StoredRecord {
        var operation = RecordOperation(kind, recordName: name, recordType: Share.recordType, recordChangeTag: tag)
        operation.share = input
        let (database, zone) = if let caller { (try await shared(caller), Self.seen) } else { (owner, notes) }
        guard
            case .saved(let record)? = try await database.modify(ModifyRequest([operation], zoneID: zone)).first?.get()
        else {
            throw RecordError(.internalError, "not a save")
        }
        return record
    }

    public static func invitation(_ caller: Caller, _ permission: SharePermission = .readWrite) -> ShareParticipant {
        ShareParticipant(
            participantID: "for \(caller.userRecordName)",
            lookupInfo: LookupInfo(userRecordName: caller.userRecordName), permission: permission)
    }

    @discardableResult
    public func accept(_ share: StoredRecord, as guest: Caller, emailAddress: String? = nil) async throws
        -> ResolvedShare
    {
        let addresses = LookupInfo(emailAddress: emailAddress, userRecordName: guest.userRecordName)
        let results = try await engine.full(.public, as: guest).require(.shareRecords).accept(
            [share.sharing?.shortGUID ?? ""], by: addresses)
        guard let result = results.first else { throw RecordError(.internalError, "no result") }
        return try result.get()
    }

    public func current(_ name: Name) async throws -> StoredRecord {
        let results = try await owner.fetch([RecordID(recordName: name, zoneID: notes)], desiredKeys: nil)
        guard let result = results.first else { throw RecordError(.internalError, "no result") }
        return try result.get()
    }

    /// The names that a guest sees, by all three ways of reading; `nil` if they disagree. Without the zone, none.
    public func visible(to guest: Caller, of candidates: [Name]) async throws -> [Name]? {
        let database = try await shared(guest)
        guard try await database.zones().map(\.zoneID) == [Self.seen] else {
            let error = await refusal { _ = try await database.pull(Self.seen) }
            return error?.code == .zoneNotFound ? [] : nil
        }
        let fetched = try await database.names(in: Self.seen, of: candidates)
        let pulled = try await database.pull(Self.seen, pageSize: 2).changes
        let queried = try await database.all(Query(recordType: "Item"), in: .zone(Self.seen), pageSize: 2).map(
            \.recordID.recordName)
        let items = pulled.filter { $0.record?.recordType != Share.recordType }.map(\.recordID.recordName)
        guard Set(pulled.map(\.recordID.recordName)) == Set(fetched), queried.sorted() == items.sorted() else {
            return nil
        }
        return fetched
    }
}
