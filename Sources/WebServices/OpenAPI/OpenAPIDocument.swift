internal import HTTPTypes
internal import JSON
internal import Records

/// The content of `/openapi.json`: an OpenAPI 3.1 description of everything under `/database`,
/// `/device`, `/skylight` and `/assets`, and of the few paths about the server (docs/openapi.md).
///
/// It is generated from the same tables that route the requests, so it cannot become outdated.
enum OpenAPIDocument {
    /// The document. It is the same for all clients.
    static let bytes = JSONWriter.bytes(of: document)

    static let document: JSONValue = [
        "openapi": "3.1.0",
        "info": [
            "title": "Skylight", "version": "1",
            "summary": "CloudKit Web Services on one's own machine",
            "description": .string(about),
        ],
        "servers": [["url": "/"]],
        "tags": .array(Tag.allCases.map(\.json)),
        "paths": .object(paths),
        "components": [
            "schemas": .object(members(Components.allCases.map { (Name($0.rawValue), $0.schema.value) })),
            "responses": .object(members(failures.map { (Name($0.name), $0.json()) })),
            "parameters": .object(members(Parameter.allCases.map { (Name($0.rawValue), $0.json) })),
            "headers": [
                "RequestID": ["description": "What the request is known by on the page Requests", "schema": JSONSchema.string.value],
                "WebAuthToken": [
                    "description": "To a request with a web auth token: the token for the next one", "schema": JSONSchema.string.value,
                ],
                "RetryAfter": ["description": "Seconds to wait", "schema": JSONSchema.count.value],
            ],
            "securitySchemes": .object(Security.schemes),
        ],
    ]

    private static let about = """
        The web services of CloudKit, under `/database` and `/device`, and what Skylight has beyond them, under `/skylight`. \
        An item that fails alone stands as an error among the others in an answer with status 200; a request that fails as a whole has the status \
        of its `serverErrorCode`. The type of a request's body is not looked at: it is JSON in any case. Members and parameters that nobody knows are \
        ignored, and `null` is the same as nothing. GET is answered to HEAD as well, and OPTIONS to browsers that ask before a request of another origin.
        """

    static func members(_ members: [(Name, JSONValue)]) -> JSONObject {
        JSONObject(members.map { JSONObject.Member(name: $0.0, value: $0.1) })
    }

    // MARK: Paths

    /// The groups of services in the document.
    enum Tag: String, CaseIterable {
        case protocolServices = "CloudKit"
        case data = "Data"
        case files = "Files"
        case server = "Server"

        fileprivate var json: JSONValue {
            let description =
                switch self {
                case .protocolServices: "CloudKit Web Services"
                case .data: "Beyond CloudKit: of databases, schemas, zones and records"
                case .files: "The bytes of assets"
                case .server: "Of the server, and what it saw"
                }
            return ["name": .string(rawValue), "description": .string(description)]
        }
    }

    private static let database: [Parameter] = [.container, .environment, .database]
    private static let environment: [Parameter] = [.container, .environment]

    private static var paths: JSONObject {
        var paths = JSONObject()
        func add(_ path: String, _ tag: Tag, _ operations: Operation...) {
            paths[Name(path)] = .object(members(operations.map { (Name($0.method.rawValue.lowercased()), $0.json(at: path, tag)) }))
        }
        func add(_ path: String, _ tag: Tag, _ described: ServiceDescription, allowsGET: Bool, _ place: [Parameter], _ access: Security) {
            let post = Operation(.post, described, place, access)
            paths[Name(path)] = .object(
                members((allowsGET ? [Operation(.get, described, place, access), post] : [post]).map {
                    (Name($0.method.rawValue.lowercased()), $0.json(at: path, tag))
                }))
        }
        for (action, endpoint) in EndpointTable.database.sorted(by: { $0.key < $1.key }) {
            let path = "/database/1/{container}/{environment}/{database}/\(action)"
            add(path, .protocolServices, endpoint.described, allowsGET: endpoint.allowsGET, database, .client)
        }
        for (action, methods) in EndpointTable.missing.sorted(by: { $0.key < $1.key }) {
            let path = "/database/1/{container}/{environment}/{database}/\(action)"
            add(path, .protocolServices, .missing, allowsGET: methods.contains(.get), database, .client)
        }
        for action in EndpointTable.missingOnDevices.keys.sorted() {
            add("/device/1/{container}/{environment}/\(action)", .protocolServices, Operation(.post, .missing, environment, .client))
        }
        for (action, endpoint) in SkylightServices.endpoints.sorted(by: { $0.key < $1.key }) {
            let path = "/skylight/1/{container}/{environment}/{database}/\(action)"
            add(path, .data, endpoint.described, allowsGET: endpoint.allowsGET, database, .administrator)
        }
        for (action, described) in ServiceDescription.streams.sorted(by: { $0.key < $1.key }) {
            add("/skylight/1/{container}/{environment}/{database}/\(action)", .data, Operation(.get, described, database, .administrator))
        }
        for (action, service) in SkylightServices.ofEnvironments.sorted(by: { $0.key < $1.key }) {
            guard let described = ServiceDescription.ofEnvironments[action] else { continue }
            add("/skylight/1/{container}/{environment}/\(action)", .files, Operation(service.method, described, environment, .administrator))
        }
        for (action, service) in SkylightServices.server.sorted(by: { $0.key < $1.key }) {
            let isHealth = service == HealthService.self
            add("/skylight/1/\(action)", .server, Operation(.get, service.described, [], isHealth ? .anybody : .administrator))
        }
        for (action, service) in AccountServices.all.sorted(by: { $0.key < $1.key }) {
            add("/skylight/1/\(action)", .server, Operation(service.method, service.described, [], .administrator))
        }
        for (action, described) in ServiceDescription.traffic.sorted(by: { $0.key < $1.key }) {
            add("/skylight/1/\(action)", .server, Operation(.get, described, action.hasSuffix("{id}") ? [.request] : [], .administrator))
        }
        add(
            RehearsalServices.path, .server, Operation(.get, .rehearsalsList, [], .administrator),
            Operation(.post, .rehearsalsChange, [], .administrator))
        add(
            "/assets/{container}/{environment}/upload/{ticket}", .files, Operation(.post, .upload, environment + [.ticket], .anybody),
            Operation(.put, .upload, environment + [.ticket], .anybody))
        add("/assets/{container}/{environment}/download/{ticket}/{name}", .files, Operation(.get, .download, environment + [.ticket, .name], .anybody))
        add("/health", .server, Operation(.get, HealthService.described, [], .anybody))
        add("/metrics", .server, Operation(.get, .metrics, [], .administrator))
        add(path, .server, Operation(.get, .openAPI, [], .anybody))
        return paths
    }

    /// The path of the document.
    static let path = "/openapi.json"
}

extension ServiceDescription {
    /// The description of CloudKit services that are not supported yet.
    fileprivate static let missing = ServiceDescription("Not there yet", "Answered BAD_REQUEST.", answers: .none)
}
