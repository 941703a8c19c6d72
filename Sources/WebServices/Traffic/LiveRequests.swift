internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import Records
internal import ServiceLifecycle
internal import Traffic

/// Streams answered requests as server-sent events (HTML standard, "Server-sent events").
///
/// Each event is a request, with the request's id as its id. A client that reconnects with `Last-Event-ID` misses none
/// and gets none twice, as long as that request is still in the log. The stream begins with the id of the latest request,
/// so this holds from the start. The server queues nothing for slow clients; it reads the log when the client is ready.
struct LiveRequests: Sendable {
    /// The number of requests to send at a time.
    private static let pageSize = 100
    /// The event id for the beginning of the log, when there is no request yet.
    private static let beginning = "beginning"

    let log: RequestLog
    let filter: RequestFilter
    /// The id of the request to start after; `nil` for the present.
    let after: String?

    func response() -> Response {
        // Subscribes before the first read, so that no request is missed in between.
        let signals = log.signals()
        let (known, start) = beginning()
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: ": listening\n\n"))
            if after == nil { try await writer.write(Self.event(id: start)) }
            // If the request is no longer in the log, the number of missed requests is unknown. The stream then sends the whole log.
            if known == nil { try await writer.write(Self.missed(nil)) }
            var cursor = known ?? -1
            var last = start
            try await Wake.forEach(of: signals) { wake in
                var isBehind = false
                repeat {
                    let page = log.page(after: cursor, limit: Self.pageSize)
                    if page.missed > 0, known != nil || cursor >= 0 { try await writer.write(Self.missed(page.missed)) }
                    let wanted = page.requests.filter(filter.matches)
                    if !wanted.isEmpty { try await writer.write(Self.events(wanted)) }
                    (cursor, isBehind) = (page.cursor, page.requests.count == Self.pageSize)
                    last = page.requests.last?.id ?? last
                } while isBehind && !Task.isShuttingDownGracefully
                if isBehind { return false }
                // An event with only an id, so that a client that reconnects skips requests that did not match its filter.
                if wake == .heartbeat { try await writer.write(Self.event(id: last)) }
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// The log position to start after, `nil` if it is unknown, and its event id.
    private func beginning() -> (cursor: Int64?, id: String) {
        if let after {
            if after == Self.beginning { return (-1, after) }
            return log.cursor(of: after).map { ($0, after) } ?? (nil, Self.beginning)
        }
        // Takes the position and the id from the same request, because others may arrive meanwhile.
        guard let latest = log.latest(1).first else { return (-1, Self.beginning) }
        return (latest.number, latest.id)
    }

    /// An event that only sets the id to continue from.
    private static func event(id: String) -> ByteBuffer {
        ByteBuffer(string: "id: \(id)\n\n")
    }

    private static func events(_ requests: [ServedRequest]) -> ByteBuffer {
        var buffer = ByteBuffer()
        for request in requests {
            var writer = JSONWriter()
            writer.value(request)
            buffer.writeString("id: \(request.id)\nevent: request\ndata: ")
            buffer.writeBytes(writer.bytes)
            buffer.writeString("\n\n")
        }
        return buffer
    }

    /// - Parameter count: the number of requests that were dropped from the log; `nil` if unknown.
    private static func missed(_ count: Int64?) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { writer in
            if let count { writer.member("requests", count) }
        }
        var buffer = ByteBuffer(string: "event: missed\ndata: ")
        buffer.writeBytes(writer.bytes)
        buffer.writeString("\n\n")
        return buffer
    }
}
