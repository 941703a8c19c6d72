internal import HTTPServing
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import ServiceLifecycle
internal import Synchronization
internal import Traffic

/// Changes of a zone as they are committed, as server-sent events (HTML standard, "Server-sent events").
///
/// An event is a page of changes, and its id the token after them: a client that comes back with `Last-Event-ID` misses nothing. What
/// happens while a client is slow is not kept for it; it is read from the store when the client is ready.
struct Follow {
    /// Changes in an event.
    private static let pageLimit = PageLimit(records: 200, bytes: 1 << 20)
    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        guard let signalling = request.database as? any CommitSignalling else { throw request.unable("be followed") }
        try await request.makeRoom(forPagesOf: Self.pageLimit)
        // The signals begin before the first look, so that no commit falls in between.
        let commits = signalling.commits()
        let (start, first) = try await request.beginning(of: zoneID) {
            let start = if let since = request.since { since } else { try await request.currentToken() }
            return (start, FirstPage(try await request.page(of: zoneID, since: start, limit: Self.pageLimit)))
        }
        let body = ResponseBody { writer in
            var (token, done, isBehind) = (start, 0, false)
            // Even when nothing has happened yet the client learns where it stands.
            if let page = first.take() {
                try await writer.write(piecesOf: try await event(page))
                (token, done, isBehind) = (page.syncToken, page.changes.count, page.moreComing)
                note(page, after: done, from: start)
            }
            request.giveBackRoom()
            try await Wake.forEach(of: commits) { wake in
                repeat {
                    do {
                        try await request.makeRoom(forPagesOf: Self.pageLimit)
                    } catch let error as RecordError where error.code == .tryAgainLater {
                        // A sign of life between two tries.
                        try await writer.write(Wake.signOfLife)
                        isBehind = true
                        continue
                    }
                    defer { request.giveBackRoom() }
                    let page: ZoneChangesPage
                    do {
                        page = try await request.page(of: zoneID, since: token, limit: Self.pageLimit)
                    } catch let error as RecordError {
                        // The zone is gone, say. A client that was only cut off would never learn why.
                        request.note?.streamFailed(error)
                        try await writer.write(Self.failure(error))
                        return false
                    }
                    (token, isBehind) = (page.syncToken, page.moreComing)
                    if page.changes.isEmpty { continue }
                    try await writer.write(piecesOf: try await event(page))
                    done += page.changes.count
                    note(page, after: done, from: start)
                } while isBehind && !Task.isShuttingDownGracefully
                // A client whose stream ends early goes on from its last token.
                if isBehind, Task.isShuttingDownGracefully { return false }
                if wake == .heartbeat { try await writer.write(Wake.signOfLife) }
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// Says how far the client has come.
    private func note(_ page: ZoneChangesPage, after done: Int, from start: ChangeToken) {
        request.note?.streamed(
            ServedRequest.Pull(
                zoneID: request.zoneID, sent: start, given: page.syncToken, moreComing: page.moreComing, changes: done))
    }

    private static func failure(_ error: RecordError) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { $0.members(of: error) }
        var buffer = ByteBuffer(string: "event: failed\ndata: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }

    private func event(_ page: ZoneChangesPage) async throws -> [UInt8] {
        let downloadURL = try await request.assets.addresses(in: page.changes.lazy.map(\.record))
        var writer = JSONWriter()
        try writer.object { writer in
            writer.name("changes")
            try writer.array { writer in
                for change in page.changes { try writer.value(change, downloadURL: downloadURL) }
            }
            writer.member("syncToken", page.syncToken.text)
        }
        return "id: \(page.syncToken.text)\nevent: changes\ndata: ".utf8 + writer.bytes + "\n\n".utf8
    }
}

/// The page that a stream begins with, until it is sent: the stream goes on for hours, and would hold it all the time.
private final class FirstPage: Sendable {
    private let page: Mutex<ZoneChangesPage?>

    init(_ page: ZoneChangesPage) {
        self.page = Mutex(page)
    }

    func take() -> ZoneChangesPage? { page.withLock { $0.take() } }
}
