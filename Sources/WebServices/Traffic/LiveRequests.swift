internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import Records
internal import ServiceLifecycle
internal import Traffic

/// Requests as they are answered, as server-sent events (HTML standard, "Server-sent events").
///
/// An event is a request, and its id the request's: a client that comes back with `Last-Event-ID` misses none and gets none twice, as long as
/// that request is still kept. That holds from the first moment on: the stream begins with the id of the latest request. What happens while a
/// client is slow is not held for it; it is read from the log when the client is ready.
struct LiveRequests: Sendable {
    /// Requests that are sent at a time.
    private static let pageSize = 100
    /// What stands for the id of a request where there is none yet: the beginning of the log.
    private static let beginning = "beginning"

    let log: RequestLog
    let filter: RequestFilter
    /// The id of the request after which to begin; `nil` for now.
    let after: String?

    func response() -> Response {
        // The signs begin before the first look, so that no request falls in between.
        let signals = log.signals()
        let (known, start) = beginning()
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(string: ": listening\n\n"))
            if after == nil { try await writer.write(Self.event(id: start)) }
            // Nobody knows how many there were after a request that is kept no more: all that are kept are sent.
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
                // With the id alone: requests that were looked at and are not wanted need not be looked at again.
                if wake == .heartbeat { try await writer.write(Self.event(id: last)) }
                return true
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Wake.eventStreamHeaders, body: body)
    }

    /// The place after which to begin, `nil` when it is not known, and the id that stands for it.
    private func beginning() -> (cursor: Int64?, id: String) {
        if let after {
            if after == Self.beginning { return (-1, after) }
            return log.cursor(of: after).map { ($0, after) } ?? (nil, Self.beginning)
        }
        // Both of the same request, though others may come meanwhile.
        guard let latest = log.latest(1).first else { return (-1, Self.beginning) }
        return (latest.number, latest.id)
    }

    /// An event that tells nothing but from where to go on.
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

    /// - Parameter count: how many requests are kept no more; `nil` when that is not known.
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
