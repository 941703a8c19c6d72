public import JSON
public import Records

/// A query that was checked against a schema: every field exists, every value has the field's type, every index rule holds.
///
/// All engines answer queries through this type, so that they agree on what matches and in which order.
public struct ResolvedQuery: Sendable {
    public struct Filter: Sendable, Hashable {
        public enum Operand: Sendable, Hashable {
            case value(FieldValue)
            case anyOf([FieldValue])
            case tokens([String])
            /// Within so many metres of a place.
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
        /// Order by the distance from here.
        public let relativeLocation: Location?
    }

    /// Filters in a query, and sorts likewise.
    public static let clauseLimit = 50
    /// Values, or words, that one filter may list.
    public static let valueLimit = 250

    public let recordType: Name
    public let filters: [Filter]
    public let sorts: [Sort]

    /// Checks a query.
    /// - Throws: the first failure as `RecordError`, in the order type, filters, sorts.
    /// - Parameter builds: the indexes that are declared but not complete yet.
    public init(_ query: Query, in schema: Schema, building builds: [IndexBuildProgress] = []) throws {
        if query.filters.count > Self.clauseLimit || query.sorts.count > Self.clauseLimit {
            throw RecordError(.badRequest, "Too many filters or sorts: a query takes up to \(Self.clauseLimit) of each")
        }
        if let problem = IndexRules.problems(of: query, in: schema, building: builds).first { throw problem.error }
        guard let type = schema.types[query.recordType] else { throw QueryProblem.unknownType(query.recordType).error }
        recordType = type.name
        filters = try query.filters.map { try Self.resolve($0, in: type) }
        sorts = query.sorts.map {
            Sort(key: type.key(named: $0.fieldName), ascending: $0.ascending, relativeLocation: $0.relativeLocation)
        }
    }

    private init(recordType: Name, filters: [Filter], sorts: [Sort]) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }

    /// The query with one more condition, which no index rule was asked about.
    func adding(_ filter: Filter) -> ResolvedQuery {
        ResolvedQuery(recordType: recordType, filters: filters + [filter], sorts: sorts)
    }

    /// The fields whose values decide whether a record matches and where it stands.
    public var comparedFields: Set<Name> {
        let keys = filters.map(\.key) + sorts.map(\.key)
        return Set(keys.compactMap { if case .custom(let name) = $0 { name } else { nil } })
    }

    static func resolve(_ filter: Query.Filter, in type: RecordType) throws -> Filter {
        let key = type.key(named: filter.fieldName)
        guard let definition = type.definition(of: key) else { throw QueryProblem.unknownField(filter.fieldName).error }
        return Filter(key: key, comparator: filter.comparator, operand: try OperandReader(filter, key, definition.type).operand())
    }
}

/// Reads a filter's value as the field's type and the comparator ask.
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

    /// Whether the comparator can be asked of a field of this type at all.
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
            if type.valueType == .location || type.valueType == .reference && !isName { throw unfit("needs a field with an order") }
        default: break
        }
    }

    /// Record names and user names are references by type and strings by nature.
    private var isName: Bool {
        if case .system = key { type.valueType == .reference } else { false }
    }

    private func limited<Value>(_ values: [Value]) throws -> [Value] {
        if values.count > ResolvedQuery.valueLimit {
            throw unfit("lists \(values.count) values; a filter takes up to \(ResolvedQuery.valueLimit)")
        }
        return values
    }

    private func list() throws -> [FieldValue] {
        let elements: [FieldValue]
        switch filter.value {
        case .tagged(.list(let values, _), _, _): elements = values
        case .untagged(.list(let values, _), _) where filter.comparator.comparesList: elements = values
        case .untagged(.list, _):
            // The live service refuses IN without a list tag, and so would hide a client's mistake if this did not.
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

    /// A value of a list that had no tag is still open to the field's type.
    private func guessed(_ input: FieldInput) -> FieldValue? {
        guard case .untagged = filter.value, case .tagged(let value, _, _) = input else { return nil }
        return FieldInput.untagged(value, isEncrypted: false).value(declared: FieldType(type.valueType))
    }

    private var mismatch: RecordError {
        switch filter.value {
        case .cleared:
            RecordError.unexpectedInput("The filter on '\(filter.fieldName)' has no value")
        case .tagged(let value, _, _), .untagged(let value, _):
            RecordError(
                .badRequest,
                "Field '\(key.errorName)' has a value type of \(type.wireName) and cannot be queried using filter value type \(value.typeName)")
        }
    }

    private func unfit(_ rule: String) -> RecordError {
        RecordError(.badRequest, "Comparator \(filter.comparator.rawValue) on field '\(key.errorName)' of type \(type.wireName) \(rule)")
    }
}
