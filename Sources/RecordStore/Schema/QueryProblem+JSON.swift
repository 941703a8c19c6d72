public import JSON
internal import Records

extension JSONWriter {
    /// Writes a query problem: its kind, its subject and the error that `records/query` returns (docs/services.md).
    public mutating func value(_ problem: QueryProblem) {
        object { writer in
            switch problem {
            case .systemType: writer.member("problem", "SYSTEM_TYPE")
            case .unknownType(let name):
                writer.member("problem", "UNKNOWN_TYPE")
                writer.member("recordType", name)
            case .noIndex(let name):
                writer.member("problem", "NO_INDEX")
                writer.member("recordType", name)
            case .unknownField(let name):
                writer.member("problem", "UNKNOWN_FIELD")
                writer.member("field", name)
            case .missingIndex(let key, let indexes, let word):
                writer.member("problem", "MISSING_INDEX")
                writer.member("field", key.schemaName)
                writer.name("indexes")
                writer.value(indexes)
                writer.member("word", word)
            case .indexBeingBuilt(let key, let indexes, let percent):
                writer.member("problem", "INDEX_BEING_BUILT")
                writer.member("field", key.schemaName)
                writer.name("indexes")
                writer.value(indexes)
                writer.member("percent", Int64(percent))
            case .invalid: writer.member("problem", "INVALID")
            }
            let error = problem.error
            writer.member("serverErrorCode", error.code.rawValue)
            writer.member("reason", error.reason)
            if let seconds = error.retryAfter { writer.member("retryAfter", Int64(seconds)) }
        }
    }
}
