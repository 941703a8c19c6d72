internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records
internal import ServiceLifecycle
internal import Traffic

/// A whole zone, or all that changed since a token, as one stream of lines of JSON.
///
/// The server holds two pages at a time, one that the client is taking and one made ready meanwhile: no transaction and no more memory
/// waits for a slow reader. After each page stands a line with the token to go on from, should the stream break.
struct Playback {
    /// What goes into a page.
    private static let pageLimit = PageLimit(records: 500, bytes: 1 << 20)

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    /// A page as text, and how to go on after it.
    private struct Lines: Sendable {
        var text: [UInt8]
        var done: Int
        /// The token after it; `nil` where it could not be read.
        var token: ChangeToken?
        /// Where the next page begins; `nil` after the last one.
        var next: ChangeToken?
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        try await request.makeRoom(forPagesOf: Self.pageLimit)
        // What is wrong with the request shows in the first page, while there is still a status to say it with.
        let (total, first) = try await request.beginning(of: zoneID) {
            let total = try await request.total()
            return (total, try await lines(of: zoneID, since: request.since, after: 0, total: total))
        }
        let body = ResponseBody { writer in
            var current = first
            try await writer.write(piecesOf: Self.line { $0.started(total: total) })
            while true {
                // A client whose stream ends early goes on from its last token.
                guard let token = current.next, !Task.isShuttingDownGracefully else { break }
                let done = current.done
                async let next = lines(of: zoneID, since: token, after: done, total: total)
                try await writer.write(piecesOf: current.text)
                note(current, of: zoneID)
                do {
                    current = try await next
                } catch let error as RecordError {
                    request.note?.streamFailed(error)
                    current = Lines(text: Self.line { $0.failed(error) }, done: done, token: nil, next: nil)
                }
            }
            try await writer.write(piecesOf: current.text)
            note(current, of: zoneID)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"], body: body)
    }

    /// Says how far the client has come: what was made for it and not taken does not count.
    private func note(_ lines: Lines, of zoneID: ZoneID) {
        guard let token = lines.token else { return }
        request.note?.streamed(
            ServedRequest.Pull(zoneID: zoneID, sent: request.since, given: token, moreComing: lines.next != nil, changes: lines.done))
    }

    private func lines(of zoneID: ZoneID, since token: ChangeToken?, after done: Int, total: Int?) async throws -> Lines {
        let page = try await request.page(of: zoneID, since: token, limit: Self.pageLimit)
        let bytes = page.changes.reduce(512) { $0 + $1.record.fields.bytes.count + 640 }
        // Made anew for each page: a long playback outlives an address.
        let downloadURL = try await request.assets.addresses(in: page.changes.lazy.map(\.record))
        var writer = JSONWriter(capacity: bytes)
        for change in page.changes {
            try writer.value(change, downloadURL: downloadURL)
            writer.endLine()
        }
        let done = done + page.changes.count
        writer.reached(page, done: done, total: total)
        writer.endLine()
        return Lines(text: writer.bytes, done: done, token: page.syncToken, next: page.moreComing ? page.syncToken : nil)
    }

    private static func line(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        writer.endLine()
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func started(total: Int?) {
        object { writer in
            writer.member("playback", "started")
            if let total { writer.member("total", Int64(total)) }
        }
    }

    fileprivate mutating func reached(_ page: ZoneChangesPage, done: Int, total: Int?) {
        object { writer in
            writer.member("playback", page.moreComing ? "reached" : "finished")
            writer.member("done", Int64(done))
            if let total { writer.member("total", Int64(total)) }
            writer.member("syncToken", page.syncToken.text)
        }
    }

    fileprivate mutating func failed(_ error: RecordError) {
        object { writer in
            writer.member("playback", "failed")
            writer.members(of: error)
        }
    }
}
