internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import ServiceLifecycle

/// A whole zone, or all that changed since a token, as one stream of lines of JSON.
///
/// The server holds one page at a time, and reads the next when the client has taken it: no transaction and no memory waits for a slow
/// reader. After each page stands a line with the token to go on from, should the stream break.
struct Playback {
    /// Changes in a page.
    private static let pageSize = 500

    private let request: FeedRequest

    init(_ request: FeedRequest) {
        self.request = request
    }

    func response() async throws -> Response {
        let zoneID = try request.requiredZoneID()
        // What is wrong with the request shows in the first page, while there is still a status to say it with.
        let first = try await request.page(of: zoneID, since: request.since, records: Self.pageSize)
        let total = try await request.total()
        let body = ResponseBody { [request, first] writer in
            var page = first
            var done = 0
            try await writer.write(Self.line { $0.started(total: total) })
            while true {
                done += page.changes.count
                try await writer.write(try Self.lines(of: page, done: done, total: total))
                // A client whose stream ends early goes on from its last token.
                if !page.moreComing || Task.isShuttingDownGracefully { break }
                do {
                    page = try await request.page(of: zoneID, since: page.syncToken, records: Self.pageSize)
                } catch let error as RecordError {
                    try await writer.write(Self.line { $0.failed(error) })
                    break
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"], body: body)
    }

    private static func lines(of page: ZoneChangesPage, done: Int, total: Int?) throws -> ByteBuffer {
        var buffer = ByteBuffer()
        for change in page.changes {
            var writer = JSONWriter(capacity: change.record.fields.bytes.count + 512)
            try writer.value(change)
            buffer.writeBytes(writer.bytes)
            buffer.writeInteger(UInt8(ascii: "\n"))
        }
        buffer.writeImmutableBuffer(line { $0.reached(page, done: done, total: total) })
        return buffer
    }

    private static func line(_ write: (inout JSONWriter) -> Void) -> ByteBuffer {
        var writer = JSONWriter()
        write(&writer)
        return ByteBuffer(bytes: writer.bytes + [UInt8(ascii: "\n")])
    }
}

extension JSONWriter {
    /// A change with what the protocol leaves out: what kind it is, its position, and of a deletion what was deleted, by whom and when.
    mutating func value(_ change: RecordChange) throws {
        try object { writer in
            writer.member("change", change.kind.rawValue)
            writer.member("position", change.position)
            writer.name("record")
            if change.kind == .deleted {
                writer.deletion(of: change.record)
            } else {
                try writer.value(change.record)
            }
        }
    }

    private mutating func deletion(of record: StoredRecord) {
        object { writer in
            writer.member("recordName", record.recordID.recordName)
            writer.member("recordType", record.recordType)
            writer.member("recordChangeTag", record.recordChangeTag)
            writer.name("modified")
            writer.value(record.modified)
            writer.member("deleted", true)
        }
    }

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
            writer.member("serverErrorCode", error.code.rawValue)
            writer.member("reason", error.reason)
        }
    }
}
