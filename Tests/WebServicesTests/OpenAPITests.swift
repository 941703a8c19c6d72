import AssetStore
import HTTPServing
import Hummingbird
import RecordStore
import Records
import RequestLog
import Testing

@testable import WebServices

/// `/openapi.json` describes exactly the services of the server.
@Suite("OpenAPI")
struct OpenAPITests {
    private static let document: JSONObject = {
        guard case .object(let document)? = try? JSONReader.value(of: OpenAPIDocument.bytes) else {
            return JSONObject()
        }
        return document
    }()

    /// The operations of the document, such as `GET /health`.
    private static let operations: [String: JSONObject] = {
        var operations: [String: JSONObject] = [:]
        guard case .object(let paths)? = document["paths"] else { return operations }
        for path in paths {
            guard case .object(let item) = path.value else { continue }
            for method in item {
                guard case .object(let operation) = method.value else { continue }
                operations["\(method.name.string.uppercased()) \(path.name)"] = operation
            }
        }
        return operations
    }()

    /// A path with its parameters filled in.
    private static func target(_ path: some StringProtocol) -> String {
        let values = [
            "container": "iCloud.com.example.Test", "environment": "development", "database": "private", "id": "none",
            "ticket": "none", "name": "none",
        ]
        return values.reduce(String(path)) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    @Test("Each service of the tables is there, with the methods it answers to")
    func tables() {
        let described = Set(Self.operations.keys)
        var expected: Set<String> = [
            "GET /aps", "GET /health", "GET /metrics", "GET /openapi.json", "GET /skylight/1/rehearsals",
            "POST /skylight/1/rehearsals",
            "GET /skylight/1/requests/{id}", "POST /assets/{container}/{environment}/upload/{ticket}",
            "PUT /assets/{container}/{environment}/upload/{ticket}",
            "GET /assets/{container}/{environment}/download/{ticket}/{name}",
        ]
        func add(_ root: String, _ table: [String: any Endpoint]) {
            for (action, endpoint) in table {
                for method in endpoint.methods { expected.insert("\(method) \(root)\(action)") }
            }
        }
        add("/database/1/{container}/{environment}/{database}/", EndpointTable.database)
        add("/device/1/{container}/{environment}/", EndpointTable.device)
        add("/skylight/1/{container}/{environment}/{database}/", SkylightServices.endpoints)
        add("/skylight/1/{container}/{environment}/{database}/", SkylightServices.ofUsers)
        for action in SkylightServices.streams.keys {
            expected.insert("GET /skylight/1/{container}/{environment}/{database}/\(action)")
        }
        for (action, service) in SkylightServices.ofEnvironments {
            expected.insert("\(service.method) /skylight/1/{container}/{environment}/\(action)")
        }
        for action in SkylightServices.server.keys { expected.insert("GET /skylight/1/\(action)") }
        for (action, service) in AccountServices.all { expected.insert("\(service.method) /skylight/1/\(action)") }
        for action in TrafficServices.names { expected.insert("GET /skylight/1/\(action)") }
        #expect(expected.subtracting(described).sorted() == [], "not described")
        #expect(described.subtracting(expected).sorted() == [], "described, and not there")
    }

    @Test("The members of the services in rows are those of the rows")
    func members() throws {
        let ofServer = Array(SkylightServices.server.values) + AccountServices.all.values
        let ofDatabases = Array(SkylightServices.endpoints.values) + SkylightServices.ofUsers.values
        let places =
            ofServer.map { ("/skylight/1/", $0.entry) }
            + ofDatabases.compactMap { $0 as? DatabaseService }.map {
                ("/skylight/1/{container}/{environment}/{database}/", $0.entry)
            }
        for (root, entry) in places {
            for method in entry.methods {
                let place = "\(method) \(root)\(entry.path)"
                let operation = JSONValue.object(try #require(Self.operations[place]))
                let content = ["content", "application/json", "schema"] as [Name]
                if method == .post {
                    Self.compare(
                        .object(entry.request), Self.value(of: operation, at: ["requestBody"] + content), "\(place): ")
                }
                Self.compare(
                    .object(entry.answer), Self.value(of: operation, at: ["responses", "200"] + content),
                    "\(place) answers ")
            }
        }
    }

    @Test("The table of the services of databases is whole")
    func table() {
        let endpoints = Array(SkylightServices.endpoints.values) + SkylightServices.ofUsers.values
        let rows = endpoints.compactMap { ($0 as? DatabaseService)?.entry.path }
        #expect(DatabaseServices.all.map(\.path).sorted() == rows.sorted())
    }

    /// What is at a path, behind references.
    private static func value(of json: JSONValue?, at path: some Sequence<Name>) -> JSONValue? {
        let found = path.reduce(json) { value, name in
            if case .object(let object)? = value { object[name] } else { nil }
        }
        guard case .object(let object)? = found, case .string(let reference)? = object["$ref"] else { return found }
        return value(of: .object(document), at: reference.split(separator: "/").dropFirst().map { Name($0) })
    }

    private static func compare(_ shape: JSONShape, _ described: JSONValue?, _ place: String) {
        func expectType(_ type: JSONValue) { #expect(value(of: described, at: ["type"]) == type, "\(place)") }
        switch shape {
        case .string: expectType("string")
        case .integer: expectType("integer")
        case .number: expectType("number")
        case .boolean: expectType("boolean")
        case .array(let element):
            expectType("array")
            compare(element, value(of: described, at: ["items"]), place + "[]")
        case .object(nil): if value(of: described, at: ["anyOf"]) == nil { expectType("object") }
        case .object(let members?):
            guard case .object(let properties)? = value(of: described, at: ["properties"]) else {
                #expect(members.isEmpty, "\(place) has no properties")
                return
            }
            #expect(Set(properties.names) == Set(members.map(\.name)), "\(place)")
            let required = members.filter(\.isRequired).map(\.name.string)
            if case .array(let names)? = value(of: described, at: ["required"]) {
                #expect(Set(names) == Set(required.map(JSONValue.string)), "\(place): required")
            } else {
                #expect(required.isEmpty, "\(place): required")
            }
            for member in members {
                compare(member.shape, value(of: described, at: ["properties", member.name]), "\(place).\(member.name)")
            }
        }
    }

    @Test("Each route of the router is there")
    func routes() async throws {
        // The routes of the service tables end in a wildcard.
        let roots = ["/database/**", "/device/**", "/skylight/**", "/assets/**"]
        try await TestServer.run { server in
            let own = server.routes.filter { route in !roots.contains { route.hasSuffix(" " + $0) } }
            #expect(server.routes.contains { $0.hasSuffix(" /database/**") })
            #expect(!own.isEmpty)
            let described = Set(Self.operations.keys.map { String($0.drop { $0 != "/" }) })
            // Other methods have their own routes, which refuse them.
            for route in own {
                #expect(described.contains(String(route.drop { $0 != "/" })), "\(route) is not described")
            }
        }
    }

    @Test("The server answers to each operation, and to no other method at its path")
    func methods() async throws {
        let byPath = Dictionary(grouping: Self.operations.keys) { $0.split(separator: " ")[1] }
        #expect(byPath.count > 70)
        let endless = ["/requests/live", "/commits", "/changes/follow", "/notifications"]
        try await TestServer.run { server in
            for (path, operations) in byPath {
                let known = Set(operations.compactMap { $0.split(separator: " ").first.map(String.init) })
                for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "TRACE"] {
                    if method == "GET", endless.contains(where: { path.hasSuffix($0) }) { continue }
                    let response = try #require(
                        try await server.client.exchange(
                            "\(method) \(Self.target(path)) HTTP/1.1\r\nHost: localhost\r\nX-Skylight-Rehearse: none\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                        ).first, "\(method) \(path)")
                    if known.contains(method) {
                        #expect(response.status != 405, "\(method) \(path): \(response.text.prefix(300))")
                        #expect(response.status < 500, "\(method) \(path): \(response.text.prefix(300))")
                    } else {
                        #expect(
                            response.status == 405, "\(method) \(path): \(response.status) \(response.text.prefix(300))"
                        )
                        #expect(response.headers["allow"] != nil, "\(method) \(path)")
                    }
                    if response.status >= 400 {
                        // Paths of the server itself are not web services, and answer in plain text.
                        let isService = path.split(separator: "/").count > 1
                        let type = isService ? "application/json; charset=UTF-8" : "text/plain; charset=utf-8"
                        #expect(response.headers["content-type"] == type, "\(method) \(path)")
                    }
                }
            }
        }
    }

    @Test("Each service says in its own words what it is")
    func words() throws {
        var paths: [String: Set<String>] = [:]
        for (operation, description) in Self.operations {
            guard case .string(let summary)? = description["summary"] else {
                throw RecordError(.notFound, "\(operation) has no summary")
            }
            #expect(summary.first?.isUppercase == true && !summary.hasSuffix("."), "\(operation)")
            if case .string(let details)? = description["description"] {
                #expect(details.hasSuffix("."), "\(operation)")
            }
            paths[summary, default: []].insert(String(operation.drop { $0 != "/" }))
        }
        #expect(paths.removeValue(forKey: "Get the server's health") == ["/health", "/skylight/1/health"])
        for (summary, paths) in paths { #expect(paths.count == 1, "'\(summary)' is said of \(paths.sorted())") }
    }

    @Test("The enumerations are those of the code")
    func enumerations() throws {
        func check(_ name: Name, _ words: [String]) throws {
            guard case .object(let components)? = Self.document["components"],
                case .object(let schemas)? = components["schemas"],
                case .object(let schema)? = schemas[name]
            else { throw RecordError(.notFound, "There is no schema \(name)") }
            #expect(schema["enum"] == .array(words.map(JSONValue.string)), "\(name)")
        }
        func check<Word: RawRepresentable & CaseIterable>(_ name: Name, _ type: Word.Type) throws
        where Word.RawValue == String {
            try check(name, type.allCases.map(\.rawValue))
        }
        try check("AssetProblem", AssetVerification.Problem.Kind.self)
        try check("AuthenticationWay", Authentication.Way.self)
        try check("Comparator", Comparator.self)
        try check("ErrorCode", ServerErrorCode.self)
        try check("GrantPermission", Grant.Permission.self)
        try check("ItemFailure", FailingItems.Code.self)
        try check("NumberPreference", NumberPreference.self)
        try check("OperationType", RecordOperation.Kind.self)
        try check("PropertyType", PropertyValue.Kind.self)
        try check("ReferenceAction", Reference.Action.self)
        try check("Rehearsal", InjectedFault.self)
        try check("SchemaChangeReason", SchemaHistoryEntry.Reason.self)
        try check("SharePermission", ZoneParticipant.Permission.self)
        try check("Warning", RequestWarning.self)
        let fieldTypes = ValueType.allCases.flatMap { type in
            [false, true].flatMap { isEncrypted in
                [false, true].map { FieldType(type, isList: $0, isEncrypted: isEncrypted) }
            }
        }
        try check(
            "FieldType",
            fieldTypes.filter { !$0.isEncrypted || $0.canBeEncrypted }.map(\.wireName)
                + ["ASSET", "ASSET_LIST", "NUMBER_INT64", "NUMBER_INT64_LIST", "NUMBER_DOUBLE", "NUMBER_DOUBLE_LIST"])
    }
}
