internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// Services that say what tokens are.
enum TokenServices {
    /// The token for now of a zone, or of the database where no zone is named: what a client needs that wants only what comes.
    @Sendable static func current(_ request: FeedRequest) async throws -> Response {
        var writer = JSONWriter()
        let token = try await request.currentToken()
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

    /// What a token means.
    @Sendable static func explained(_ request: FeedRequest) async throws -> Response {
        guard let text = request.parameter("token"), !text.isEmpty else { throw RecordError.unexpectedInput("Expected the query parameter 'token'") }
        guard let explaining = request.database as? any TokenExplaining else { throw request.unable("explain tokens") }
        let explanation = try await explaining.explain(ChangeToken(text: text))
        var writer = JSONWriter()
        writer.value(explanation)
        request.note?.answered(writer.bytes)
        return .json(writer.bytes)
    }
}
