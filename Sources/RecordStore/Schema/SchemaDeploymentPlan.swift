internal import JSON
public import Records

/// The changes that deploying a development schema makes to production.
///
/// Types and fields of production are only added. Roles and grants are added or changed, and roles missing in
/// development stay. Indexes are added and dropped. Each environment has its own composite indexes.
public struct SchemaDeploymentPlan: Sendable, Hashable {
    /// The changes from the present to the future production schema; with ``obstacles``, to the development schema.
    public let difference: SchemaDifference

    public init(from development: Schema, to production: Schema) {
        difference = SchemaDifference(
            SchemaDifference(from: production, to: development).changes.filter { change in
                if case .removeRole = change { false } else { true }
            })
        respellings = SchemaRespelling.all(from: production, to: development)
    }

    /// Number fields that get development's spelling, so that both environments export the same.
    public let respellings: [SchemaRespelling]

    /// Types and fields that development lacks or has with another type.
    public var obstacles: [SchemaDifference.Change] { difference.losses }

    /// Fields whose indexes would be dropped. Clients in use may need them.
    public var indexLosses: [SchemaDifference.Change] { difference.changes.filter { !$0.droppedIndexes.isEmpty } }

    public var canRun: Bool { obstacles.isEmpty }

    public var isEmpty: Bool { difference.isEmpty && respellings.isEmpty }

    /// One line per change.
    public var lines: [String] { difference.lines + respellings.map(\.line) }

    /// The edits to deploy; empty if there are ``obstacles``.
    public var edits: [SchemaEdit] { canRun ? difference.edits + respellings.map(\.edit) : [] }

    /// The error if nothing can be deployed: BAD_REQUEST with the obstacles.
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
            "The schema can't be deployed, because production never loses or changes types and fields: \(reasons.joined(separator: "; ")). Correct development first")
    }
}
