/// What a schema says of one field.
public struct FieldDefinition: Sendable, Hashable {
    public var type: FieldType
    public var indexes: Indexes

    public init(type: FieldType, indexes: Indexes = []) {
        self.type = type
        self.indexes = indexes
    }
}
