public import JSON

/// A question for records of one type: filters that must all hold, and an order.
public struct Query: Sendable, Hashable {
    public struct Filter: Sendable, Hashable {
        public var comparator: Comparator
        /// The field as the request names it: an own field, or either name of a system field.
        public var fieldName: Name
        public var value: FieldInput
        /// Metres; for NEAR only.
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
        /// Orders by the distance from here instead of by the value; for location fields.
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
