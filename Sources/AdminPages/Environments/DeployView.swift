package import Console
internal import RecordStore
internal import Records

/// The page Deploy: the differences between the schemas of development and production, and the button that deploys
/// them.
package struct DeployView: Page {
    package static let template = "deploy"
    package static let tab = Tab.deploy

    /// A composite index, and the environments that have it.
    struct CompositeRow: ViewModel {
        let typeName: String
        let index: String
        let isInDevelopment: Bool
        let isInProduction: Bool
    }

    package let title = Self.tab.title
    let container: String
    /// True if the schemas changed between the preview and the confirmation.
    let isStale: Bool
    /// `nil` if the schemas are equal.
    let changes: SchemaChangeList?
    let composites: [CompositeRow]
    /// True if production has everything in the development schema.
    let isCurrent: Bool
    /// Changes that a production schema does not allow, one per line; empty if the plan can run.
    let obstacles: [String]
    let refusal: PageError?
    /// The question before the deployment; `nil` if nothing can be deployed.
    let confirm: String?
    /// Indexes that production is building.
    let works: IndexWorkPanel?
}

extension DeployView {
    /// Leads to the page, from the address of an earlier one.
    package static func lead(_ visit: Visit) -> Answer { .redirect(visit.place.link(Tab.deploy.rawValue)) }

    package static func load(_ visit: Visit) async throws -> DeployView {
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

    private static func load(_ visit: Visit, isStale: Bool) async throws -> DeployView {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let plan = SchemaDeploymentPlan(from: development, to: production)
        let difference = SchemaDifference(from: production, to: development)
        let obstacles = plan.obstacles
        return DeployView(
            container: visit.place.address.container.description, isStale: isStale,
            changes: difference.isEmpty && plan.respellings.isEmpty
                ? nil
                : SchemaChangeList(
                    difference, plan.respellings, of: development, before: "production", after: "development"
                ) { change in
                    if obstacles.contains(change) { return "A deployment can't delete this from production." }
                    if case .removeRole = change { return "A deployment leaves this role in production." }
                    let dropped = change.droppedIndexes
                    return dropped.isEmpty
                        ? nil
                        : "Queries in production that need \(dropped.names.joined(separator: " or ")) will be refused."
                },
            composites: composites(development, production), isCurrent: plan.isEmpty,
            obstacles: obstacles.compactMap(Self.line),
            refusal: plan.refusal.map { PageError($0) },
            confirm: canRun(plan, visit) ? visit.place.link("deploy/confirm") : nil,
            works: try await visit.indexWorks(in: .production).panel)
    }

    private static func composites(_ development: Schema, _ production: Schema) -> [CompositeRow] {
        Set(development.types.keys).union(production.types.keys).sorted().flatMap { name in
            let here = development.types[name]?.compositeIndexes ?? []
            let there = production.types[name]?.compositeIndexes ?? []
            return here.symmetricDifference(there).map { index in
                CompositeRow(
                    typeName: name.string, index: index.words, isInDevelopment: here.contains(index),
                    isInProduction: there.contains(index))
            }.sorted { Name($0.index) < Name($1.index) }
        }
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
