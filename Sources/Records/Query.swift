public import JSON

/// A query for records of one type: filters that must all match, and sorts.
public struct Query: Sendable, Hashable {
    /// A condition on one field.
    public struct Filter: Sendable, Hashable {
        /// How the field is compared. It also decides which index the field needs.
        public var comparator: Comparator
        /// The field name in the request: a custom field or either name of a system field.
        public var fieldName: Name
        /// The value to compare with; for comparators that ``Comparator/takesList``, a list of values.
        public var value: FieldInput
        /// Distance in metres, for NEAR only.
        public var distance: Double?

        /// A condition, read from left to right. It is checked against the schema when the query runs.
        public init(_ fieldName: Name, _ comparator: Comparator, _ value: FieldInput, distance: Double? = nil) {
            self.comparator = comparator
            self.fieldName = fieldName
            self.value = value
            self.distance = distance
        }
    }

    /// An order by one field. Records that tie are in the order of the next sort, and at last of their names.
    public struct Sort: Sendable, Hashable {
        /// A custom field or either name of a system field. It needs the index SORTABLE; for a sort by distance, QUERYABLE.
        public var fieldName: Name
        /// False for the greatest first; without a value, records come last then.
        public var ascending: Bool
        /// Sorts a location field by the distance from here instead of by value.
        public var relativeLocation: Location?

        /// An order by a field, the smallest first unless it says otherwise.
        public init(_ fieldName: Name, ascending: Bool = true, relativeLocation: Location? = nil) {
            self.fieldName = fieldName
            self.ascending = ascending
            self.relativeLocation = relativeLocation
        }
    }

    /// The one type that the query finds.
    public var recordType: Name
    /// Conditions that all must hold; without one, every record of the type is found.
    public var filters: [Filter]
    /// The order, the first sort first; without one, by record name.
    public var sorts: [Sort]

    /// A query, by default for all records of a type.
    public init(recordType: Name, filters: [Filter] = [], sorts: [Sort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}
