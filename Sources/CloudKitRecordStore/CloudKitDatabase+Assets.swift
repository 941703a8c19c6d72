public import CloudKitClient
public import JSON
public import NIOCore
public import RecordStore
public import Records

extension CloudKitDatabase {
    public func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>] {
        try checkWritable()
        let requests = slots.map { UploadRequest(recordType: $0.recordType, fieldName: $0.fieldName, recordName: $0.recordName) }
        return try await asking { try await client.uploadSlots(requests, in: zoneID ?? .default) }.map { answer in
            answer.map { UploadGrant(recordName: $0.recordName, fieldName: $0.fieldName, ticket: $0.url) }.mapError { RecordError($0) }
        }
    }

    /// - Throws: also `RecordError` BAD_REQUEST for one asset of a list, which CloudKit's request can't name.
    public func rereference(
        _ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID
    ) async throws -> [Result<Asset, RecordError>] {
        try checkWritable()
        if sources.contains(where: { $0.index != nil }) {
            throw RecordError(.badRequest, "CloudKit has no way to name one asset of a list; upload the file again")
        }
        var body = JSONObject()
        body["zoneID"] = zoneID.json
        body["targetZoneID"] = targetZoneID.json
        body["assets"] = .array(sources.map { ["recordName": .string($0.recordName.string), "fieldName": .string($0.fieldName.string)] })
        let answer: JSONObject
        do {
            answer = try await asking { [body] in try await client.call("assets/rereference", body: body, saves: false) }
        } catch let denial as RecordError where denial.code == .accessDenied {
            // The service denies access to all items as one.
            return sources.map { _ in .failure(denial) }
        }
        guard case .array(let assets)? = answer["assets"], assets.count == sources.count else {
            throw RecordError(.internalError, "CloudKit answered \(sources.count) assets with another number of them")
        }
        return assets.map { element in
            guard case .object(let object) = element else { return .failure(RecordError(.internalError, "CloudKit's answer has something else than an asset")) }
            if let error = ServerError(object) { return .failure(RecordError(error)) }
            var field = JSONObject()
            field["type"] = "ASSETID"
            field["value"] = element
            guard case .asset(let asset)? = ReceivedField(field).value else {
                return .failure(RecordError(.internalError, "CloudKit's answer has an asset that can't be read"))
            }
            return .success(asset)
        }
    }

    /// Uploads a file, streamed. A broken connection begins it anew.
    /// - Parameters:
    ///   - size: bytes of the file.
    ///   - grant: of this database.
    ///   - progress: is told what the connection took. It must be quick.
    ///   - file: opens the file from its start, for each attempt.
    /// - Returns: the asset with its receipt, to save in the record and the field of the grant.
    /// - Throws: `RecordError`; an error of the file.
    public func upload<File: AsyncSequence & Sendable>(
        size: Int64, with grant: UploadGrant, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in },
        _ file: @Sendable () async throws -> File
    ) async throws -> Asset where File.Element == ByteBuffer {
        try checkWritable()
        let slot = UploadSlot(recordName: grant.recordName, fieldName: grant.fieldName, url: grant.ticket)
        do {
            return try await client.upload(to: slot, size: size, progress: progress, file)
        } catch let failure as CloudKitFailure {
            throw RecordError(failure, at: connection)
        }
    }

    /// Downloads the file of a record's asset, streamed with backpressure. Its address is asked for anew, because addresses expire.
    /// - Parameters:
    ///   - index: the place in a list of assets.
    ///   - offset: the bytes that the caller has already.
    ///   - take: receives the bytes in order. The next part is read only after it returns.
    /// - Returns: the size of the whole file in bytes.
    /// - Throws: `RecordError` NOT_FOUND if the record has no such asset, or if the download fails; errors of `take`.
    @discardableResult
    public func download(
        _ fieldName: Name, at index: Int = 0, of recordID: RecordID, from offset: Int64 = 0, _ take: (ByteBuffer) async throws -> Void
    ) async throws -> Int64 {
        let answer = try await asking { try await client.lookup([recordID.recordName], in: recordID.zoneID, desiredKeys: [fieldName]) }.first
        let record: ReceivedRecord
        switch answer {
        case .success(let found)?: record = found
        case .failure(let error)?: throw RecordError(error)
        case nil: throw RecordError.recordNotFound
        }
        let assets = record.fields[fieldName]?.assets ?? []
        guard assets.indices.contains(index) else {
            throw RecordError(.notFound, "The record '\(recordID.recordName)' has no asset in its field '\(fieldName)'")
        }
        var parts = try await asking { try client.download(assets[index], from: offset) }.makeAsyncIterator()
        while let part = try await asking({ try await parts.next() }) { try await take(part) }
        return assets[index].asset.size
    }
}

extension ZoneID {
    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["zoneName"] = .string(zoneName.string)
        object["ownerRecordName"] = ownerRecordName.map { .string($0.string) }
        return .object(object)
    }
}
