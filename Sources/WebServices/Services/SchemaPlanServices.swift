internal import HTTPServing
internal import RecordStore
internal import Records

// Services that change a schema as a whole. With `dryRun` each only reports what it would do.

/// `schema/validate`: checks if a text is a valid schema. It does not look at the stored schema.
struct SchemaValidation: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let given = try call.body.schemaText()
        let text = try await WorkPool.prompt.run(on: given.utf8.count) { SchemaText(given) }
        writer.object { writer in
            writer.member("valid", text.errors.isEmpty)
            writer.member("errors", values: text.errors) { $0.value($1) }
            writer.member("notes", values: text.notes) { $0.value($1) }
            if text.moreNotes > 0 { writer.member("moreNotes", Int64(text.moreNotes)) }
            // The errors of the text are already written above.
            guard let schema = try? text.schema() else { return }
            writer.member("types", Int64(schema.types.count))
            writer.member("fields", Int64(schema.types.values.reduce(0) { $0 + $1.fields.count }))
            writer.member("roles", Int64(schema.roles.count))
        }
    }
}

/// `schema/diff`: lists the changes that would turn this schema into another one: that of a text, of another
/// environment, or of the body.
struct SchemaDiff: Endpoint {
    let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let other = try await call.comparedSchema()
        let current = try await call.database().require(.showSchema).schema()
        let (difference, respellings) = try await WorkPool.prompt.run(on: call.body.textSize) {
            (SchemaDifference(from: current, to: other), SchemaRespelling.all(from: current, to: other))
        }
        writer.object { writer in
            writer.member("different", !(difference.isEmpty && respellings.isEmpty))
            writer.members(of: difference)
            writer.members(of: respellings)
        }
    }
}

/// `schema/import`: replaces the development schema with that of a text, or merges the two.
struct SchemaImport: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let text = try body.schemaText()
        let isMerge = try body.bool("merge") ?? false
        let isDryRun = try body.bool("dryRun") ?? false
        let allowsLoss = try body.bool("allowLoss") ?? false
        let waits = try body.waitsForIndexes()
        if call.path.environment == .production {
            throw RecordError(
                .accessDenied, "A schema is imported only into development; import it there, then deploy it")
        }
        let database = try await call.database()
        let current = try await database.require(.showSchema).schema()
        let production = try await call.schema(of: .production)
        let plan = try await WorkPool.prompt.run(on: text.utf8.count) {
            try SchemaImportPlan(
                importing: RequestObject.schema(text: text), into: current, merging: isMerge, production: production)
        }
        let losses = try await plan.losses(measuredBy: database)
        if !isDryRun, !allowsLoss, !losses.isEmpty {
            throw RecordError(
                .badRequest,
                "The import would delete data: \(losses.map(\.line).joined(separator: "; ")). Send 'allowLoss' to allow it, 'merge' to only add, or 'dryRun' to preview"
            )
        }
        let change = try await SchemaWork(database, unless: isDryRun) { database in
            if plan.isEmpty { return try await database.require(.showSchema).schema() }
            return try await database.require(.editSchema).edit(
                plan.edits, because: .schemaImport, waitingForIndexes: waits)
        }
        writer.object { writer in
            writer.member("dryRun", isDryRun)
            writer.members(of: plan.difference)
            writer.members(of: plan.respellings)
            writer.member("losses", values: losses) { $0.value($1) }
            change?.write(into: &writer)
        }
    }
}

/// `schema/deploy`: copies the additions of the development schema to the production schema. It is a service of the
/// production environment.
struct SchemaDeploy: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let isDryRun = try body.bool("dryRun") ?? false
        let waits = try body.waitsForIndexes()
        let database = try await call.database()
        try SchemaRules.checkDeploying(in: database.address)
        let development = if let given = try body.schema() { given } else { try await call.schema(of: .development) }
        let production = try await database.require(.showSchema).schema()
        let plan = SchemaDeploymentPlan(from: development, to: production)
        if !isDryRun, let refusal = plan.refusal { throw refusal }
        _ = try production.applying(plan.edits)
        let change = try await SchemaWork(database, unless: isDryRun) { database in
            if plan.isEmpty { return try await database.require(.showSchema).schema() }
            return try await database.require(.deploySchema).deploy(development, waitingForIndexes: waits)
        }
        writer.object { writer in
            writer.member("dryRun", isDryRun)
            writer.member("canRun", plan.canRun)
            if let refusal = plan.refusal { writer.member("refusal", refusal.reason) }
            writer.members(of: plan.difference)
            writer.members(of: plan.respellings)
            // Deployed apps may still need these indexes.
            writer.member("droppedIndexes", values: plan.indexLosses) { $0.value($1) }
            change?.write(into: &writer)
        }
    }
}

/// `schema/reset`: deletes all data of the development environment and replaces its schema with that of production.
struct SchemaReset: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let isDryRun = try body.bool("dryRun") ?? false
        let container = call.path.container.description
        let database = try await call.database()
        try SchemaRules.checkResetting(in: database.address)
        if !isDryRun, try body.name("confirm") != Name(container) {
            throw RecordError(
                .badRequest,
                "A reset deletes all records of all users in development; to confirm it, send the container's name, \(container), as 'confirm'"
            )
        }
        let production = if let given = try body.schema() { given } else { try await call.schema(of: .production) }
        let before = try await database.require(.showSchema).schema()
        let records = isDryRun ? try await Self.records(of: before, in: database) : []
        let change = try await SchemaWork(database, unless: isDryRun) {
            try await $0.require(.editSchema).reset(to: production)
        }
        writer.object { writer in
            writer.member("dryRun", isDryRun)
            writer.members(of: SchemaDifference(from: before, to: production))
            if isDryRun {
                writer.name("records")
                writer.object { writer in
                    for (type, count) in records { writer.member(type, Int64(count)) }
                }
            }
            change?.write(into: &writer)
        }
    }

    /// The number of records of each type, over all databases and users.
    private static func records(of schema: Schema, in database: any RecordDatabase) async throws -> [(Name, Int)] {
        guard database.can(.measureTypes) else { return [] }
        var counts: [(Name, Int)] = []
        for type in schema.sortedTypes {
            counts.append(
                (type.name, try await database.require(.measureTypes).valueCounts(of: [], in: type.name).records))
        }
        return counts
    }
}

/// A completed change: the schema after it, and the index builds in progress.
private struct SchemaWork {
    let schema: Schema
    let builds: [IndexBuildProgress]

    /// - Returns: `nil` for a dry run.
    init?(_ database: any RecordDatabase, unless isDryRun: Bool, _ change: (any RecordDatabase) async throws -> Schema)
        async throws
    {
        if isDryRun { return nil }
        schema = try await change(database)
        builds = try await database.require(.showSchema).indexBuilds()
    }

    func write(into writer: inout JSONWriter) {
        writer.members(of: schema)
        builds.write(as: "builds", into: &writer)
    }
}

extension EndpointCall {
    /// The schema of an environment of the same container; the initial schema if the environment does not exist yet.
    fileprivate func schema(of environment: Environment) async throws -> Schema {
        if environment == path.environment { return try await database().require(.showSchema).schema() }
        // A comparison must not create the environment.
        guard try await engine.has(path.container, environment) else { return .initial }
        let address = DatabaseAddress(container: path.container, environment: environment, scope: .public)
        return try await engine.database(address, as: caller).require(.showSchema).schema()
    }

    /// The schema in the body, given as a text, as an object, or by an environment's name.
    fileprivate func comparedSchema() async throws -> Schema {
        let ways: [Name] = ["text", "schema", "environment"]
        guard let way = ways.first(where: { body.value($0) != nil }), ways.filter({ body.value($0) != nil }).count == 1
        else {
            throw RecordError.unexpectedInput("Expected one of 'text', 'schema' and 'environment'")
        }
        switch way {
        case "text":
            let text = try body.schemaText()
            return try await WorkPool.prompt.run(on: text.utf8.count) { try RequestObject.schema(text: text) }
        case "environment":
            let name = try body.required("environment", "a string", body.string("environment"))
            guard let environment = Environment(rawValue: name) else {
                throw RecordError(.badRequest, "Invalid environment '\(name)', expected development or production")
            }
            return try await schema(of: environment)
        default: return try body.required("schema", "an object", body.schema())
        }
    }
}

extension RequestObject {
    /// True if the answer must wait until new indexes are complete.
    fileprivate func waitsForIndexes() throws -> Bool { try bool("wait") ?? true }

    fileprivate func schemaText() throws -> String {
        let text = try required("text", "a schema in CloudKit's schema language, as a string", string("text"))
        try SchemaText.checkSize(of: text)
        return text
    }

    /// The size of the schema text in bytes, or 0 if it is not a string. Such a body is refused when the text is read.
    fileprivate var textSize: Int { (try? string("text"))??.utf8.count ?? 0 }

    /// - Throws: `RecordError` BAD_REQUEST with the line and column of the error.
    fileprivate static func schema(text: String) throws -> Schema {
        do {
            return try Schema(text: text)
        } catch let error as SchemaTextError {
            throw error.error
        }
    }

    fileprivate func schema() throws -> Schema? {
        try value("schema").map { try Schema($0) }
    }
}

extension JSONWriter {
    fileprivate mutating func members(of difference: SchemaDifference) {
        name("changes")
        value(difference)
    }

    fileprivate mutating func members(of respellings: [SchemaRespelling]) {
        member("respellings", values: respellings) { $0.value($1.line) }
    }

    fileprivate mutating func value(_ error: SchemaTextError) {
        object { writer in
            writer.member("line", Int64(error.line))
            writer.member("column", Int64(error.column))
            writer.member("reason", error.reason)
            writer.member("expected", error.expected)
            writer.member("found", error.found)
            if let hint = error.hint { writer.member("hint", hint) }
            writer.member("excerpt", error.excerpt)
        }
    }

    fileprivate mutating func value(_ note: SchemaTextNote) {
        object { writer in
            writer.member("line", Int64(note.line))
            writer.member("column", Int64(note.column))
            writer.member("text", note.text)
        }
    }
}
