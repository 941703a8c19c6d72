internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records

/// A sign at each commit to the container's environment, as server-sent events, for those who follow several zones or a database.
///
/// Commits that come while a client is slow are told as one. What was committed is read by the usual ways.
struct Commits {
    private static let sign = ByteBuffer(string: "event: commit\ndata: 1\n\n")

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        guard let signalling = request.database as? any CommitSignalling else { throw request.unable("be followed") }
        let commits = signalling.commits()
        let body = ResponseBody { writer in
            // The first sign says that listening has begun: what was committed before it is there to be read.
            try await Wake.forEach(of: commits) { wake in
                try await writer.write(wake == .heartbeat ? Wake.signOfLife : Self.sign)
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }
}
