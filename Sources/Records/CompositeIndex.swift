/// An index that answers a filter on one field and an order by another in one go.
///
/// CloudKit has none: it is Skylight's own, is never exported to a schema file, and no query needs one.
public struct CompositeIndex: Sendable, Hashable {
    /// The field that a query compares with EQUALS.
    public var filter: FieldKey
    /// The field that the query's first sort orders by, in either direction.
    public var sort: FieldKey

    public init(filter: FieldKey, sort: FieldKey) {
        self.filter = filter
        self.sort = sort
    }
}
