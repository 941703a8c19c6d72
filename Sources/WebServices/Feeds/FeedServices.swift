internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// Services on change feeds and tokens that CloudKit does not have, at `/skylight/1/{container}/{environment}/{database}/…`.
///
/// docs/feeds.md describes them.
enum FeedServices {
    typealias Service = @Sendable (FeedRequest) async throws -> Response

    static let services: [String: Service] = [
        "token/current": currentToken,
        "token/explain": explainedToken,
        "changes/playback": { try await Playback($0).response() },
        "changes/follow": { try await Follow($0).response() },
    ]

    static var names: String { services.keys.sorted().joined(separator: ", ") }

    /// The token for now of a zone, or of the database where no zone is named: what a client needs that wants only what comes.
    @Sendable private static func currentToken(_ request: FeedRequest) async throws -> Response {
        var writer = JSONWriter()
        let token = try await request.currentToken()
        writer.object { writer in
            if let zoneID = request.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
            writer.member("syncToken", token.text)
        }
        return .json(writer.bytes)
    }

    /// What a token means.
    @Sendable private static func explainedToken(_ request: FeedRequest) async throws -> Response {
        guard let text = request.parameter("token"), !text.isEmpty else { throw RecordError.unexpectedInput("Expected the query parameter 'token'") }
        guard let explaining = request.database as? any TokenExplaining else { throw request.unable("explain tokens") }
        let explanation = try await explaining.explain(ChangeToken(text: text))
        var writer = JSONWriter()
        writer.value(explanation)
        return .json(writer.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ explanation: TokenExplanation) {
        object { writer in
            switch explanation.subject {
            case .database: writer.member("subject", "database")
            case .zone(let zoneID):
                writer.member("subject", "zone")
                if let zoneID {
                    writer.name("zoneID")
                    writer.value(zoneID)
                }
            }
            writer.member("database", explanation.scope.rawValue)
            if let name = explanation.userRecordName { writer.member("userRecordName", name) }
            writer.member("position", explanation.position)
            if let moment = explanation.moment { writer.member("timestamp", moment.milliseconds) }
            switch explanation.progress {
            case .complete: writer.member("progress", "complete")
            case .firstPull: writer.member("progress", "firstPull")
            case .reversePull: writer.member("progress", "reversePull")
            case .pull(let since):
                writer.member("progress", "pull")
                writer.member("since", since)
            }
            switch explanation.standing {
            case .good: writer.member("standing", "good")
            case .expired(let why):
                writer.member("standing", "expired")
                writer.member("why", why)
            case .foreign(let why):
                writer.member("standing", "foreign")
                writer.member("why", why)
            }
            if let count = explanation.changesAfter { writer.member("changesAfter", Int64(count)) }
        }
    }
}
