internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog
internal import ServiceLifecycle

/// The traffic services: `/skylight/1/requests`, `/skylight/1/requests/{id}`, `/skylight/1/requests/live`
/// and `/skylight/1/clients` (docs/requests.md). They take GET, and are not logged themselves.
struct TrafficServices: Sendable {
    static let names = ["clients", "requests", "requests/live"]

    private static let root = "requests/"
    private static let pageLimit = 100
    private static let widestPage = 1000

    let log: RequestLog

    /// True if the action is a traffic service, or may be the address of a request.
    static func has(_ action: String) -> Bool {
        names.contains(action) || action.hasPrefix(root)
    }

    /// - Throws: `RecordError` NOT_FOUND for a request that is not in the log,
    ///   BAD_REQUEST for an invalid filter.
    func answer(_ action: String, to request: Request) async throws -> Response {
        let parameters = try RequestObject(parametersOf: request)
        var writer = JSONWriter()
        switch action {
        case "requests": try list(parameters, into: &writer)
        case "requests/live":
            let lastEvent = request.headers[.lastEventID]
            let after = try lastEvent ?? parameters.string("after")
            return LiveRequests(
                log: log, filter: try filter(parameters), after: after.flatMap { $0.isEmpty ? nil : $0 }
            ).response()
        case "clients": try clients(parameters, into: &writer)
        default: try one(String(action.dropFirst(Self.root.count)), parameters, into: &writer)
        }
        return .json(writer.bytes)
    }

    private func list(_ parameters: RequestObject, into writer: inout JSONWriter) throws {
        let filter = try filter(parameters)
        let limit = min(try parameters.wholeNumber("resultsLimit", from: 1) ?? Self.pageLimit, Self.widestPage)
        // Reads one more, to know if there is another page.
        let after = try parameters.string("after")
        let found = log.latest(limit + 1, before: after, where: filter.matches)
        // An empty page would look like the end of the list.
        if let after, found.isEmpty, log.cursor(of: after) == nil {
            throw RecordError(
                .notFound,
                "There is no request '\(after)' for 'after': the log no longer has it; start again without 'after'")
        }
        writer.object { writer in
            writer.member("requests", values: found.prefix(limit)) { $0.value($1) }
            if found.count > limit, let last = found.prefix(limit).last { writer.member("last", last.id) }
        }
    }

    private func one(_ id: String, _ parameters: RequestObject, into writer: inout JSONWriter) throws {
        guard let request = log.request(id) else {
            throw RecordError(
                .notFound, "There is no request '\(id)' in the log, which keeps the latest \(log.capacity) at most")
        }
        if try parameters.flag("bodies") {
            writer.value(request, bodies: log.bodies(of: request.id))
        } else {
            writer.value(request)
        }
    }

    private func clients(_ parameters: RequestObject, into writer: inout JSONWriter) throws {
        let filter = try filter(parameters)
        let clients = log.clients.clients.filter { client in
            (filter.container.map { $0 == client.address.container } ?? true)
                && (filter.environment.map { $0 == client.address.environment } ?? true)
                && (filter.scope.map { $0 == client.address.scope } ?? true)
                && (filter.userRecordName.map { $0 == client.userRecordName } ?? true)
                && (filter.client.map { $0 == client.id.client } ?? true)
        }
        writer.object { writer in
            writer.member("clients", values: clients) { $0.value($1) }
        }
    }

    // MARK: Filters

    private func filter(_ parameters: RequestObject) throws -> RequestFilter {
        var filter = RequestFilter()
        filter.container = try parameters.container()
        filter.environment = try parameters.environment()
        filter.scope = try parameters.databaseScope()
        filter.operation = try parameters.string("operation")
        filter.client = try parameters.string("client")
        // The user need not exist yet. Unlike a request of that user, the filter does not create it.
        filter.userRecordName = try parameters.string("user").map { User.recordName(ofHandle: $0) }
        filter.errorsOnly = try parameters.flag("errors")
        filter.warningsOnly = try parameters.flag("warnings")
        filter.text = try parameters.string("text") ?? ""
        return filter
    }
}

extension RequestObject {
    /// A flag parameter. It is set if it is `1`, `true` or empty.
    fileprivate func flag(_ name: Name) throws -> Bool {
        guard let text = try string(name) else { return false }
        switch text {
        case "1", "true", "": return true
        case "0", "false": return false
        default: throw RecordError.unexpectedInput("Expected '\(name)' to be 1 or 0, found '\(text)'")
        }
    }
}

// MARK: - Live requests

/// Streams answered requests as server-sent events (HTML standard, "Server-sent events").
///
/// Each event is a request, with the request's id as its id. A client that reconnects with `Last-Event-ID` misses none
/// and gets none twice, as long as that request is still in the log. The stream begins with the id of the latest
/// request, so this holds from the start. The server queues nothing for slow clients; it reads the log when the client
/// is ready.
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
            // If the request is no longer in the log, the number of missed requests is unknown. The stream then sends
            // the whole log.
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
                // An event with only an id, so that a client that reconnects skips requests that did not match its
                // filter.
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
