internal import JSON
internal import Records

// Clients check capabilities by casting. This type declares all of them and throws if the underlying engine lacks
// one.

extension RehearsingDatabase {
    private func unable(_ what: String) -> RecordError {
        RecordError(.badRequest, "This engine can't \(what)")
    }
}

extension RehearsingDatabase: SchemaEditing {
    func schema() async throws -> Schema {
        guard let base = base as? any SchemaEditing else { throw unable("show its schema") }
        return try await base.schema()
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema {
        guard let base = base as? any SchemaEditing else { throw unable("edit its schema") }
        return try await base.edit(edits, because: reason, waitingForIndexes: waitingForIndexes)
    }

    func indexBuilds() async throws -> [IndexBuildProgress] {
        guard let base = base as? any SchemaEditing else { throw unable("show its schema") }
        return try await base.indexBuilds()
    }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        guard let base = base as? any SchemaEditing else { throw unable("deploy a schema") }
        return try await base.deploy(development, waitingForIndexes: waitingForIndexes)
    }

    func reset(to production: Schema) async throws -> Schema {
        guard let base = base as? any SchemaEditing else { throw unable("be reset") }
        return try await base.reset(to: production)
    }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        guard let base = base as? any SchemaEditing else { throw unable("show the history of its schema") }
        return try await base.schemaHistory(before: before, limit: limit)
    }
}

extension RehearsingDatabase: QueryExplaining {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        guard let base = base as? any QueryExplaining else { throw unable("explain queries") }
        return try await base.explain(request)
    }
}

extension RehearsingDatabase: QueryStatisticsKeeping {
    func queryStatistics() async throws -> QueryStatistics {
        guard let base = base as? any QueryStatisticsKeeping else { throw unable("report its query statistics") }
        return try await base.queryStatistics()
    }
}

extension RehearsingDatabase: SchemaMeasuring {
    func usage(of recordType: Name) async throws -> TypeUsage {
        guard let base = base as? any SchemaMeasuring else { throw unable("measure its types") }
        return try await base.usage(of: recordType)
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        guard let base = base as? any SchemaMeasuring else { throw unable("measure its types") }
        return try await base.valueCounts(of: fields, in: recordType)
    }
}

extension RehearsingDatabase: TokenExplaining {
    func currentToken() async throws -> ChangeToken {
        guard let base = base as? any TokenExplaining else { throw unable("tell its current token") }
        return try await base.currentToken()
    }

    /// For a token within a pull with injected faults, explains the engine token that the pull continues from.
    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        guard let base = base as? any TokenExplaining else { throw unable("explain its tokens") }
        guard let token = RehearsedToken.engineToken(of: token) else {
            return TokenExplanation(
                subject: .zone(nil), scope: address.scope, userRecordName: address.scope == .public ? nil : caller.userRecordName, position: 0,
                moment: nil, progress: .firstPull, standing: .good, changesAfter: nil)
        }
        return try await base.explain(token)
    }
}

extension RehearsingDatabase: TokenExpiring {
    func expireTokens() async throws {
        guard let base = base as? any TokenExpiring else { throw unable("expire its tokens") }
        try await base.expireTokens()
    }
}

extension RehearsingDatabase: ZonePurging {
    func purge(_ zoneID: ZoneID) async throws {
        guard let base = base as? any ZonePurging else { throw unable("purge zones") }
        try await base.purge(zoneID)
    }
}

extension RehearsingDatabase: ZoneSharing {
    func share(_ zoneID: ZoneID, with participant: ZoneParticipant) async throws {
        guard let base = base as? any ZoneSharing else { throw unable("share zones") }
        try await base.share(zoneID, with: participant)
    }

    func stopSharing(_ zoneID: ZoneID, with userRecordName: Name) async throws {
        guard let base = base as? any ZoneSharing else { throw unable("share zones") }
        try await base.stopSharing(zoneID, with: userRecordName)
    }

    func participants(of zoneID: ZoneID) async throws -> [ZoneParticipant] {
        guard let base = base as? any ZoneSharing else { throw unable("share zones") }
        return try await base.participants(of: zoneID)
    }
}

extension RehearsingDatabase: ReferenceTracing {
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        guard let base = base as? any ReferenceTracing else { throw unable("trace references") }
        return try await base.referrers(to: recordID, limit: limit)
    }
}

extension RehearsingDatabase: RecordCounting {
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        guard let base = base as? any RecordCounting else { throw unable("count records") }
        return try await base.counts(in: zoneID)
    }
}

extension RehearsingDatabase: RecordListing {
    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        guard let base = base as? any RecordListing else { throw unable("list records") }
        return try await base.list(request)
    }
}

extension RehearsingDatabase: RecordJournalling {
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        guard let base = base as? any RecordJournalling else { throw unable("show the history of records") }
        return try await base.journal(request)
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        guard let base = base as? any RecordJournalling else { throw unable("restore earlier versions") }
        try checkBusy(.zones([reversion.recordID.zoneID]))
        return try await base.revert(reversion)
    }
}

extension RehearsingDatabase: AssetUploading {
    private func assets() throws -> any AssetUploading {
        guard let base = base as? any AssetUploading else { throw unable("store assets") }
        return base
    }

    func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>] {
        try checkBusy(.zones([zoneID ?? .default]))
        return try await assets().grantUploads(slots, in: zoneID)
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>] {
        try checkBusy(.zones([zoneID, targetZoneID]))
        return try await assets().rereference(sources, from: zoneID, to: targetZoneID)
    }

    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        try await assets().uses(of: checksum, limit: limit)
    }
}

extension RehearsingDatabase: CommitSignalling {
    func commits() -> AsyncStream<Void> {
        // An ended stream, so that listeners learn at once that no commits will be reported.
        (base as? any CommitSignalling)?.commits() ?? AsyncStream { $0.finish() }
    }
}
