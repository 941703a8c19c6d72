internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// Services that issue and explain change tokens.
enum TokenServices {
    /// The current token of a zone, or of the database if no zone is named. For clients that only want future changes.
    @Sendable static func current(_ request: FeedRequest) async throws -> Response {
        var writer = JSONWriter()
        let token = try await request.database.currentToken(of: request.zoneID)
        writer.object { writer in
            if let zoneID = request.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
            writer.member("syncToken", token.text)
        }
        request.note?.answered(writer.bytes)
        return .json(writer.bytes)
    }

    /// The meaning of a token.
    @Sendable static func explained(_ request: FeedRequest) async throws -> Response {
        guard let text = request.parameter("token"), !text.isEmpty else { throw RecordError.unexpectedInput("Expected the query parameter 'token'") }
        let explanation = try await request.database.explain(ChangeToken(text: text))
        var writer = JSONWriter()
        writer.value(explanation)
        request.note?.answered(writer.bytes)
        return .json(writer.bytes)
    }
}
