internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page Deploy: the differences between the schemas of development and production, and the button that deploys them.
struct DeployView: Page {
    static let template = "deploy"
    static let tab = Tab.deploy

    /// A composite index, and the environments that have it.
    struct CompositeRow: ViewModel {
        let typeName: String
        let index: String
        let isInDevelopment: Bool
        let isInProduction: Bool
    }

    let title = Self.tab.title
    let container: String
    let notice: String?
    /// True if the schemas changed between the preview and the confirmation.
    let isStale: Bool
    /// `nil` if the schemas are equal.
    let changes: SchemaChangeList?
    let composites: [CompositeRow]
    /// True if production has everything in the development schema.
    let isCurrent: Bool
    /// Changes that a production schema does not allow, one per line; empty if the plan can run.
    let obstacles: [String]
    let refusal: Complaint?
    /// A warning about indexes that production loses.
    let drops: String?
    let canRun: Bool
    /// The new types and fields; `nil` if nothing can be deployed, or nothing is new.
    let permanent: PermanentAdditions?
    let fingerprint: String
    let action: String
    /// Indexes that production is building.
    let works: IndexWorkPanel?
    let milliseconds: String
}

extension DeployView {
    static func load(_ visit: Visit) async throws -> DeployView {
        try await load(visit, isStale: false)
    }

    /// Applies the plan on the page. If the schemas have changed since, shows the new plan.
    static func deploy(_ visit: Visit) async throws -> Answer {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let shown = Name(visit.fields["fingerprint"] ?? "")
        guard Name(SchemaFingerprint.text(from: development, to: production)) == shown else { return .page(try await load(visit, isStale: true)) }
        if let refusal = SchemaDeploymentPlan(from: development, to: production).refusal { throw refusal }
        let editing = try await visit.database(in: .production)
        _ = try await visit.measure { try await editing.deploy(development, waitingForIndexes: false) }
        return .redirect(visit.place.link("deploy", [Notice.deployed.parameter]))
    }

    private static func load(_ visit: Visit, isStale: Bool) async throws -> DeployView {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let plan = SchemaDeploymentPlan(from: development, to: production)
        let difference = SchemaDifference(from: production, to: development)
        let drops = plan.indexLosses.reduce(0) { $0 + $1.droppedIndexes.names.count }
        let obstacles = plan.obstacles
        let canRun = plan.canRun && !plan.isEmpty && visit.database.can(.deploySchema)
        return DeployView(
            container: visit.place.address.container.description, notice: Notice.text(visit.fields["notice"]), isStale: isStale,
            changes: difference.isEmpty && plan.respellings.isEmpty
                ? nil
                : SchemaChangeList(difference, plan.respellings, of: development, before: "production", after: "development") { change in
                    if obstacles.contains(change) { return "A deployment can't delete this from production." }
                    if case .removeRole = change { return "A deployment leaves this role in production." }
                    let dropped = change.droppedIndexes
                    return dropped.isEmpty ? nil : "Queries in production that need \(dropped.names.joined(separator: " or ")) will be refused."
                },
            composites: composites(development, production), isCurrent: plan.isEmpty, obstacles: obstacles.compactMap(Self.line),
            refusal: plan.refusal.map { Complaint($0) }, drops: drops == 0 ? nil : Digits.count(drops, "index", plural: "indexes"),
            canRun: canRun, permanent: canRun ? try await PermanentAdditions(plan.difference, visit) : nil, fingerprint: SchemaFingerprint.text(from: development, to: production),
            action: visit.place.link("deploy"), works: try await visit.indexWorks(in: .production).panel,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func composites(_ development: Schema, _ production: Schema) -> [CompositeRow] {
        Set(development.types.keys).union(production.types.keys).sorted().flatMap { name in
            let here = development.types[name]?.compositeIndexes ?? []
            let there = production.types[name]?.compositeIndexes ?? []
            return here.symmetricDifference(there).map { index in
                CompositeRow(
                    typeName: name.string, index: index.words, isInDevelopment: here.contains(index), isInProduction: there.contains(index))
            }.sorted { Name($0.index) < Name($1.index) }
        }
    }

    /// Advice for a change that production does not allow.
    private static func line(_ change: SchemaDifference.Change) -> String? {
        switch change {
        case .removeType(let type): "Development no longer has the type \(type.name). Create it there again: production can't delete it."
        case .removeField(let key, let definition, let type):
            "Development no longer has \(type).\(key.schemaName) \(definition.type.schemaName). Add it there again: production can't delete it."
        case .changeField(let key, let old, let new, let type):
            "\(type).\(key.schemaName) is \(old.type.schemaName) in production and \(new.type.schemaName) in development. Give the new field another name."
        default: nil
        }
    }
}
