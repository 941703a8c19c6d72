public import Records
public import RecordStore

// Shortcuts for the scenarios.

extension RecordDatabase {
    /// Edits the schema, and waits for new indexes.
    @discardableResult
    public func edit(_ edits: SchemaEdit...) async throws -> Schema { try await require(.editSchema).edit(edits) }

    @discardableResult
    public func save(
        _ name: Name, as kind: RecordOperation.Kind = .forceUpdate, type: Name = "Item", in zoneID: ZoneID = .default,
        tag: String? = nil,
        _ fields: [Name: FieldValue] = [:], parent: RecordOperation.Parent = .unchanged
    ) async throws -> StoredRecord {
        let operation = RecordOperation(
            kind, recordName: name, recordType: type, recordChangeTag: tag, fields: fields.mapValues { FieldInput($0) },
            parent: parent)
        guard case .saved(let record)? = try await modify(ModifyRequest([operation], zoneID: zoneID)).first?.get()
        else {
            throw RecordError(.internalError, "not a save")
        }
        return record
    }

    public func delete(_ name: Name, in zoneID: ZoneID = .default) async throws {
        try await apply([RecordOperation(.forceDelete, recordName: name)], in: zoneID)
    }

    /// Applies operations, all of which must succeed.
    public func apply(_ operations: [RecordOperation], in zoneID: ZoneID = .default) async throws {
        for outcome in try await modify(ModifyRequest(operations, zoneID: zoneID)) { _ = try outcome.get() }
    }

    /// The error code of each operation; `nil` for successful ones.
    public func outcomes(_ operations: [RecordOperation], in zoneID: ZoneID = .default, atomic: Bool = true)
        async throws -> [ServerErrorCode?]
    {
        try await modify(ModifyRequest(operations, zoneID: zoneID, atomic: atomic)).map { result in
            if case .failure(let error) = result { error.code } else { nil }
        }
    }

    /// The names that have a record.
    public func names(in zoneID: ZoneID = .default, of candidates: [Name]) async throws -> [Name] {
        try await fetch(candidates.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: nil).compactMap {
            try? $0.get().recordID.recordName
        }
    }

    /// The records of all pages of a query.
    public func all(_ query: Query, in area: QueryRequest.Area = .zone(.default), pageSize: Int = 200) async throws
        -> [StoredRecord]
    {
        var records: [StoredRecord] = []
        var marker: String?
        repeat {
            let page = try await self.query(
                QueryRequest(query, in: area, limit: PageLimit(records: pageSize), continuationMarker: marker))
            records += page.records
            marker = page.continuationMarker
        } while marker != nil
        return records
    }

    /// The changes of all pages of a pull, and the token after them. Reads page after page by itself, to check the
    /// product's loop.
    public func pull(_ zoneID: ZoneID, since token: ChangeToken? = nil, pageSize: Int = 200, reverse: Bool = false)
        async throws -> (
            changes: [RecordChange], token: ChangeToken
        )
    {
        var changes: [RecordChange] = []
        var request = ZoneChangesRequest(zoneID, since: token, limit: PageLimit(records: pageSize), reverse: reverse)
        while true {
            let page = try await zoneChanges(request)
            changes += page.changes
            if !page.moreComing { return (changes, page.syncToken) }
            request.since = page.syncToken
        }
    }
}

/// The error of a call; `nil` if it succeeds.
public func refusal(_ body: () async throws -> Void) async -> RecordError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RecordError ?? RecordError(.internalError, "\(error)")
    }
}

// Uploads without bytes: the scenarios only need the files in the asset ledger.

/// The checksum of a numbered file.
public func checksum(_ number: UInt8) -> FileChecksum? {
    FileChecksum(bytes: [number] + Array(repeating: 0, count: FileChecksum.length - 1))
}

extension RecordEngine {
    public func ledger(_ environment: Records.Environment = .development) async throws -> any AssetLedger {
        try await require(.keepAssets).assetLedger(address(.private).container, environment)
    }

    /// The asset that an upload returns.
    /// - Parameters:
    ///   - number: identifies the file, whose size in bytes is ten times the number.
    ///   - record: the record with the asset in its field `file`.
    public func upload(
        _ number: UInt8, for record: Name, field: Name = "file", type: Name = "Item", in zoneID: ZoneID? = notes,
        _ scope: DatabaseScope = .private,
        as caller: Caller = ada, at now: Timestamp
    ) async throws -> Asset {
        let database = try await database(address(scope), as: caller)
        guard let checksum = checksum(number) else { throw RecordError(.internalError, "no checksum") }
        let request = UploadRequest(recordType: type, fieldName: field, recordName: record)
        let grants = try await database.require(.uploadAssets).grantUploads([request], in: zoneID)
        let ledger = try await ledger()
        guard let ticket = ledger.tickets.openUpload(try grants[0].get().ticket) else {
            throw RecordError(.internalError, "no ticket")
        }
        let size = Int64(number) * 10
        let expires = Timestamp(milliseconds: now.milliseconds + AssetTickets.receiptLifetime)
        try await ledger.enter(checksum, size: size, inUseUntil: expires)
        let receipt = ledger.tickets.seal(AssetReceipt(for: ticket, of: checksum, size: size, expires: expires))
        return Asset(
            fileChecksum: checksum.description, size: size, referenceChecksum: "reference", wrappingKey: "key",
            receipt: receipt)
    }
}
