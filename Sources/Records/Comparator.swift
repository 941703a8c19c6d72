/// How a filter compares a field with its value (Apple's reference page "Types and Dictionaries", and CloudKit JS for LIST_CONTAINS_ANY).
public enum Comparator: String, Sendable, Hashable, CaseIterable {
    /// The values are equal: strings by their bytes, references by the record they lead to, locations by latitude and longitude.
    case equals = "EQUALS"
    /// Not ``equals``. As with each negation, a field without a value matches.
    case notEquals = "NOT_EQUALS"
    /// The field comes before the value, in the order of sorts.
    case lessThan = "LESS_THAN"
    /// The field comes before the value, or is equal.
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    /// The field comes after the value.
    case greaterThan = "GREATER_THAN"
    /// The field comes after the value, or is equal.
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    /// The location is within a distance in metres; without one, anywhere.
    case near = "NEAR"
    /// All words of the value occur in the text, whatever their case and accents.
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    /// Some word of the value occurs in the text.
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    /// The field is equal to one of the values, whose list names their type.
    case `in` = "IN"
    /// Not ``in``.
    case notIn = "NOT_IN"
    /// An element of the list is equal to the value.
    case listContains = "LIST_CONTAINS"
    /// An element of the list is equal to one of the values.
    case listContainsAny = "LIST_CONTAINS_ANY"
    /// Each of the values is equal to an element of the list.
    case listContainsAll = "LIST_CONTAINS_ALL"
    /// Not ``listContains``.
    case notListContains = "NOT_LIST_CONTAINS"
    /// Not ``listContainsAny``.
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    /// Not ``listContainsAll``.
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    /// The text begins with the bytes of the value.
    case beginsWith = "BEGINS_WITH"
    /// Not ``beginsWith``.
    case notBeginsWith = "NOT_BEGINS_WITH"
    /// An element of the list begins with the bytes of the value.
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    /// Not ``listMemberBeginsWith``.
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
