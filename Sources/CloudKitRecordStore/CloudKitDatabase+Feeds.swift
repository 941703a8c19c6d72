internal import CloudKitClient
public import RecordStore
public import Records

extension CloudKitDatabase {
    // MARK: Zones

    public func zones() async throws -> [Zone] {
        let zones = try await asking { try await client.zones() }.map(zone)
        return zones.filter(\.zoneID.isDefault) + zones.filter { !$0.zoneID.isDefault }
    }

    public func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await asking { try await client.lookupZones(zoneIDs) }.map(zone)
    }

    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        try checkWritable()
        return try await asking { try await client.modifyZones(operations) }.map(zone)
    }

    private func zone(_ answer: Result<ReceivedZone, ServerError>) -> Result<Zone, RecordError> {
        answer.map(zone).mapError { RecordError($0) }
    }

    private func zone(_ received: ReceivedZone) -> Zone {
        let token = received.isDeleted ? nil : received.syncToken.map { ChangeToken($0) }
        if let token { engine.tokens.note(token, in: feed(of: received.zoneID)) }
        // Where CloudKit does not tell, its rule counts: custom zones have atomic batches.
        return Zone(zoneID: received.zoneID, syncToken: token, atomic: received.atomic ?? !received.zoneID.isDefault)
    }

    // MARK: Changes

    /// CloudKit does not tell when a zone changed, nor whether a user or an app deleted it.
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        let feed = TokenReceipts.Feed.database(address.scope)
        engine.tokens.noteRequest(since: request.since, in: feed)
        let page = try await asking {
            try await client.databaseChanges(since: request.since.map { SyncToken($0.text) }, limit: min(request.limit, DatabaseClient.itemLimit))
        }
        let token = ChangeToken(page.syncToken)
        engine.tokens.note(token, in: feed, moreComing: page.moreComing)
        let changes = page.zones.map { received in
            let zone = zone(received)
            return ZoneChange(zoneID: zone.zoneID, kind: received.isDeleted ? .deleted : .changed, timestamp: nil, syncToken: zone.syncToken)
        }
        return DatabaseChangesPage(changes: changes, syncToken: token, moreComing: page.moreComing)
    }

    /// CloudKit does not tell positions, nor whether a record was created or modified, and only the name of a deleted record.
    public func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let feed = feed(of: request.zoneID)
        engine.tokens.noteRequest(since: request.since, in: feed)
        let pull = ZonePull(
            request.zoneID, since: request.since.map { SyncToken($0.text) }, limit: min(request.limit.records, DatabaseClient.itemLimit),
            desiredKeys: request.desiredKeys, desiredRecordTypes: request.desiredRecordTypes, reverse: request.reverse)
        let page: ZoneFeedPage
        switch try await asking({ try await client.zoneChanges([pull]) }).first {
        case .success(let received)?: page = received
        case .failure(let error)?: throw RecordError(error)
        case nil: throw RecordError(.internalError, "CloudKit's answer has no zone")
        }
        let token = ChangeToken(page.syncToken)
        engine.tokens.note(token, in: feed, moreComing: page.moreComing)
        return ZoneChangesPage(
            zoneID: page.zoneID, changes: try page.changes.map(change), syncToken: token, moreComing: page.moreComing)
    }

    /// - Throws: `RecordError` for a record that could not be read. Its page can't be skipped, because the change would be missed.
    private func change(_ received: ZoneFeedPage.Change) throws -> RecordChange {
        switch received {
        case .saved(let record): RecordChange(kind: nil, position: nil, record: try stored(record))
        case .deleted(let deletion): RecordChange(deletionOf: deletion.recordID)
        case .failed(let error): throw RecordError(error)
        }
    }

    // MARK: Received tokens

    /// The moment when a token came, and the pulls since.
    /// - Parameter zoneID: the zone of the token; `nil` for a token of the database.
    /// - Returns: `nil` for a token that did not come here, or not lately.
    public func receipt(of token: ChangeToken, in zoneID: ZoneID?) -> TokenReceipts.Receipt? {
        engine.tokens.receipt(of: token, in: zoneID.map { feed(of: $0) } ?? .database(address.scope))
    }

    /// Requests need not name the owner of a zone where there can be only one, but answers do.
    private func feed(of zoneID: ZoneID) -> TokenReceipts.Feed {
        .zone(address.scope == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName), address.scope)
    }
}

extension ChangeToken {
    fileprivate init(_ token: SyncToken) {
        self.init(text: token.text)
    }
}
