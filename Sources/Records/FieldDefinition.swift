/// The declaration of a field in a schema.
public struct FieldDefinition: Sendable, Hashable {
    /// The type of all values that records may have in the field.
    public var type: FieldType
    /// The indexes that queries use.
    public var indexes: Indexes
    /// Indexes that CloudKit can have on such a field but no query here can use. They cost nothing and are kept so
    /// that an exported schema equals the imported one.
    public var idleIndexes: Indexes

    /// A field with a type; without an index no query can name it.
    public init(type: FieldType, indexes: Indexes = [], idleIndexes: Indexes = []) {
        self.type = type
        self.indexes = indexes
        self.idleIndexes = idleIndexes
    }
}
