internal import RecordStore
package import Records

/// A field in the query editor.
package struct QueryField: Sendable {
    package let key: FieldKey
    /// The name in requests.
    package let name: Name
    package let definition: FieldDefinition

    package var isSystem: Bool { if case .system = key { true } else { false } }
    /// True for record names and user names, which are references in the schema but read as strings.
    package var isName: Bool { isSystem && definition.type.valueType == .reference }
    package var readsAsText: Bool { definition.type.valueType == .string || isName }

    package var allowedIndexes: Indexes {
        if case .system(let field) = key { field.allowedIndexes } else { definition.type.allowedIndexes }
    }

    package init(_ key: FieldKey, of type: RecordType, definition: FieldDefinition) {
        self.key = key
        self.definition = definition
        if case .system(let field) = key, type.key(named: field.alias) == key {
            name = field.alias
        } else {
            name = key.schemaName
        }
    }

    /// All fields of a type: its own in table order, then the system fields.
    package static func all(of type: RecordType) -> [QueryField] {
        let own = type.fields.map { QueryField(.custom($0.key), of: type, definition: $0.value) }.sorted(
            by: precedesInTables)
        let system: [SystemField] = [.recordID, .createTime, .createdBy, .modTime, .modifiedBy, .parent, .etag]
        return own
            + system.compactMap { field in
                type.definition(of: .system(field)).map { QueryField(.system(field), of: type, definition: $0) }
            }
    }

    /// The most informative fields come first: texts, links, times, locations. Numbers align right, lists and bytes
    /// come last.
    package static func precedesInTables(_ left: QueryField, _ right: QueryField) -> Bool {
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

    // MARK: Operations

    /// The comparators that fit the field's type, in plain words. They do not depend on indexes.
    package var comparators: [(comparator: Comparator, words: String)] {
        let type = definition.type
        if type.isList {
            var words: [(Comparator, String)] = [
                (.listContains, "contains"), (.notListContains, "does not contain"),
                (.listContainsAny, "contains any of"),
                (.listContainsAll, "contains all of"), (.notListContainsAny, "contains none of"),
                (.notListContainsAll, "lacks some of"),
            ]
            if type.valueType == .string {
                words += [
                    (.listMemberBeginsWith, "has one that begins with"),
                    (.notListMemberBeginsWith, "has none that begins with"),
                ]
            }
            return words
        }
        if readsAsText {
            let search: [(Comparator, String)] = [
                (.containsAllTokens, "contains all words"), (.containsAnyTokens, "contains any word of"),
            ]
            return Self.equality + [(.beginsWith, "begins with"), (.notBeginsWith, "does not begin with")]
                + (isSystem ? [] : search)
                + Self.membership
                + [
                    (.lessThan, "comes before"), (.lessThanOrEquals, "is or comes before"),
                    (.greaterThan, "comes after"),
                    (.greaterThanOrEquals, "is or comes after"),
                ]
        }
        switch type.valueType {
        case .timestamp:
            return [
                (.greaterThan, "is after"), (.lessThan, "is before"), (.greaterThanOrEquals, "is at or after"),
                (.lessThanOrEquals, "is at or before"),
            ] + Self.equality + Self.membership
        case .int64, .double:
            return Self.equality + [
                (.greaterThan, "is more than"), (.lessThan, "is less than"), (.greaterThanOrEquals, "is at least"),
                (.lessThanOrEquals, "is at most"),
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

    package func allows(_ comparator: Comparator) -> Bool {
        IndexRules.allows(comparator, on: definition)
    }

    /// True if an index allows some filter on the field.
    package var canFilter: Bool { comparators.contains { allows($0.comparator) } }

    /// True if an index allows a sort by the field. Locations sort by their distance from a point.
    package var canSort: Bool { !definition.indexes.isDisjoint(with: sortIndex) }

    package var sortIndex: Indexes { definition.type == .location ? .queryable : .sortable }

    /// True if the field could have an index for sorts.
    package var couldSort: Bool { !allowedIndexes.isDisjoint(with: sortIndex) }

    /// The default comparator: the first that an index allows.
    package var usualComparator: Comparator? {
        (comparators.first { allows($0.comparator) } ?? comparators.first)?.comparator
    }

    /// An example value of a comparison.
    package func placeholder(for comparator: Comparator) -> String {
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
    /// True if a query without filters can run, which requires QUERYABLE on recordName.
    package var isListable: Bool { systemIndexes[.recordID]?.contains(.queryable) ?? false }

    /// The field with the given request name; `nil` if the type has none.
    package func queryField(named name: Name) -> QueryField? {
        let key = key(named: name)
        return definition(of: key).map { QueryField(key, of: self, definition: $0) }
    }
}
