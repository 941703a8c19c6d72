public import JSON
public import Records

/// A problem that keeps a query from running.
public enum QueryProblem: Sendable, Hashable {
    case systemType
    case unknownType(Name)
    /// The type has no index at all.
    case noIndex(Name)
    case unknownField(Name)
    /// The field lacks an index. Any of the given indexes is sufficient; empty if the field can't have an index.
    case missingIndex(FieldKey, Indexes, word: String)
    /// The index of the field is incomplete. Progress is from 0 to 99.
    case indexBeingBuilt(FieldKey, Indexes, percent: Int)
    /// The filter or sort is invalid for the field, whatever its indexes.
    case invalid(RecordError)

    /// The error reported by the web services.
    public var error: RecordError {
        switch self {
        case .systemType: RecordError(known: .systemTypeQueried)
        case .unknownType(let name): RecordError(known: .unknownType, name)
        case .noIndex(let name): RecordError(known: .typeNotIndexable, name)
        case .unknownField(let name): RecordError(known: .unknownField, name)
        case .missingIndex(let key, _, let word): RecordError(known: .notMarked, key.errorName, word)
        case .indexBeingBuilt(let key, let indexes, let percent):
            RecordError(
                .tryAgainLater,
                "The index \(indexes.names.joined(separator: ", ")) of field '\(key.errorName)' is being built (\(percent) %); try again later",
                retryAfter: 1)
        case .invalid(let error): error
        }
    }

    /// A filter on a field whose values only clients can read: iCloud's words.
    static func encrypted(_ key: FieldKey, _ type: FieldType, _ comparator: Comparator) -> QueryProblem {
        .invalid(RecordError(known: .encryptedFilter, key.errorName, FieldType(type.valueType, isList: type.isList).wireName, comparator.rawValue))
    }
}
