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
        /// The location from which distances are measured, for a sort by distance; `nil` for other sorts.
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
            throw RecordError(
                .badRequest, "Too many filters or sorts: a query may have up to \(Self.clauseLimit) of each")
        }
        let (problems, filters) = IndexRules.examine(query, in: schema, building: builds)
        if let problem = problems.first { throw problem.error }
        guard let type = schema.types[query.recordType] else { throw QueryProblem.unknownType(query.recordType).error }
        recordType = type.name
        self.filters = filters
        sorts = query.sorts.compactMap { sort in
            let key = type.key(named: sort.fieldName)
            // The order of encrypted values in a store has no meaning for clients.
            if type.definition(of: key)?.type.isEncrypted ?? false { return nil }
            return Sort(key: key, ascending: sort.ascending, relativeLocation: sort.relativeLocation)
        }
        comparedFields = Self.comparedFields(filters, sorts)
    }

    /// The query of a subscription, whose sorts are ignored. Filters need the same indexes as in a query; without
    /// filters none is needed.
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
        return Filter(
            key: key, comparator: filter.comparator, operand: try OperandReader(filter, key, definition.type).operand())
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
            if let distance = filter.distance, !(distance >= 0) {
                throw unfit("needs a 'distance' of at least 0 metres")
            }
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
        let comparator = filter.comparator.negated ?? filter.comparator
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
            if type.valueType == .location || type.valueType == .reference && !isName {
                throw unfit("needs a field that can be ordered")
            }
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
                "The fieldValue of \(filter.comparator.rawValue) on '\(filter.fieldName)' needs a type, such as \(type.valueType.rawValue)_LIST"
            )
        case .cleared: throw mismatch
        default: throw unfit("needs a list of values, with a type such as \(type.valueType.rawValue)_LIST")
        }
        return try elements.map { try scalar(FieldInput($0)) }
    }

    private func scalar(_ input: FieldInput) throws -> FieldValue {
        if isName, case .string(let name)? = input.value(declared: .string) {
            return .reference(Reference(recordName: Name(name)))
        }
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
        RecordError(
            .badRequest,
            "Comparator \(filter.comparator.rawValue) on field '\(key.errorName)' of type \(type.wireName) \(rule)")
    }
}

// MARK: - Matches

extension ResolvedQuery {
    /// True if the record satisfies all filters.
    public func matches(_ record: QueriedRecord) -> Bool {
        filters.allSatisfy { $0.matches(record.value(of: $0.key)) }
    }
}

extension ResolvedQuery.Filter {
    /// True if the value satisfies the filter.
    ///
    /// A missing value satisfies no positive comparator and every negated one: NOT_X is exactly 'not X'.
    public func matches(_ value: FieldValue?) -> Bool {
        if let negated = comparator.negated { return !affirms(negated, value) }
        return affirms(comparator, value)
    }

    private func affirms(_ comparator: Comparator, _ value: FieldValue?) -> Bool {
        guard let value else { return false }
        return switch operand {
        case .value(let operand): affirms(comparator, value, operand)
        case .anyOf(let candidates):
            switch comparator {
            case .listContainsAll:
                candidates.allSatisfy { candidate in value.elements.contains { ValueOrder.equal($0, candidate) } }
            default: candidates.contains { candidate in value.elements.contains { ValueOrder.equal($0, candidate) } }
            }
        case .tokens(let tokens):
            if case .string(let text) = value { contains(tokens, in: text) } else { false }
        case .near(let location, let metres):
            if case .location(let place) = value { location.distance(to: place) <= metres } else { false }
        }
    }

    private func affirms(_ comparator: Comparator, _ value: FieldValue, _ operand: FieldValue) -> Bool {
        switch comparator {
        case .equals: ValueOrder.equal(value, operand)
        case .lessThan: ValueOrder.compare(value, operand) < 0
        case .lessThanOrEquals: ValueOrder.compare(value, operand) <= 0
        case .greaterThan: ValueOrder.compare(value, operand) > 0
        case .greaterThanOrEquals: ValueOrder.compare(value, operand) >= 0
        case .listContains: value.elements.contains { ValueOrder.equal($0, operand) }
        case .beginsWith, .listMemberBeginsWith:
            value.elements.contains { $0.name.hasPrefix(operand.name) }
        default: false
        }
    }

    private func contains(_ tokens: [String], in text: String) -> Bool {
        if tokens.isEmpty { return false }
        let words = Set(Tokenizer.tokens(of: text).map { Name($0) })
        return comparator == .containsAllTokens
            ? tokens.allSatisfy { words.contains(Name($0)) } : tokens.contains { words.contains(Name($0)) }
    }
}

extension FieldValue {
    /// The text used to compare prefixes.
    fileprivate var name: Name {
        switch self {
        case .string(let string): Name(string)
        case .reference(let reference): reference.recordName
        default: ""
        }
    }
}

/// A record with the decoded values that a query compares.
public struct QueriedRecord: Sendable {
    public let record: StoredRecord
    /// An array of pairs, because searching a few pairs is faster than creating a dictionary.
    private let values: [(Name, FieldValue)]

    /// Decodes only the fields that the query compares.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public init(_ record: StoredRecord, for query: ResolvedQuery) throws {
        try self.init(record, comparing: query.comparedFields)
    }

    /// Decodes some custom fields, for several queries.
    /// - Throws: the errors of ``init(_:for:)``.
    init(_ record: StoredRecord, comparing names: Set<Name>) throws {
        self.record = record
        values = names.isEmpty ? [] : try record.fields.pairs(of: names)
    }

    /// The value of a custom or system field.
    public func value(of key: FieldKey) -> FieldValue? {
        switch key {
        case .custom(let name): values.first { $0.0 == name }?.1
        case .system(let field): record.value(of: field)
        }
    }
}

extension StoredRecord {
    /// The value of a system field; `nil` if the record has none.
    public func value(of field: SystemField) -> FieldValue? {
        switch field {
        case .recordID: .reference(Reference(recordName: recordID.recordName))
        case .createTime: .timestamp(created.timestamp)
        case .modTime: .timestamp(modified.timestamp)
        case .createdBy: .reference(Reference(recordName: created.userRecordName))
        case .modifiedBy: .reference(Reference(recordName: modified.userRecordName))
        case .etag: .string(recordChangeTag)
        case .parent: parent.map { .reference(Reference(recordName: $0)) }
        case .share: nil
        }
    }
}

// MARK: - Order

/// A record's place in the total order of a query: its sort values, then its name, then its zone.
///
/// Names are ascending, whatever the direction of the sorts.
public struct QueryPosition: Sendable, Hashable {
    /// One value per sort. For a sort by distance, the distance in metres.
    public let values: [FieldValue?]
    public let recordName: Name
    public let zoneID: ZoneID

    public init(values: [FieldValue?], recordName: Name, zoneID: ZoneID) {
        self.values = values
        self.recordName = recordName
        self.zoneID = zoneID
    }
}

extension ResolvedQuery {
    public func place(of record: QueriedRecord) -> QueryPosition {
        QueryPosition(
            values: sorts.map { $0.value(of: record) }, recordName: record.record.recordID.recordName,
            zoneID: record.record.recordID.zoneID)
    }

    /// True if `left` sorts before `right`.
    public func precedes(_ left: QueryPosition, _ right: QueryPosition) -> Bool {
        // By index: a loop over pairs would copy each sort, which takes longer than the comparison.
        for index in 0..<min(sorts.count, min(left.values.count, right.values.count)) {
            let order = sorts[index].order(of: left.values[index], right.values[index])
            if order != 0 { return order < 0 }
        }
        if left.recordName != right.recordName { return left.recordName < right.recordName }
        if left.zoneID.zoneName != right.zoneID.zoneName { return left.zoneID.zoneName < right.zoneID.zoneName }
        return (left.zoneID.ownerRecordName ?? "") < (right.zoneID.ownerRecordName ?? "")
    }
}

extension ResolvedQuery.Sort {
    /// The order of two values that it compares.
    /// - Returns: a negative number if the first one comes first, 0 if they are equal.
    public func order(of one: FieldValue?, _ other: FieldValue?) -> Int {
        // A record without a location is farther away than all others.
        let order = relativeLocation == nil ? ValueOrder.compare(one, other) : Self.compareDistances(one, other)
        return ascending ? order : -order
    }

    private static func compareDistances(_ left: FieldValue?, _ right: FieldValue?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): 1
        case (_, nil): -1
        default: ValueOrder.compare(left, right)
        }
    }

    /// The value to sort by; `nil` if the record has none.
    func value(of record: QueriedRecord) -> FieldValue? {
        guard let relativeLocation else { return record.value(of: key) }
        guard case .location(let place)? = record.value(of: key) else { return nil }
        return .double(relativeLocation.distance(to: place))
    }
}
