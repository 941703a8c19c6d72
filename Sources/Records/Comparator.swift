/// How a filter compares a field with its value (Apple's reference page "Types and Dictionaries", and CloudKit JS for LIST_CONTAINS_ANY).
public enum Comparator: String, Sendable, Hashable, CaseIterable {
    case equals = "EQUALS"
    case notEquals = "NOT_EQUALS"
    case lessThan = "LESS_THAN"
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    case greaterThan = "GREATER_THAN"
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    case near = "NEAR"
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    case `in` = "IN"
    case notIn = "NOT_IN"
    case listContains = "LIST_CONTAINS"
    case listContainsAny = "LIST_CONTAINS_ANY"
    case listContainsAll = "LIST_CONTAINS_ALL"
    case notListContains = "NOT_LIST_CONTAINS"
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    case beginsWith = "BEGINS_WITH"
    case notBeginsWith = "NOT_BEGINS_WITH"
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

    /// The comparator that this one negates; `nil` for positive ones.
    public var denied: Comparator? {
        switch self {
        case .notEquals: .equals
        case .notIn: .in
        case .notListContains: .listContains
        case .notListContainsAny: .listContainsAny
        case .notListContainsAll: .listContainsAll
        case .notBeginsWith: .beginsWith
        case .notListMemberBeginsWith: .listMemberBeginsWith
        default: nil
        }
    }

    /// True if the filter's value is a list of candidates.
    public var takesList: Bool {
        switch self {
        case .in, .notIn, .listContainsAny, .listContainsAll, .notListContainsAny, .notListContainsAll: true
        default: false
        }
    }

    /// True if the comparator examines the elements of a list field.
    public var comparesList: Bool {
        switch denied ?? self {
        case .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith: true
        default: false
        }
    }

    /// The possible indexes for the comparator. Any one of them is sufficient.
    public var requiredIndexes: Indexes {
        switch denied ?? self {
        case .containsAllTokens, .containsAnyTokens: .searchable
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .beginsWith: [.queryable, .sortable]
        default: .queryable
        }
    }
}
