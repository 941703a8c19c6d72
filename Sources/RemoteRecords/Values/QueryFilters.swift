public import Records

// Filters with Swift's values: text, numbers, dates, bytes, locations, references, and lists of these.

extension Query.Filter {
    /// Creates a filter with a value. Its parameters read from left to right: `.init("amount", .greaterThan, 3)`.
    /// - Parameters:
    ///   - fieldName: a custom field or either name of a system field.
    ///   - comparator: the kind of comparison.
    ///   - value: the value to compare with; for comparators that `takesList`, an array. A file that was never uploaded
    ///     is no value: the server refuses the query.
    ///   - distance: the distance in metres, for `near` only.
    public init(_ fieldName: Name, _ comparator: Comparator, _ value: some RecordValue, distance: Double? = nil) {
        let input = value.fieldContent.value.map { FieldInput($0) }
        self.init(fieldName, comparator, input ?? .cleared, distance: distance)
    }
}

// Names are compared as always where a Boolean is expected, as these operators are disfavored.

extension Name {
    /// A filter for records whose field equals a value: `"title" == "Milk"`.
    @_disfavoredOverload public static func == (fieldName: Name, value: some RecordValue) -> Query.Filter {
        Query.Filter(fieldName, .equals, value)
    }

    /// A filter for records whose field differs from a value, or has none.
    @_disfavoredOverload public static func != (fieldName: Name, value: some RecordValue) -> Query.Filter {
        Query.Filter(fieldName, .notEquals, value)
    }

    /// A filter for records whose field comes before a value.
    @_disfavoredOverload public static func < (fieldName: Name, value: some RecordValue) -> Query.Filter {
        Query.Filter(fieldName, .lessThan, value)
    }

    /// A filter for records whose field comes before a value, or is equal.
    @_disfavoredOverload public static func <= (fieldName: Name, value: some RecordValue) -> Query.Filter {
        Query.Filter(fieldName, .lessThanOrEquals, value)
    }

    /// A filter for records whose field comes after a value: `"created" > date`.
    @_disfavoredOverload public static func > (fieldName: Name, value: some RecordValue) -> Query.Filter {
        Query.Filter(fieldName, .greaterThan, value)
    }

    /// A filter for records whose field comes after a value, or is equal.
    @_disfavoredOverload public static func >= (fieldName: Name, value: some RecordValue) -> Query.Filter {
        Query.Filter(fieldName, .greaterThanOrEquals, value)
    }
}
