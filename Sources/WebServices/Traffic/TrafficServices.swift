internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

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
            return LiveRequests(log: log, filter: try filter(parameters), after: after.flatMap { $0.isEmpty ? nil : $0 }).response()
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
                .notFound, "There is no request '\(after)' for 'after': the log no longer has it; start again without 'after'")
        }
        writer.object { writer in
            writer.name("requests")
            writer.array { writer in
                for request in found.prefix(limit) { writer.value(request) }
            }
            if found.count > limit, let last = found.prefix(limit).last { writer.member("last", last.id) }
        }
    }

    private func one(_ id: String, _ parameters: RequestObject, into writer: inout JSONWriter) throws {
        guard let request = log.request(id) else {
            throw RecordError(
                .notFound, "There is no request '\(id)' in the log, which keeps the latest \(log.capacity) at most")
        }
        if try parameters.flag("bodies") { writer.value(request, bodies: log.bodies(of: request.id)) } else { writer.value(request) }
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
            writer.name("clients")
            writer.array { writer in
                for client in clients { writer.value(client) }
            }
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
