internal import JSON
internal import RecordStore
internal import Records

/// A field as the query editor offers it.
struct QueryField: Sendable {
    let key: FieldKey
    /// The name in requests.
    let name: Name
    let definition: FieldDefinition

    var isSystem: Bool { if case .system = key { true } else { false } }
    /// Record names and user names are references by type and strings by nature.
    var isName: Bool { isSystem && definition.type.valueType == .reference }
    var readsAsText: Bool { definition.type.valueType == .string || isName }

    var allowedIndexes: Indexes {
        if case .system(let field) = key { field.allowedIndexes } else { definition.type.allowedIndexes }
    }

    init(_ key: FieldKey, of type: RecordType, definition: FieldDefinition) {
        self.key = key
        self.definition = definition
        if case .system(let field) = key, type.key(named: field.alias) == key { name = field.alias } else { name = key.schemaName }
    }

    /// All fields of a type: its own in the order of tables, then the system's.
    static func all(of type: RecordType) -> [QueryField] {
        let own = type.fields.map { QueryField(.custom($0.key), of: type, definition: $0.value) }.sorted(by: precedesInTables)
        let system: [SystemField] = [.recordID, .createTime, .createdBy, .modTime, .modifiedBy, .parent, .etag]
        return own
            + system.compactMap { field in
                type.definition(of: .system(field)).map { QueryField(.system(field), of: type, definition: $0) }
            }
    }

    /// What says most comes first: texts, links, moments, places; numbers stand at the right edge, lists and bytes last.
    static func precedesInTables(_ left: QueryField, _ right: QueryField) -> Bool {
        (left.rank, left.name) < (right.rank, right.name)
    }

    private var rank: Int {
        if definition.type.isList { return 7 }
        return switch definition.type.valueType {
        case .string: 0
        case .reference: 1
        case .timestamp: 2
        case .location: 3
        case .asset: 4
        case .int64, .double: 5
        case .bytes: 6
        }
    }

    // MARK: What can be asked

    /// The comparators that fit the field's type, in plain words. Whether an index allows them is another question.
    var comparators: [(comparator: Comparator, words: String)] {
        let type = definition.type
        if type.isList {
            var words: [(Comparator, String)] = [
                (.listContains, "contains"), (.notListContains, "does not contain"), (.listContainsAny, "contains any of"),
                (.listContainsAll, "contains all of"), (.notListContainsAny, "contains none of"), (.notListContainsAll, "lacks some of"),
            ]
            if type.valueType == .string {
                words += [(.listMemberBeginsWith, "has one that begins with"), (.notListMemberBeginsWith, "has none that begins with")]
            }
            return words
        }
        if readsAsText {
            let search: [(Comparator, String)] = [(.containsAllTokens, "contains all words"), (.containsAnyTokens, "contains any word of")]
            return Self.equality + [(.beginsWith, "begins with"), (.notBeginsWith, "does not begin with")] + (isSystem ? [] : search)
                + Self.membership
                + [
                    (.lessThan, "comes before"), (.lessThanOrEquals, "is or comes before"), (.greaterThan, "comes after"),
                    (.greaterThanOrEquals, "is or comes after"),
                ]
        }
        switch type.valueType {
        case .timestamp:
            return [
                (.greaterThan, "is after"), (.lessThan, "is before"), (.greaterThanOrEquals, "is at or after"), (.lessThanOrEquals, "is at or before"),
            ] + Self.equality + Self.membership
        case .int64, .double:
            return Self.equality + [
                (.greaterThan, "is more than"), (.lessThan, "is less than"), (.greaterThanOrEquals, "is at least"), (.lessThanOrEquals, "is at most"),
            ] + Self.membership
        case .bytes:
            return Self.equality + [(.lessThan, "comes before"), (.greaterThan, "comes after")]
        case .location:
            return [(.near, "is within"), (.equals, "is exactly"), (.notEquals, "is not exactly")]
        case .reference: return Self.equality + Self.membership
        case .asset: return []
        case .string: return Self.equality
        }
    }

    private static let equality: [(Comparator, String)] = [(.equals, "is"), (.notEquals, "is not")]
    private static let membership: [(Comparator, String)] = [(.in, "is one of"), (.notIn, "is none of")]

    func allows(_ comparator: Comparator) -> Bool {
        IndexRules.allows(comparator, on: definition)
    }

    /// Whether any filter on the field could run.
    var canFilter: Bool { comparators.contains { allows($0.comparator) } }

    /// Whether the field can be sorted by; a location is sorted by its distance from somewhere.
    var canSort: Bool { !definition.indexes.isDisjoint(with: sortIndex) }

    var sortIndex: Indexes { definition.type == .location ? .queryable : .sortable }

    /// Whether an index could make it sortable.
    var couldSort: Bool { !allowedIndexes.isDisjoint(with: sortIndex) }

    /// The comparator to begin with: the first that an index allows.
    var usualComparator: Comparator? {
        (comparators.first { allows($0.comparator) } ?? comparators.first)?.comparator
    }

    /// What the value of a comparison looks like.
    func placeholder(for comparator: Comparator) -> String {
        guard comparator.takesList else { return placeholder }
        return definition.type.valueType == .location ? "\(placeholder); 48.1, -120" : "one, two, three"
    }

    private var placeholder: String {
        if readsAsText { return isName ? "name" : "text" }
        return switch definition.type.valueType {
        case .int64: "42"
        case .double: "3.14"
        case .timestamp: "2026-11-01 00:00"
        case .location: "47.45, -122.31"
        case .reference: "record name"
        case .bytes: "base64"
        case .string, .asset: "text"
        }
    }
}

extension RecordType {
    /// Whether a query without filters runs, which needs QUERYABLE on recordName.
    var isListable: Bool { systemIndexes[.recordID]?.contains(.queryable) ?? false }

    /// A field of a request's name, `nil` when the type has none.
    func queryField(named name: Name) -> QueryField? {
        let key = key(named: name)
        return definition(of: key).map { QueryField(key, of: self, definition: $0) }
    }
}
