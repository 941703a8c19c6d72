public import Records

/// Where schema may be changed.
public enum SchemaRules {
    /// - Throws: `RecordError` ACCESS_DENIED in production, whose schema comes from development only.
    public static func checkEditing(in address: DatabaseAddress) throws {
        if address.environment == .production {
            throw RecordError(.accessDenied, "The production schema can't be edited; change the development schema and deploy it")
        }
    }
}
