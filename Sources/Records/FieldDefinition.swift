/// The declaration of a field in a schema.
public struct FieldDefinition: Sendable, Hashable {
    public var type: FieldType
    public var indexes: Indexes
    /// Indexes that CloudKit can have on such a field but no query here can use. They cost nothing and are kept so
    /// that an exported schema equals the imported one.
    public var idleIndexes: Indexes

    public init(type: FieldType, indexes: Indexes = [], idleIndexes: Indexes = []) {
        self.type = type
        self.indexes = indexes
        self.idleIndexes = idleIndexes
    }
}
