internal import JSON
public import Records

/// Where schema may be changed, and by what names roles go.
public enum SchemaRules {
    /// - Throws: `RecordError` ACCESS_DENIED in production for all but composite indexes: its schema comes from development.
    public static func check(_ edits: [SchemaEdit], in address: DatabaseAddress) throws {
        guard address.environment == .production else { return }
        for edit in edits {
            switch edit {
            case .addCompositeIndex, .removeCompositeIndex: continue
            default: throw RecordError(.accessDenied, "The production schema can't be edited; change the development schema and deploy it")
            }
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST in development, which nothing is deployed to.
    public static func checkDeploying(in address: DatabaseAddress) throws {
        if address.environment != .production {
            throw RecordError(.badRequest, "A schema is deployed to production; the development schema can be edited")
        }
    }

    /// - Throws: `RecordError` ACCESS_DENIED in production.
    public static func checkResetting(in address: DatabaseAddress) throws {
        if address.environment == .production { throw RecordError(.accessDenied, "Production can't be reset; only development can") }
    }

    /// - Throws: `RecordError` BAD_REQUEST when a role can't have this name.
    static func checkNewRole(_ role: Name) throws {
        if Grant.systemRoles.contains(role) { throw RecordError(.badRequest, "The role '\(role)' is there from the start") }
        try NameRules.checkRoleName(role)
    }

    static func isKnown(_ role: Name, in schema: Schema) -> Bool {
        Grant.systemRoles.contains(role) || schema.roles.contains(role)
    }

    /// What production's schema becomes when a development schema is deployed.
    /// - Throws: `RecordError` BAD_REQUEST when that would remove or change a type or a field.
    public static func deploy(_ development: Schema, over production: Schema) throws -> SchemaChange {
        let plan = SchemaDeploymentPlan(from: development, to: production)
        if let refusal = plan.refusal { throw refusal }
        return try production.changed(by: plan.edits.map { edit in
            guard case .addType(var type) = edit else { return edit }
            // Composite indexes are each environment's own.
            type.compositeIndexes = []
            return .addType(type)
        })
    }

    /// What the history says first of a reset.
    public static let lineOfReset = "All records, zones and shares of all users removed"

    /// The schema of an environment that was reset to another's.
    public static func reset(to production: Schema) -> Schema {
        var schema = production
        if schema.types[Schema.usersType] == nil { schema.types.merge(Schema.initial.types) { kept, _ in kept } }
        return schema
    }
}
