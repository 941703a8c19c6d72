internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page Deploy: the schema changes from development to production, and the button that applies them.
struct DeployView: Page {
    static let template = "deploy"
    static let tab = Tab.deploy

    let title = "Deploy"
    let container: String
    let notice: String?
    /// True if the schemas changed between the preview and the confirmation.
    let isStale: Bool
    /// `nil` if production is up to date.
    let changes: SchemaChangeList?
    /// Changes that a production schema does not allow, one per line; empty if the plan can run.
    let obstacles: [String]
    let refusal: Complaint?
    /// A warning about indexes that production loses.
    let drops: String?
    let canRun: Bool
    let fingerprint: String
    let action: String
    let compare: String
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
        let drops = plan.indexLosses.reduce(0) { $0 + $1.droppedIndexes.names.count }
        let obstacles = plan.obstacles
        return DeployView(
            container: visit.place.address.container.description, notice: Notice.text(visit.fields["notice"]), isStale: isStale,
            changes: plan.isEmpty
                ? nil
                : SchemaChangeList(plan.difference, plan.respellings, of: development, before: "production now", after: "after deployment") { change in
                    if obstacles.contains(change) { return "A deployment can't delete this from production." }
                    let dropped = change.droppedIndexes
                    return dropped.isEmpty ? nil : "Queries in production that need \(dropped.names.joined(separator: " or ")) will be refused."
                },
            obstacles: obstacles.compactMap(Self.line),
            refusal: plan.refusal.map { Complaint($0) }, drops: drops == 0 ? nil : Digits.count(drops, "index", plural: "indexes"),
            canRun: plan.canRun && !plan.isEmpty, fingerprint: SchemaFingerprint.text(from: development, to: production),
            action: visit.place.link("deploy"), compare: visit.place.link("compare"), works: try await visit.indexWorks(in: .production).panel,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// Advice for a change that production does not allow.
    private static func line(_ change: SchemaDifference.Change) -> String? {
        switch change {
        case .removeType(let type): "Development no longer has the type \(type.name). Create it there again: production can't delete it."
        case .removeField(let key, let definition, let type):
            "Development no longer has \(type).\(key.schemaName) \(definition.type.schemaName). Add it there again: production can't remove it."
        case .changeField(let key, let old, let new, let type):
            "\(type).\(key.schemaName) is \(old.type.schemaName) in production and \(new.type.schemaName) in development. Give the new field another name."
        default: nil
        }
    }
}
