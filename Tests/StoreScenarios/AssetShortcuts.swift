public import RecordStore
public import Records

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
