internal import CloudKitClient
internal import RecordStore
internal import Records

// Encoding of requests (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// Writes the token to continue from. An empty token can't be sent, because an empty text means the beginning.
    /// - Throws: `RecordError` BAD_REQUEST for an empty token, like every store.
    mutating func member(since token: ChangeToken?) throws {
        guard let token else { return }
        guard !token.bytes.isEmpty else { throw TokenCodec.foreign }
        member("syncToken", token.text)
    }

    mutating func members(of limit: PageLimit) {
        member("resultsLimit", Int64(limit.records))
        member("bytesLimit", Int64(max(0, limit.bytes)))
    }

    /// Writes the members of a query request.
    /// - Throws: ``CloudKitFailure`` for a number that JSON can't represent.
    mutating func members(of request: QueryRequest) throws {
        try members(
            of: request.query, .skylight, in: DatabaseClient.QueryArea(request.area), limit: request.limit.records,
            bytes: max(0, request.limit.bytes), desiredKeys: request.desiredKeys, after: request.continuationMarker)
    }
}
