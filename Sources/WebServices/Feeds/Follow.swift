internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import ServiceLifecycle

/// Changes of a zone as they are committed, as server-sent events (HTML standard, "Server-sent events").
///
/// An event is a page of changes, and its id the token after them: a client that comes back with `Last-Event-ID` misses nothing. What
/// happens while a client is slow is not kept for it; it is read from the store when the client is ready.
struct Follow {
    private enum Wake: Sendable {
        case commit
        case heartbeat
    }

    /// Changes in an event.
    private static let pageSize = 200
    /// Between signs of life on a quiet feed, so that both sides notice a dead connection.
    private static let heartbeat: Duration = .seconds(15)

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        guard let signalling = request.database as? any CommitSignalling else { throw request.unable("be followed") }
        // The signals begin before the first look, so that no commit falls in between.
        let commits = signalling.commits()
        let start = if let since = request.since { since } else { try await request.currentToken() }
        let first = try await request.page(of: zoneID, since: start, records: Self.pageSize)
        let body = ResponseBody { [request] writer in
            // Even when nothing has happened yet the client learns where it stands.
            try await writer.write(try Self.event(first))
            var token = first.syncToken
            var isBehind = first.moreComing
            try await Self.withWakes(commits) { wakes in
                for await wake in wakes {
                    repeat {
                        let page: ZoneChangesPage
                        do {
                            page = try await request.page(of: zoneID, since: token, records: Self.pageSize)
                        } catch let error as RecordError {
                            // The zone is gone, say. A client that was only cut off would never learn why.
                            try await writer.write(Self.failure(error))
                            return
                        }
                        (token, isBehind) = (page.syncToken, page.moreComing)
                        if !page.changes.isEmpty { try await writer.write(try Self.event(page)) }
                    } while isBehind
                    if wake == .heartbeat { try await writer.write(ByteBuffer(string: ": still here\n\n")) }
                }
            }
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        return Response(status: .ok, headers: headers, body: body)
    }

    /// Runs a loop over commits and heartbeats, until the store or the server ends; those that come while it is busy are one.
    private static func withWakes(
        _ commits: AsyncStream<Void>, _ body: (AsyncStream<Wake>) async throws -> Void
    ) async throws {
        let (wakes, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(.commit)
        let forwarding = Task {
            for await _ in commits { continuation.yield(.commit) }
            continuation.finish()
        }
        let beating = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: heartbeat)
                continuation.yield(.heartbeat)
            }
        }
        defer {
            forwarding.cancel()
            beating.cancel()
        }
        try await withGracefulShutdownHandler {
            try await body(wakes)
        } onGracefulShutdown: {
            continuation.finish()
        }
    }

    private static func failure(_ error: RecordError) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("serverErrorCode", error.code.rawValue)
            writer.member("reason", error.reason)
        }
        var buffer = ByteBuffer(string: "event: failed\ndata: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }

    private static func event(_ page: ZoneChangesPage) throws -> ByteBuffer {
        var writer = JSONWriter()
        try writer.object { writer in
            writer.name("changes")
            try writer.array { writer in
                for change in page.changes { try writer.value(change) }
            }
            writer.member("syncToken", page.syncToken.text)
        }
        var buffer = ByteBuffer(string: "id: \(page.syncToken.text)\nevent: changes\ndata: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }
}
