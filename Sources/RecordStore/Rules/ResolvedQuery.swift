public import JSON
public import Records

/// A query validated against a schema: all fields exist, all values have the right type and all required indexes
/// exist.
///
/// All engines answer queries through this type, so that they agree on matches and order.
public struct ResolvedQuery: Sendable {
    public struct Filter: Sendable, Hashable {
        public enum Operand: Sendable, Hashable {
            case value(FieldValue)
            case anyOf([FieldValue])
            case tokens([String])
            /// Within a distance in metres of a place.
            case near(Location, metres: Double)
        }

        public let key: FieldKey
        public let comparator: Comparator
        public let operand: Operand

        public init(key: FieldKey, comparator: Comparator, operand: Operand) {
            self.key = key
            self.comparator = comparator
            self.operand = operand
        }
    }

    public struct Sort: Sendable, Hashable {
        public let key: FieldKey
        public let ascending: Bool
        /// Sorts by the distance from here.
        public let relativeLocation: Location?
    }

    /// Maximum number of filters and of sorts in a query.
    public static let clauseLimit = 50
    /// Maximum number of values or words in one filter.
    public static let valueLimit = 250

    public let recordType: Name
    public let filters: [Filter]
    public let sorts: [Sort]
    /// The custom fields that filters and sorts compare.
    public let comparedFields: Set<Name>

    /// Validates a query.
    /// - Parameter builds: declared indexes that are incomplete.
    /// - Throws: the first problem as `RecordError`, in the order type, filters, sorts.
    public init(_ query: Query, in schema: Schema, building builds: [IndexBuildProgress] = []) throws {
        if query.filters.count > Self.clauseLimit || query.sorts.count > Self.clauseLimit {
            throw RecordError(.badRequest, "Too many filters or sorts: a query may have up to \(Self.clauseLimit) of each")
        }
        let (problems, filters) = IndexRules.examine(query, in: schema, building: builds)
        if let problem = problems.first { throw problem.error }
        guard let type = schema.types[query.recordType] else { throw QueryProblem.unknownType(query.recordType).error }
        recordType = type.name
        self.filters = filters
        sorts = query.sorts.compactMap { sort in
            let key = type.key(named: sort.fieldName)
            // A store orders encrypted values by nothing that a client knows.
            if type.definition(of: key)?.type.isEncrypted ?? false { return nil }
            return Sort(key: key, ascending: sort.ascending, relativeLocation: sort.relativeLocation)
        }
        comparedFields = Self.comparedFields(filters, sorts)
    }

    /// The query of a subscription, whose order is of no matter. Filters need the same indexes as in a query; without filters none is needed.
    /// - Throws: the first problem as `RecordError`.
    init(subscribing query: Query, in schema: Schema) throws {
        var query = query
        query.sorts = []
        guard query.filters.isEmpty else {
            try self.init(query, in: schema)
            return
        }
        if query.recordType == Schema.usersType { throw QueryProblem.systemType.error }
        if schema.types[query.recordType] == nil { throw QueryProblem.unknownType(query.recordType).error }
        self.init(recordType: query.recordType, filters: [], sorts: [])
    }

    private init(recordType: Name, filters: [Filter], sorts: [Sort]) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
        comparedFields = Self.comparedFields(filters, sorts)
    }

    /// The query with an additional filter, for which no index is required.
    func adding(_ filter: Filter) -> ResolvedQuery {
        ResolvedQuery(recordType: recordType, filters: filters + [filter], sorts: sorts)
    }

    private static func comparedFields(_ filters: [Filter], _ sorts: [Sort]) -> Set<Name> {
        let keys = filters.map(\.key) + sorts.map(\.key)
        return Set(keys.compactMap { if case .custom(let name) = $0 { name } else { nil } })
    }

    static func resolve(_ filter: Query.Filter, in type: RecordType) throws -> Filter {
        let key = type.key(named: filter.fieldName)
        guard let definition = type.definition(of: key) else { throw QueryProblem.unknownField(filter.fieldName).error }
        return Filter(key: key, comparator: filter.comparator, operand: try OperandReader(filter, key, definition.type).operand())
    }
}

/// Converts a filter's value to the type required by the field and comparator.
private struct OperandReader {
    let filter: Query.Filter
    let key: FieldKey
    let type: FieldType

    init(_ filter: Query.Filter, _ key: FieldKey, _ type: FieldType) {
        self.filter = filter
        self.key = key
        self.type = type
    }

    func operand() throws -> ResolvedQuery.Filter.Operand {
        try checkFit()
        switch filter.comparator {
        case .near:
            guard case .location(let location)? = filter.value.value(declared: .location) else { throw mismatch }
            if let distance = filter.distance, !(distance >= 0) { throw unfit("needs a 'distance' of at least 0 metres") }
            return .near(location, metres: filter.distance ?? .infinity)
        case .containsAllTokens, .containsAnyTokens:
            guard case .string(let text)? = filter.value.value(declared: .string) else { throw mismatch }
            return .tokens(try limited(Tokenizer.tokens(of: text)))
        default:
            if filter.comparator.takesList { return .anyOf(try limited(list())) }
            return .value(try scalar(filter.value))
        }
    }

    /// Checks that the comparator can be used with fields of this type.
    private func checkFit() throws {
        let comparator = filter.comparator.denied ?? filter.comparator
        if comparator.comparesList != type.isList {
            throw unfit(type.isList ? "can't compare a list; use a LIST_ comparator" : "needs a list field")
        }
        switch comparator {
        case .near where type.valueType != .location: throw unfit("needs a LOCATION field")
        case .containsAllTokens where type.valueType != .string, .containsAnyTokens where type.valueType != .string,
            .listMemberBeginsWith where type.valueType != .string:
            throw unfit("needs a STRING field")
        case .beginsWith where type.valueType != .string && !isName: throw unfit("needs a STRING field")
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            if type.valueType == .location || type.valueType == .reference && !isName { throw unfit("needs a field that can be ordered") }
        default: break
        }
    }

    /// Record and user names have type reference but behave like strings.
    private var isName: Bool {
        if case .system = key { type.valueType == .reference } else { false }
    }

    private func limited<Value>(_ values: [Value]) throws -> [Value] {
        if values.count > ResolvedQuery.valueLimit {
            throw unfit("lists \(values.count) values; a filter may have up to \(ResolvedQuery.valueLimit)")
        }
        return values
    }

    private func list() throws -> [FieldValue] {
        let elements: [FieldValue]
        switch filter.value {
        case .tagged(.list(let values, _), _, _): elements = values
        case .untagged(.list(let values, _), _) where filter.comparator.comparesList: elements = values
        case .untagged(.list, _):
            // CloudKit refuses IN without a list tag. Accepting it would hide a mistake of the client.
            throw RecordError.unexpectedInput(
                "The fieldValue of \(filter.comparator.rawValue) on '\(filter.fieldName)' needs a type, such as \(type.valueType.rawValue)_LIST")
        case .cleared: throw mismatch
        default: throw unfit("needs a list of values, with a type such as \(type.valueType.rawValue)_LIST")
        }
        return try elements.map { try scalar(FieldInput($0)) }
    }

    private func scalar(_ input: FieldInput) throws -> FieldValue {
        if isName, case .string(let name)? = input.value(declared: .string) { return .reference(Reference(recordName: Name(name))) }
        guard let value = input.value(declared: FieldType(type.valueType)) ?? guessed(input) else { throw mismatch }
        return value
    }

    /// A value of an untagged list takes the field's type.
    private func guessed(_ input: FieldInput) -> FieldValue? {
        guard case .untagged = filter.value, case .tagged(let value, _, _) = input else { return nil }
        return FieldInput.untagged(value, isEncrypted: false).value(declared: FieldType(type.valueType))
    }

    private var mismatch: RecordError {
        switch filter.value {
        case .cleared:
            RecordError.unexpectedInput("The filter on '\(filter.fieldName)' has no value")
        case .tagged(let value, _, _), .untagged(let value, _):
            RecordError(known: .wrongFilterType, key.errorName, type.wireName, value.typeName)
        }
    }

    private func unfit(_ rule: String) -> RecordError {
        RecordError(.badRequest, "Comparator \(filter.comparator.rawValue) on field '\(key.errorName)' of type \(type.wireName) \(rule)")
    }
}
