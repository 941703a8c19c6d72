internal import JSON
public import Records

/// What deploying a development schema changes in production.
///
/// Production's types and fields only grow. Roles and grants are added or changed, and roles that development lacks stay; indexes are added
/// and dropped. Composite indexes are each environment's own.
public struct SchemaDeploymentPlan: Sendable, Hashable {
    /// From production as it is to production as it would be, or with ``obstacles``, as development is.
    public let difference: SchemaDifference

    public init(from development: Schema, to production: Schema) {
        difference = SchemaDifference(
            SchemaDifference(from: production, to: development).changes.filter { change in
                if case .removeRole = change { false } else { true }
            })
        respellings = SchemaRespelling.all(from: production, to: development)
    }

    /// Fields whose number gets development's spelling, so that both environments export it the same.
    public let respellings: [SchemaRespelling]

    /// Types and fields that production has and development lacks, or has as another type.
    public var obstacles: [SchemaDifference.Change] { difference.losses }

    /// Fields whose indexes would be dropped: queries of clients that are out there may need them.
    public var indexLosses: [SchemaDifference.Change] { difference.changes.filter { !$0.droppedIndexes.isEmpty } }

    public var canRun: Bool { obstacles.isEmpty }

    public var isEmpty: Bool { difference.isEmpty && respellings.isEmpty }

    /// A line for each change.
    public var lines: [String] { difference.lines + respellings.map(\.line) }

    /// What brings production to what development has; only without ``obstacles``.
    public var edits: [SchemaEdit] { canRun ? difference.edits + respellings.map(\.edit) : [] }

    /// Why nothing can be deployed: BAD_REQUEST that names what is in the way.
    public var refusal: RecordError? {
        guard !canRun else { return nil }
        let reasons = obstacles.map { change in
            switch change {
            case .removeType(let type): "type '\(type.name)' is not in development"
            case .removeField(let key, let definition, let type):
                "field '\(key.schemaName)' \(definition.type.schemaName) of type '\(type)' is not in development"
            case .changeField(let key, let before, let after, let type):
                "field '\(key.schemaName)' of type '\(type)' is \(before.type.schemaName), and \(after.type.schemaName) in development"
            case .addRole, .removeRole, .addType, .addField, .setIndexes, .setGrants: change.line
            }
        }
        return RecordError(
            .badRequest,
            "The schema can't be deployed: what production has stays, and \(reasons.joined(separator: "; ")). Bring it back to development first")
    }
}
