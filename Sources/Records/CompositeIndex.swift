/// An index that serves a filter on one field and a sort by another at the same time.
///
/// An extension of Skylight. It is never exported to a schema file, and no query requires it.
public struct CompositeIndex: Sendable, Hashable {
    /// The field compared with EQUALS.
    public var filter: FieldKey
    /// The field of the query's first sort, in either direction.
    public var sort: FieldKey

    /// An index for queries with EQUALS on one field and a sort by another.
    public init(filter: FieldKey, sort: FieldKey) {
        self.filter = filter
        self.sort = sort
    }
}
