/// What a schema says of one field.
public struct FieldDefinition: Sendable, Hashable {
    public var type: FieldType
    public var indexes: Indexes
    /// Indexes that CloudKit has on such a field and no query here could use. They cost nothing, and are kept so that a schema leaves as it came.
    public var idleIndexes: Indexes

    public init(type: FieldType, indexes: Indexes = [], idleIndexes: Indexes = []) {
        self.type = type
        self.indexes = indexes
        self.idleIndexes = idleIndexes
    }
}
