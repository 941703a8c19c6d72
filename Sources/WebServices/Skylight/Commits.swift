internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records

/// Sends a server-sent event for each commit to the container's environment, for clients that follow several zones or a database.
///
/// While a client is slow, commits are merged into one event. Clients read the changes themselves through the regular services.
struct Commits {
    private static let sign = ByteBuffer(string: "event: commit\ndata: 1\n\n")

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let commits = try request.database.commits()
        let body = ResponseBody { writer in
            // The first event confirms that the subscription is active. Earlier commits are already readable.
            try await Wake.forEach(of: commits) { wake in
                try await writer.write(wake == .heartbeat ? Wake.signOfLife : Self.sign)
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }
}
