public import JSON
public import Records

/// One thing that keeps a query from running.
public enum QueryProblem: Sendable, Hashable {
    case systemType
    case unknownType(Name)
    /// The type has no index at all.
    case noIndex(Name)
    case unknownField(Name)
    /// The field lacks an index: any one of these would do. Empty when no index may be put on the field.
    case missingIndex(FieldKey, Indexes, word: String)
    /// The field has the index, but its entries are not all there yet. With how far it is, 0 to 100.
    case indexBeingBuilt(FieldKey, Indexes, percent: Int)
    /// The filter or sort makes no sense on the field, whatever its indexes.
    case invalid(RecordError)

    /// What the web services answer.
    public var error: RecordError {
        switch self {
        case .systemType: RecordError(.badRequest, "Can't query system types")
        case .unknownType(let name): RecordError(.notFound, "Did not find record type: \(name)")
        case .noIndex(let name): RecordError(.badRequest, "Type is not marked indexable: \(name)")
        case .unknownField(let name): RecordError(.badRequest, "Unknown field '\(name)'")
        case .missingIndex(let key, _, let word): RecordError(.badRequest, "Field '\(key.errorName)' is not marked \(word)")
        case .indexBeingBuilt(let key, let indexes, let percent):
            RecordError(
                .tryAgainLater,
                "The index \(indexes.names.joined(separator: ", ")) of field '\(key.errorName)' is being built (\(percent) %); try again soon",
                retryAfter: 1)
        case .invalid(let error): error
        }
    }
}
