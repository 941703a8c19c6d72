public import CloudKitClient
public import RecordStore
public import Records

/// A database on another machine, in iCloud or of another Skylight, through CloudKit's protocol.
///
/// What is here is the same for both. They differ in their errors and credentials, and in the services that CloudKit
/// does not have.
public protocol ClientDatabase: RecordDatabase, AssetUploading, ShareLinks, SubscriptionKeeping {
    /// Sends requests that save nothing, and throws their failures as they are shown to users.
    func reading<Answer>(_ requests: (DatabaseClient) async throws -> Answer) async throws -> Answer
    /// Sends requests that may save.
    /// - Throws: in addition, an error if the database must not be changed.
    func saving<Answer>(_ requests: (DatabaseClient) async throws -> Answer) async throws -> Answer

    /// The error of an item of an answer.
    func error(_ error: ServerError) -> RecordError
    /// The error for a record that the answer lacks something of.
    func error(_ lack: RecordLack) -> RecordError

    /// Receives the records of answers.
    func note(_ record: StoredRecord) throws
    /// Receives the zones of answers.
    func note(_ zone: Zone)

    /// The ticket for an upload.
    func ticket(for slot: UploadSlot) throws -> String
    /// The caller's participation in a share, or the invitation to it.
    /// - Parameter addresses: the addresses by which the caller may have been invited.
    func participant(in received: ReceivedShareMetadata, _ addresses: LookupInfo) -> ShareParticipant?
}

/// What keeps a record in an answer from being one of the storage interface.
public enum RecordLack: Error {
    /// A member that each record has, with a word for it.
    case member(Name, String, of: Name)
    /// A value that can't be read.
    case value(Name, ReceivedField, of: Name)
}

extension ClientDatabase {
    public func note(_ record: StoredRecord) throws {}
    public func note(_ zone: Zone) {}

    /// The value of an item of an answer.
    func item<Received, Value>(
        _ answer: Result<Received, ServerError>, _ read: (Received) throws -> Value
    ) -> Result<Value, RecordError> {
        switch answer {
        case .failure(let error): .failure(self.error(error))
        case .success(let received):
            Result { try read(received) }.mapError {
                $0 as? RecordError ?? RecordError(.internalError, "\($0)")
            }
        }
    }

    // MARK: Records

    /// Converts a record to the type of the storage interface. Download addresses are left out, because they expire.
    /// - Throws: `RecordError` INTERNAL_ERROR if the answer lacks a required member, or contains an unreadable field.
    func stored(_ received: ReceivedRecord) throws -> StoredRecord {
        do {
            let record = try StoredRecord(received)
            try note(record)
            return record
        } catch let lack as RecordLack {
            throw error(lack)
        }
    }

    /// A page of a query.
    /// - Parameter services: Skylight's own service also limits the bytes of a page.
    func page(_ request: QueryRequest, of services: DatabaseClient.Services = .database) async throws -> QueryPage {
        let page = try await reading {
            try await $0.query(
                request.query, of: services, in: DatabaseClient.QueryArea(request.area), limit: request.limit.records,
                bytes: services == .skylight ? max(0, request.limit.bytes) : nil, desiredKeys: request.desiredKeys,
                after: request.continuationMarker)
        }
        return QueryPage(
            records: try page.records.map { try item($0, stored).get() }, continuationMarker: page.continuationMarker)
    }

    // MARK: Zones

    public func zones() async throws -> [Zone] {
        let zones = try await reading { try await $0.zones() }.map(zone)
        return zones.filter(\.zoneID.isDefault) + zones.filter { !$0.zoneID.isDefault }
    }

    public func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await reading { try await $0.lookupZones(zoneIDs) }.map { item($0, zone) }
    }

    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        try await saving { try await $0.modifyZones(operations) }.map { item($0, zone) }
    }

    func zone(_ received: ReceivedZone) -> Zone {
        // If the server does not report it, CloudKit's general rule applies: custom zones have atomic batches.
        let zone = Zone(
            zoneID: received.zoneID,
            syncToken: received.isDeleted ? nil : received.syncToken.map { ChangeToken(text: $0.text) },
            atomic: received.atomic ?? !received.zoneID.isDefault)
        note(zone)
        return zone
    }

    // MARK: Assets

    public func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        try await saving { try await $0.uploadSlots(requests, in: zoneID) }.map { answer in
            item(answer) { slot in
                UploadGrant(recordName: slot.recordName, fieldName: slot.fieldName, ticket: try ticket(for: slot))
            }
        }
    }

    public func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws
        -> [Result<Asset, RecordError>]
    {
        let sources = sources.map { ($0.recordName, $0.fieldName, $0.index) }
        return try await saving { try await $0.rereference(sources, from: zoneID, to: targetZoneID) }.map { answer in
            answer.mapError(error)
        }
    }

    // MARK: Sharing

    /// - Parameter addresses: not sent. The server uses the addresses that it knows of the user.
    public func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        try await reading { try await $0.resolveShares(shortGUIDs) }.map { item($0) { try resolved($0, addresses) } }
    }

    /// - Parameter addresses: not sent, as in ``resolve(_:by:)``.
    public func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<
        ResolvedShare, RecordError
    >] {
        try await saving { try await $0.acceptShares(shortGUIDs) }.map { item($0) { try resolved($0, addresses) } }
    }

    private func resolved(_ received: ReceivedShareMetadata, _ addresses: LookupInfo) throws -> ResolvedShare {
        var share = try stored(received.share)
        if let sharing = share.sharing, var top = sharing.share {
            // Only this answer contains the root.
            top.rootName = received.rootRecordName
            share.sharing = RecordSharing(shortGUID: sharing.shortGUID, share: top)
        }
        return ResolvedShare(
            shortGUID: received.shortGUID, share: share, root: try received.rootRecord.map { try stored($0) },
            participant: participant(in: received, addresses), isOwner: received.databaseScope == .private)
    }

    // MARK: Subscriptions

    public func subscriptions() async throws -> [Subscription] {
        try await reading { try await $0.subscriptions() }.sorted { $0.subscriptionID < $1.subscriptionID }
    }

    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        try await saving { try await $0.savedSubscriptions(operations) }.map { $0.mapError(error) }
    }
}

extension DatabaseClient.QueryArea {
    init(_ area: QueryRequest.Area) {
        switch area {
        case .zone(let zoneID): self = .zone(zoneID)
        case .allZones: self = .allZones
        }
    }
}

extension StoredRecord {
    /// - Throws: ``RecordLack``.
    init(_ received: ReceivedRecord) throws {
        let name = received.recordID.recordName
        guard let recordType = received.recordType else { throw RecordLack.member("recordType", "type", of: name) }
        guard let recordChangeTag = received.recordChangeTag else {
            throw RecordLack.member("recordChangeTag", "change tag", of: name)
        }
        guard let created = received.created.flatMap({ Signature($0) }) else {
            throw RecordLack.member("created", "creation", of: name)
        }
        guard let modified = received.modified.flatMap({ Signature($0) }) else {
            throw RecordLack.member("modified", "latest change", of: name)
        }
        self.init(
            recordID: received.recordID, recordType: recordType, recordChangeTag: recordChangeTag, created: created,
            modified: modified, parent: received.parent,
            fields: FieldsText(try received.fields.compactMap { try Field($0.key, $0.value, of: name) }),
            sharing: received.sharing)
    }
}

extension Field {
    /// - Returns: `nil` for a field without a value.
    init?(_ name: Name, _ received: ReceivedField, of recordName: Name) throws {
        if let value = received.value {
            self.init(name: name, value: value, isEncrypted: received.isEncrypted)
        } else if let json = received.json["value"], json != .null {
            throw RecordLack.value(name, received, of: recordName)
        } else {
            return nil
        }
    }
}

extension Signature {
    /// The user and the device are empty if the server does not report them.
    init?(_ received: ReceivedSignature) {
        guard let timestamp = received.timestamp else { return nil }
        self.init(
            timestamp: timestamp, userRecordName: received.userRecordName ?? "", deviceID: received.deviceID ?? "")
    }
}
