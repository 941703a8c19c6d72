internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog
internal import ServiceLifecycle

/// `changes/page`: returns a page of a zone's changes with details beyond the protocol: kinds, positions, and the user
/// and time of deletions.
struct ChangesPage: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let request = ZoneChangesRequest(
            try body.namedZone(), since: try body.token(), limit: try body.widePageLimit(),
            desiredKeys: try body.desiredKeys(),
            desiredRecordTypes: try body.desiredRecordTypes(), reverse: try body.bool("reverse") ?? false)
        let page = try await call.database().zoneChanges(request, noting: call.note)
        try call.makeRoom(for: page.changes.lazy.compactMap(\.record))
        let downloadURL = try await call.assets.addresses(ifAny: page.changes.contains { $0.mayHoldAssets })
        try writer.object { writer in
            writer.name("zoneID")
            writer.value(page.zoneID)
            try writer.member("changes", values: page.changes) { try $0.value($1, downloadURL: downloadURL) }
            writer.member("syncToken", page.syncToken.text)
            writer.member("moreComing", page.moreComing)
        }
    }
}

/// The services of feeds and tokens whose answers have no records.
enum ChangeServices {
    private typealias Rows = DatabaseServices

    static let rows: [DatabaseService] = [
        Rows.changedZones.serve { call, request in
            try await call.database().databaseChanges(request, noting: call.note)
        },
        Rows.position.serve { call, point in
            try await call.database().require(.readEarlierStates).database(asOf: point).position
        },
        Rows.currentToken.serve { call, zoneID in
            call.note?.about([zoneID].compactMap(\.self))
            return (zoneID, try await call.database().currentToken(of: zoneID))
        },
        Rows.explainToken.serve { call, request in
            let (token, zoneID) = request
            call.note?.about([zoneID].compactMap(\.self))
            guard let token, !token.isEmpty else {
                throw RecordError.unexpectedInput("Expected the query parameter 'token'")
            }
            return try await call.database().require(.explainTokens).explain(ChangeToken(text: token))
        },
        Rows.expireTokens.serve { call, _ in
            try await call.database().require(.expireTokens).expireTokens()
            return true
        },
    ]
}

// MARK: - Playback

/// Streams a whole zone, or all changes since a token, as lines of JSON.
///
/// The server holds at most two pages: one that is being sent, and the next one. A slow client holds up no transaction
/// and takes no more memory. After each page comes a line with the token from which a broken stream can be resumed.
struct Playback {
    /// The limit of a page.
    private static let pageLimit = PageLimit(records: 500, bytes: 1 << 20)

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    /// A page as text.
    private struct Lines: FeedPage {
        let text: [UInt8]
        /// The number of changes up to the end of the page.
        let done: Int
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        try await request.makeRoom(forPagesOf: Self.pageLimit)
        // Reads the first page before the answer begins, so that errors in the request still get an error status.
        let (total, first) = try await request.beginning(of: zoneID) {
            let total = try await request.database.changeCount(in: zoneID, since: request.since)
            return (total, FirstPage(try await lines(of: zoneID, since: request.since, after: 0, total: total)))
        }
        let body = ResponseBody { writer in
            try await writer.write(piecesOf: Self.line { $0.started(total: total) })
            do {
                try await first.take()?.andLater {
                    try await lines(of: zoneID, since: $0.syncToken, after: $0.done, total: total)
                } take: { lines in
                    try await writer.write(piecesOf: lines.text)
                    note(lines, of: zoneID)
                    // The client resumes with its last token after the stream ends early.
                    return !Task.isShuttingDownGracefully
                }
            } catch let error as RecordError {
                request.note?.streamFailed(error)
                try await writer.write(piecesOf: Self.line { $0.failed(error) })
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"], body: body)
    }

    /// Logs how far the client has read. Pages that were not sent do not count.
    private func note(_ lines: Lines, of zoneID: ZoneID) {
        request.note?.streamed(
            ServedRequest.Pull(
                zoneID: zoneID, sent: request.since, given: lines.syncToken, moreComing: lines.moreComing,
                changes: lines.done))
    }

    private func lines(of zoneID: ZoneID, since token: ChangeToken?, after done: Int, total: Int?) async throws -> Lines
    {
        let page = try await request.page(of: zoneID, since: token, limit: Self.pageLimit)
        let bytes = page.changes.reduce(512) { $0 + $1.bytes + 640 }
        // Created anew for each page, because download addresses expire during a long playback.
        let downloadURL = try await request.assets.addresses(ifAny: page.changes.contains { $0.mayHoldAssets })
        var writer = JSONWriter(capacity: bytes)
        for change in page.changes {
            try writer.value(change, downloadURL: downloadURL)
            writer.endLine()
        }
        let done = done + page.changes.count
        writer.reached(page, done: done, total: total)
        writer.endLine()
        return Lines(text: writer.bytes, done: done, syncToken: page.syncToken, moreComing: page.moreComing)
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
