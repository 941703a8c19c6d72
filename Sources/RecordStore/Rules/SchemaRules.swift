public import JSON
public import Records

/// The rules for changing, deploying and resetting schemas.
public enum SchemaRules {
    /// - Throws: `RecordError` ACCESS_DENIED in production, except for edits of composite indexes. The rest of its
    ///   schema comes from development.
    public static func check(_ edits: [SchemaEdit], in address: DatabaseAddress) throws {
        guard address.environment == .production else { return }
        for edit in edits {
            switch edit {
            case .addCompositeIndex, .removeCompositeIndex: continue
            default: throw RecordError(.accessDenied, "The production schema can't be edited; change the development schema and deploy it")
            }
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST in development, which can't be a target of a deployment.
    public static func checkDeploying(in address: DatabaseAddress) throws {
        if address.environment != .production {
            throw RecordError(.badRequest, "A schema is deployed to production; edit the development schema directly")
        }
    }

    /// - Throws: `RecordError` ACCESS_DENIED in production.
    public static func checkResetting(in address: DatabaseAddress) throws {
        if address.environment == .production { throw RecordError(.accessDenied, "Production can't be reset; only development can") }
    }

    /// The error for deleting the type of a record that holds a share, or is the root of one.
    public static func needed(_ recordID: RecordID, of type: Name, by share: Name) -> RecordError {
        let owner = recordID.zoneID.ownerRecordName.map { " of '\($0)'" } ?? ""
        return RecordError(
            .badRequest,
            "The type '\(type)' can't be deleted: the share '\(share)' needs the record '\(recordID.recordName)' in the zone "
                + "'\(recordID.zoneID.zoneName)'\(owner); delete the share first")
    }

    /// - Throws: `RecordError` BAD_REQUEST if the name is not allowed for a new role.
    static func checkNewRole(_ role: Name) throws {
        if Grant.systemRoles.contains(role) { throw RecordError(.badRequest, "The role '\(role)' is built in") }
        try NameRules.checkRoleName(role)
    }

    static func isKnown(_ role: Name, in schema: Schema) -> Bool {
        Grant.systemRoles.contains(role) || schema.roles.contains(role)
    }

    /// The production schema after deploying a development schema.
    /// - Throws: `RecordError` BAD_REQUEST if a type or field would be removed or changed.
    public static func deploy(_ development: Schema, over production: Schema) throws -> SchemaChange {
        let plan = SchemaDeploymentPlan(from: development, to: production)
        if let refusal = plan.refusal { throw refusal }
        return try production.changed(by: plan.edits.map { edit in
            guard case .addType(var type) = edit else { return edit }
            // Each environment has its own composite indexes.
            type.compositeIndexes = []
            return .addType(type)
        })
    }

    /// First line of the history entry of a reset.
    public static let lineOfReset = "All records, zones and shares of all users deleted"

    /// The schema of an environment after a reset to another one.
    public static func reset(to production: Schema) -> Schema {
        var schema = production
        if schema.types[Schema.usersType] == nil { schema.types.merge(Schema.initial.types) { kept, _ in kept } }
        return schema
    }
}
