package import Console
internal import RecordStore
internal import Records

/// The page Deploy: the differences between the schemas of development and production, and the button that deploys
/// them.
package enum DeployView {
    /// Leads to the page, from the address of an earlier one.
    package static func lead(_ visit: Visit) -> Answer { .redirect(visit.place.link(Tab.deploy.rawValue)) }

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        try await load(visit, isStale: false)
    }

    /// The question before the deployment, which names what becomes permanent. Without a plan, the page says why.
    package static func confirm(_ visit: Visit) async throws -> Answer {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let plan = SchemaDeploymentPlan(from: development, to: production)
        guard canRun(plan, visit) else { return .redirect(visit.place.link("deploy")) }
        let permanent = try await PermanentAdditions(plan.difference, visit)
        func indexes(_ count: Int) -> String? { count == 0 ? nil : Digits.count(count, "index", plural: "indexes") }
        let gained = plan.difference.changes.reduce(0) { $0 + $1.gainedIndexes }
        let lost = plan.indexLosses.reduce(0) { $0 + $1.droppedIndexes.names.count }
        return .page(
            ConfirmationView(
                on: .deploy, title: "Deploy to production?",
                lines: [
                    indexes(gained).map { "Production gets \($0). Saves continue while it builds them." },
                    indexes(lost).map { "Production loses \($0). Queries that need one are refused." },
                    permanent.map {
                        "\($0.count) \($0.becomes) permanent. Production can never delete or rename a type or field. Check the spelling of each:"
                    },
                ].compactMap { $0 },
                items: permanent?.additions ?? [], action: visit.place.link("deploy"),
                fields: [
                    Frame.Hidden(
                        name: "fingerprint", value: SchemaFingerprint.text(from: development, to: production))
                ], button: "Deploy to production", cancel: visit.place.link("deploy")))
    }

    private static func canRun(_ plan: SchemaDeploymentPlan, _ visit: Visit) -> Bool {
        plan.canRun && !plan.isEmpty && visit.database.can(.deploySchema)
    }

    /// Applies the plan on the page. If the schemas have changed since, shows the new plan.
    package static func deploy(_ visit: Visit) async throws -> Answer {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let shown = Name(visit.fields["fingerprint"] ?? "")
        guard Name(SchemaFingerprint.text(from: development, to: production)) == shown else {
            return .page(try await load(visit, isStale: true))
        }
        if let refusal = SchemaDeploymentPlan(from: development, to: production).refusal { throw refusal }
        let editing = try await visit.database(in: .production)
        _ = try await visit.measure {
            try await editing.require(.deploySchema).deploy(development, waitingForIndexes: false)
        }
        return .redirect(visit.place.link("deploy", [Notice.deployed.parameter]))
    }

    private static func load(_ visit: Visit, isStale: Bool) async throws -> ComponentPage {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let plan = SchemaDeploymentPlan(from: development, to: production)
        let changes = changes(from: production, to: development, plan)
        var parts: [any Component] = []
        if isStale {
            parts.append(
                Note(
                    stale: "Nothing was deployed: a schema changed after the plan was shown.", "This is the new plan."))
        }
        if let works = try await visit.indexWorks(in: .production).panel {
            parts.append(
                Note(
                    works, "Production is building its new indexes.",
                    "Saves continue. A query that needs one is refused until it is complete."))
        }
        if let refusal = plan.refusal {
            parts.append(
                Note(
                    bad: "This can't be deployed.", "\(refusal.reason) \(.faint(Inline(refusal.code.rawValue)))",
                    [Listing(plan.obstacles.compactMap(line).map { Inline($0) })]))
        }
        if plan.isEmpty {
            parts.append(
                Note(
                    good: "There is nothing to deploy.",
                    changes == nil
                        ? "Development and production have the same schema."
                        : "Production has everything in the development schema, and more."))
        }
        if let changes { parts.append(changes) }
        if let composites = composites(development, production) { parts.append(composites) }
        let container = visit.place.address.container.description
        let differences: Inline? = changes.map {
            "Development and production of \(strong: container) have \(strong: $0.count). "
        }
        return ComponentPage(
            .deploy,
            PageHead(
                Tab.deploy.title,
                [
                    "\(differences ?? "")A deployment adds the types, fields, roles and grants that only development has. It adds and deletes indexes. It deletes no data. All changes are made together, or none."
                ],
                actions: canRun(plan, visit)
                    ? [.go("Deploy to production…", visit.place.link("deploy/confirm"))] : []), parts)
    }

    /// - Returns: `nil` if the schemas are equal.
    private static func changes(
        from production: Schema, to development: Schema, _ plan: SchemaDeploymentPlan
    ) -> SchemaChangeList? {
        let difference = SchemaDifference(from: production, to: development)
        let obstacles = plan.obstacles
        if difference.isEmpty, plan.respellings.isEmpty { return nil }
        return SchemaChangeList(
            difference, plan.respellings, of: development, before: "production", after: "development"
        ) { change in
            if obstacles.contains(change) { return "A deployment can't delete this from production." }
            if case .removeRole = change { return "A deployment leaves this role in production." }
            let dropped = change.droppedIndexes
            return dropped.isEmpty
                ? nil : "Queries in production that need \(dropped.names.joined(separator: " or ")) will be refused."
        }
    }

    /// The composite indexes that one environment has; `nil` if both have the same.
    private static func composites(_ development: Schema, _ production: Schema) -> Section? {
        let names = Set(development.types.keys).union(production.types.keys).sorted()
        let rows: [Table.Row] = names.flatMap { name in
            let here = development.types[name]?.compositeIndexes ?? []
            let there = production.types[name]?.compositeIndexes ?? []
            func has(_ isThere: Bool) -> Inline { isThere ? "yes" : .faint("no") }
            return here.symmetricDifference(there).sorted { Name($0.words) < Name($1.words) }.map { index in
                Table.Row([
                    Inline(name.string), Inline(index.words), has(there.contains(index)), has(here.contains(index)),
                ])
            }
        }
        if rows.isEmpty { return nil }
        return Section(
            "composites", "Composite indexes",
            [
                Paragraph.faint(
                    "Composite indexes belong to Skylight. They are not exported and not deployed; each environment has its own."
                ),
                Table(
                    "Composite indexes that one environment has", style: .narrow,
                    ["type", "index", "production", "development"], rows),
            ])
    }

    /// Advice for a change that production does not allow.
    private static func line(_ change: SchemaDifference.Change) -> String? {
        switch change {
        case .removeType(let type):
            "Development no longer has the type \(type.name). Create it there again: production can't delete it."
        case .removeField(let key, let definition, let type):
            "Development no longer has \(type).\(key.schemaName) \(definition.type.schemaName). Add it there again: production can't delete it."
        case .changeField(let key, let old, let new, let type):
            "\(type).\(key.schemaName) is \(old.type.schemaName) in production and \(new.type.schemaName) in development. Give the new field another name."
        default: nil
        }
    }
}

// MARK: - Permanent additions

/// The types and fields that a deployment makes permanent, with the time and the cause of each in development. A
/// misspelt one shows itself here.
struct PermanentAdditions {
    /// `1 record type and 2 fields`
    let count: String
    let becomes: String
    /// The newest first, because a mistake is rarely old.
    let additions: [ConfirmationView.Item]

    /// The maximum number of additions that are named.
    private static let limit = 100
    /// The number of schema changes that are searched for the causes.
    private static let searched = 200

    /// - Returns: `nil` if the deployment adds neither types nor fields.
    init?(_ difference: SchemaDifference, _ visit: Visit) async throws {
        let added = difference.changes.filter(\.isAddition)
        guard !added.isEmpty else { return nil }
        let development = try await visit.database(in: .development)
        let history = try await visit.measure {
            try await development.require(.showSchema).schemaHistory(before: nil, limit: Self.searched)
        }
        let now = Timestamp.now()
        let dated = added.map { change in (change: change, entry: history.first { $0.added(change) }) }
            .sorted { ($0.entry?.number ?? .min) > ($1.entry?.number ?? .min) }
        let more = added.count - Self.limit
        additions =
            dated.prefix(Self.limit).map { ConfirmationView.Item($0.change, $0.entry, at: now) }
            + (more > 0 ? [ConfirmationView.Item(name: "", text: "and \(Digits.grouped(more)) more")] : [])
        let types = added.count { $0.field == nil }
        let counts = [(types, "record type"), (added.count - types, "field")].filter { $0.0 > 0 }
        count = counts.map { Digits.count($0.0, $0.1) }.joined(separator: " and ")
        becomes = added.count == 1 ? "becomes" : "become"
    }
}

extension ConfirmationView.Item {
    /// Such as `Message`, `type with 2 fields, created by a request 6 minutes ago`. The history may not tell its cause.
    fileprivate init(_ change: SchemaDifference.Change, _ entry: SchemaHistoryEntry?, at now: Timestamp) {
        let type = change.recordType?.string ?? ""
        let form: String
        switch change {
        case .addType(let type):
            form = type.fields.isEmpty ? "type without fields" : "type with \(Digits.count(type.fields.count, "field"))"
        case .addField(_, let definition, _): form = definition.type.schemaName
        default: form = ""
        }
        self.init(
            name: change.field.map { "\(type).\($0.schemaName)" } ?? type,
            text: form + (entry.map { ", \($0.reason.creation) \($0.timestamp.agoText(at: now))" } ?? ""))
    }
}

extension SchemaDifference.Change {
    /// True for a new type or field.
    fileprivate var isAddition: Bool {
        switch self {
        case .addType, .addField: true
        default: false
        }
    }

    /// The number of indexes that production gets.
    fileprivate var gainedIndexes: Int {
        switch self {
        case .addType(let type):
            (type.fields.values.map(\.indexes) + type.systemIndexes.values).reduce(0) { $0 + $1.names.count }
        case .addField(_, let definition, _): definition.indexes.names.count
        case .setIndexes(_, let before, let after, _): after.subtracting(before).names.count
        default: 0
        }
    }
}

extension SchemaHistoryEntry {
    /// True if the entry added the type or field, perhaps with other indexes or fewer fields.
    fileprivate func added(_ change: SchemaDifference.Change) -> Bool {
        guard let type = change.recordType else { return false }
        let whole = "\(type): type added"
        guard let field = change.field?.schemaName else { return changes.contains { $0.hasPrefix(whole) } }
        return changes.contains { line in
            // A type is created together with its first fields.
            line.hasPrefix("\(type): field '\(field)' ") && line.hasSuffix(" added")
                || line.hasPrefix(whole) && line.contains("'\(field)' ")
        }
    }
}

extension SchemaHistoryEntry.Reason {
    /// The way in which an entry created types and fields.
    fileprivate var creation: String {
        switch self {
        case .edit: "created in the schema"
        case .schemaImport: "created by a schema file"
        case .deployment: "created by a deployment"
        case .reset: "created by a reset"
        case .save: "created by a request"
        case .data: "created by an import"
        }
    }
}

// MARK: - Environments of a visit

extension Visit {
    /// The schema of one of the container's environments. Does not create an unused environment.
    func schema(of environment: Environment) async throws -> Schema {
        if environment == place.address.environment, let schema { return schema }
        guard try await exists(environment) else { return .initial }
        let database = try await database(in: environment)
        return try await measure { try await database.require(.showSchema).schema() }
    }

    /// The same database in another environment.
    func database(in environment: Environment) async throws -> any RecordDatabase {
        var address = place.address
        address.environment = environment
        return try await measure { [address] in
            address == self.database.address
                ? self.database : try await engine.database(address, as: self.database.caller)
        }
    }

    /// The index jobs of an environment.
    func indexWorks(in environment: Environment) async throws -> IndexWorks {
        guard try await exists(environment) else { return IndexWorks(builds: []) }
        let database = try await database(in: environment)
        return IndexWorks(builds: try await measure { try await database.require(.showSchema).indexBuilds() })
    }
}
