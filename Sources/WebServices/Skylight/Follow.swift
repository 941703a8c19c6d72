internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import ServiceLifecycle
internal import Traffic

/// Streams the changes of a zone as they are committed, as server-sent events (HTML standard, "Server-sent events").
///
/// Each event is a page of changes. Its id is the token after the page, so that a client that reconnects with `Last-Event-ID`
/// misses nothing. The server queues no changes for slow clients; it reads them from the store, one page ahead of the client.
struct Follow {
    /// The page limit of an event.
    private static let pageLimit = PageLimit(records: 200, bytes: 1 << 20)
    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    /// A page as an event.
    private struct Event: FeedPage {
        let text: [UInt8]
        /// The number of changes in the page.
        let changes: Int
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        try await request.makeRoom(forPagesOf: Self.pageLimit)
        // Subscribes before the first read, so that no commit is missed in between.
        let commits = try request.database.commits()
        let (start, first) = try await request.beginning(of: zoneID) {
            let start = if let since = request.since { since } else { try await request.database.currentToken(of: zoneID) }
            return (start, FirstPage(try await event(of: zoneID, since: start)))
        }
        let body = ResponseBody { writer in
            var (token, done) = (start, 0)
            // The first event gives the client its token, even if there are no changes yet.
            if let event = first.take() {
                try await writer.write(piecesOf: event.text)
                (token, done) = (event.syncToken, event.changes)
                note(event, after: done, from: start)
            }
            request.giveBackRoom()
            try await Wake.forEach(of: commits) { wake in
                while try await !hasRoom() {
                    // There is not enough memory. The client gets a sign of life between two tries.
                    try await writer.write(Wake.signOfLife)
                    if Task.isShuttingDownGracefully { return false }
                }
                defer { request.giveBackRoom() }
                do {
                    let endsEarly = try await event(of: zoneID, since: token).andLater {
                        try await event(of: zoneID, since: $0.syncToken)
                    } take: { event in
                        token = event.syncToken
                        if event.changes > 0 {
                            try await writer.write(piecesOf: event.text)
                            done += event.changes
                            note(event, after: done, from: start)
                        }
                        return !Task.isShuttingDownGracefully
                    }.moreComing
                    // The client reconnects with its last token.
                    if endsEarly { return false }
                } catch let error as RecordError {
                    // The zone may be deleted, for example. The client gets the error before the stream ends.
                    request.note?.streamFailed(error)
                    try await writer.write(Self.failure(error))
                    return false
                }
                if wake == .heartbeat { try await writer.write(Wake.signOfLife) }
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// Reserves the memory for pages.
    /// - Returns: `false` if there was not enough for some seconds.
    private func hasRoom() async throws -> Bool {
        do {
            try await request.makeRoom(forPagesOf: Self.pageLimit)
            return true
        } catch let error as RecordError where error.code == .tryAgainLater {
            return false
        }
    }

    /// Logs how far the client has read.
    private func note(_ event: Event, after done: Int, from start: ChangeToken) {
        request.note?.streamed(
            ServedRequest.Pull(
                zoneID: request.zoneID, sent: start, given: event.syncToken, moreComing: event.moreComing, changes: done))
    }

    private static func failure(_ error: RecordError) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { $0.members(of: error) }
        var buffer = ByteBuffer(string: "event: failed\ndata: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }

    private func event(of zoneID: ZoneID, since token: ChangeToken) async throws -> Event {
        let page = try await request.page(of: zoneID, since: token, limit: Self.pageLimit)
        let downloadURL = try await request.assets.addresses(in: page.changes.lazy.compactMap(\.record))
        var writer = JSONWriter()
        try writer.object { writer in
            writer.name("changes")
            try writer.array { writer in
                for change in page.changes { try writer.value(change, downloadURL: downloadURL) }
            }
            writer.member("syncToken", page.syncToken.text)
        }
        return Event(
            text: "id: \(page.syncToken.text)\nevent: changes\ndata: ".utf8 + writer.bytes + "\n\n".utf8, changes: page.changes.count,
            syncToken: page.syncToken, moreComing: page.moreComing)
    }
}
