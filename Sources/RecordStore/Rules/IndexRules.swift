internal import JSON
public import Records

/// Which indexes a query needs (protocol.md, "Index rules that Skylight enforces").
public enum IndexRules {
    /// Everything that keeps a query from running, in the order in which CloudKit finds it: type, filters, sorts.
    /// The web services answer with the first; the console shows all.
    /// - Parameter builds: the indexes that are declared but not complete yet; a query that needs one can't run either.
    public static func problems(of query: Query, in schema: Schema, building builds: [IndexBuildProgress] = []) -> [QueryProblem] {
        if query.recordType == Schema.usersType { return [.systemType] }
        guard let type = schema.types[query.recordType] else { return [.unknownType(query.recordType)] }
        if !type.hasAnyIndex { return [.noIndex(type.name)] }
        var problems: [QueryProblem] = []
        if query.filters.isEmpty {
            problems += missing(.queryable, of: .system(.recordID), in: type, as: "queryable")
        }
        for filter in query.filters {
            problems += self.problems(of: filter, in: type)
        }
        for sort in query.sorts {
            problems += self.problems(of: sort, in: type)
        }
        return problems.reduce(into: []) { unique, problem in
            if !unique.contains(problem) { unique.append(problem) }
        }
    }

    /// Whether a comparator may be used on a field as its indexes are.
    public static func allows(_ comparator: Comparator, on definition: FieldDefinition) -> Bool {
        !definition.indexes.isDisjoint(with: comparator.requiredIndexes)
    }

    private static func problems(of filter: Query.Filter, in type: RecordType) -> [QueryProblem] {
        let key = type.key(named: filter.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(filter.fieldName)] }
        let invalid: [QueryProblem]
        do {
            _ = try ResolvedQuery.resolve(filter, in: type)
            invalid = []
        } catch let error as RecordError {
            invalid = [.invalid(error)]
        } catch {
            invalid = [.invalid(RecordError(.badRequest, "\(error)"))]
        }
        if allows(filter.comparator, on: definition) { return invalid }
        // No index can help a comparator that does not fit the field.
        if !filter.comparator.requiredIndexes.isDisjoint(with: allowed(on: key, definition)) || invalid.isEmpty {
            let isSearch = filter.comparator.requiredIndexes == .searchable
            return missing(filter.comparator.requiredIndexes, of: key, in: type, as: isSearch ? "searchable" : "queryable")
        }
        return invalid
    }

    private static func problems(of sort: Query.Sort, in type: RecordType) -> [QueryProblem] {
        let key = type.key(named: sort.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(sort.fieldName)] }
        guard sort.relativeLocation != nil else { return missing(.sortable, of: key, in: type, as: "sortable") }
        if definition.type != .location {
            return [.invalid(RecordError(.badRequest, "Field '\(key.errorName)' is no LOCATION and can't be sorted by relativeLocation"))]
        }
        return missing(.queryable, of: key, in: type, as: "queryable")
    }

    private static func missing(_ indexes: Indexes, of key: FieldKey, in type: RecordType, as word: String) -> [QueryProblem] {
        guard let definition = type.definition(of: key), definition.indexes.isDisjoint(with: indexes) else { return [] }
        return [.missingIndex(key, indexes.intersection(allowed(on: key, definition)), word: word)]
    }

    private static func allowed(on key: FieldKey, _ definition: FieldDefinition) -> Indexes {
        if case .system(let field) = key { field.allowedIndexes } else { definition.type.allowedIndexes }
    }
}
