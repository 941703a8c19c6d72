internal import CloudKitClient
internal import RecordStore
internal import Records

// Encoding of requests (Apple's reference page "Types and Dictionaries").

extension TokenCodec {
    /// The token to continue from. An empty token can't be sent, because an empty text means the beginning.
    /// - Throws: `RecordError` BAD_REQUEST for an empty token, like every store.
    static func sendable(_ token: ChangeToken?) throws -> ChangeToken? {
        if let token, token.bytes.isEmpty { throw foreign }
        return token
    }
}

extension JSONWriter {
    /// Writes the members of a query request.
    /// - Throws: ``CloudKitFailure`` for a number that JSON can't represent.
    mutating func members(of request: QueryRequest) throws {
        try members(
            of: request.query, .skylight, in: DatabaseClient.QueryArea(request.area), limit: request.limit.records,
            bytes: max(0, request.limit.bytes), desiredKeys: request.desiredKeys, after: request.continuationMarker)
    }
}
