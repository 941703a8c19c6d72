public import JSON

/// A query for records of one type: filters that must all match, and sorts.
public struct Query: Sendable, Hashable {
    public struct Filter: Sendable, Hashable {
        public var comparator: Comparator
        /// The field name in the request: a custom field or either name of a system field.
        public var fieldName: Name
        public var value: FieldInput
        /// Distance in metres, for NEAR only.
        public var distance: Double?

        public init(_ fieldName: Name, _ comparator: Comparator, _ value: FieldInput, distance: Double? = nil) {
            self.comparator = comparator
            self.fieldName = fieldName
            self.value = value
            self.distance = distance
        }
    }

    public struct Sort: Sendable, Hashable {
        public var fieldName: Name
        public var ascending: Bool
        /// Sorts a location field by the distance from here instead of by value.
        public var relativeLocation: Location?

        public init(_ fieldName: Name, ascending: Bool = true, relativeLocation: Location? = nil) {
            self.fieldName = fieldName
            self.ascending = ascending
            self.relativeLocation = relativeLocation
        }
    }

    public var recordType: Name
    public var filters: [Filter]
    public var sorts: [Sort]

    public init(recordType: Name, filters: [Filter] = [], sorts: [Sort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}
