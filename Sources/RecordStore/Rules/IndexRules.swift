public import Records

/// The indexes that a query requires (docs/queries.md).
public enum IndexRules {
    /// All problems that keep a query from running, in CloudKit's order: type, filters, sorts. The web services
    /// report the first, the console all.
    /// - Parameter builds: declared indexes that are incomplete. A query that needs one can't run.
    public static func problems(of query: Query, in schema: Schema, building builds: [IndexBuildProgress] = [])
        -> [QueryProblem]
    {
        examine(query, in: schema, building: builds).problems
    }

    /// Problems of the filters and sorts of a query, even if the type has no index at all.
    static func problems(of query: Query, in type: RecordType, building builds: [IndexBuildProgress]) -> [QueryProblem]
    {
        examine(query, in: type, building: builds).problems
    }

    /// The problems of a query, and its valid filters, each resolved once.
    static func examine(
        _ query: Query, in schema: Schema, building builds: [IndexBuildProgress]
    ) -> (problems: [QueryProblem], filters: [ResolvedQuery.Filter]) {
        if query.recordType == Schema.usersType { return ([.systemType], []) }
        guard let type = schema.types[query.recordType] else { return ([.unknownType(query.recordType)], []) }
        if !type.hasAnyIndex { return ([.noIndex(type.name)], []) }
        return examine(query, in: type, building: builds)
    }

    private static func examine(
        _ query: Query, in type: RecordType, building builds: [IndexBuildProgress]
    ) -> (problems: [QueryProblem], filters: [ResolvedQuery.Filter]) {
        let builds = IndexBuilds(builds, of: type)
        var problems: [QueryProblem] = []
        var filters: [ResolvedQuery.Filter] = []
        if query.filters.isEmpty {
            problems += missing(.queryable, of: .system(.recordID), in: type, as: "queryable")
        }
        for filter in query.filters {
            let resolved = Result { try ResolvedQuery.resolve(filter, in: type) }
            problems += self.problems(of: filter, resolved, in: type, builds)
            if case .success(let resolved) = resolved { filters.append(resolved) }
        }
        for sort in query.sorts {
            problems += self.problems(of: sort, in: type, builds)
        }
        let unique = problems.reduce(into: [QueryProblem]()) { unique, problem in
            if !unique.contains(problem) { unique.append(problem) }
        }
        return (unique, filters)
    }

    /// True if the field's indexes allow the comparator.
    public static func allows(_ comparator: Comparator, on definition: FieldDefinition) -> Bool {
        !definition.indexes.isDisjoint(with: comparator.requiredIndexes)
    }

    private static func problems(
        of filter: Query.Filter, _ resolved: Result<ResolvedQuery.Filter, any Error>, in type: RecordType,
        _ builds: IndexBuilds
    ) -> [QueryProblem] {
        let key = type.key(named: filter.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(filter.fieldName)] }
        if definition.type.isEncrypted { return [.encrypted(key, definition.type, filter.comparator)] }
        let invalid: [QueryProblem] =
            switch resolved {
            case .success: []
            case .failure(let error as RecordError): [.invalid(error)]
            case .failure(let error): [.invalid(RecordError(.badRequest, "\(error)"))]
            }
        if allows(filter.comparator, on: definition) {
            return invalid.isEmpty
                ? builds.problems(of: key, definition, needing: filter.comparator.requiredIndexes) : invalid
        }
        // If the comparator does not fit the field, no index can help.
        if !filter.comparator.requiredIndexes.isDisjoint(with: definition.allowedIndexes(of: key)) || invalid.isEmpty {
            let isSearch = filter.comparator.requiredIndexes == .searchable
            return missing(
                filter.comparator.requiredIndexes, of: key, in: type, as: isSearch ? "searchable" : "queryable")
        }
        return invalid
    }

    private static func problems(of sort: Query.Sort, in type: RecordType, _ builds: IndexBuilds) -> [QueryProblem] {
        let key = type.key(named: sort.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(sort.fieldName)] }
        guard sort.relativeLocation != nil else {
            // iCloud accepts a sort by an encrypted field and does not order by it.
            if definition.type.isEncrypted { return [] }
            return missing(.sortable, of: key, in: type, as: "sortable")
                + builds.problems(of: key, definition, needing: .sortable)
        }
        if definition.type != .location {
            return [
                .invalid(
                    RecordError(
                        .badRequest,
                        "Field '\(key.errorName)' is not a LOCATION and can't be sorted by relativeLocation"))
            ]
        }
        return missing(.queryable, of: key, in: type, as: "queryable")
            + builds.problems(of: key, definition, needing: .queryable)
    }

    private static func missing(_ indexes: Indexes, of key: FieldKey, in type: RecordType, as word: String)
        -> [QueryProblem]
    {
        guard let definition = type.definition(of: key), definition.indexes.isDisjoint(with: indexes) else { return [] }
        return [.missingIndex(key, indexes.intersection(definition.allowedIndexes(of: key)), word: word)]
    }
}

/// Incomplete indexes of one type.
private struct IndexBuilds {
    private var building: [FieldKey: [(indexes: Indexes, percent: Int)]] = [:]

    init(_ builds: [IndexBuildProgress], of type: RecordType) {
        for build in builds where build.work == .building && build.recordType == type.name {
            if case .field(let key, let indexes) = build.subject {
                building[key, default: []].append((indexes, build.percent))
            }
        }
    }

    /// - Parameter indexes: the possible indexes, any of which is sufficient.
    func problems(of key: FieldKey, _ definition: FieldDefinition, needing indexes: Indexes) -> [QueryProblem] {
        let declared = definition.indexes.intersection(indexes)
        let builds = building[key]?.filter { !$0.indexes.isDisjoint(with: declared) } ?? []
        let unready = builds.reduce(into: Indexes()) { $0.formUnion($1.indexes) }.intersection(declared)
        guard !unready.isEmpty, unready == declared else { return [] }
        return [.indexBeingBuilt(key, unready, percent: builds.map(\.percent).min() ?? 0)]
    }
}

// MARK: - Problems

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

    /// The error for a filter on an encrypted field, with iCloud's text.
    static func encrypted(_ key: FieldKey, _ type: FieldType, _ comparator: Comparator) -> QueryProblem {
        .invalid(
            RecordError(
                known: .encryptedFilter, key.errorName, FieldType(type.valueType, isList: type.isList).wireName,
                comparator.rawValue))
    }
}

extension QueryProblem: JSONObjectCoded {
    /// Its kind, its subject and the error that `records/query` returns (docs/services.md).
    package static let form = JSONForm<QueryProblem>(
        read: { object in
            switch try String.member("problem", of: object) {
            case "SYSTEM_TYPE": return .systemType
            case "UNKNOWN_TYPE": return .unknownType(try .member("recordType", of: object))
            case "NO_INDEX": return .noIndex(try .member("recordType", of: object))
            case "UNKNOWN_FIELD": return .unknownField(try .member("field", of: object))
            case "MISSING_INDEX":
                return .missingIndex(
                    try .member("field", of: object), try .member("indexes", of: object),
                    word: try .member("word", of: object))
            case "INDEX_BEING_BUILT":
                return .indexBeingBuilt(
                    try .member("field", of: object), try .member("indexes", of: object),
                    percent: try .member("percent", of: object))
            case let problem:
                guard problem == "INVALID", let error = try JSONMember.error.read(object) else {
                    throw RecordError.unexpectedInput(
                        "Expected '\(object.place(of: "problem"))' to be a problem that is known, found '\(problem)'")
                }
                return .invalid(error)
            }
        },
        write: { problem, writer in
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
                indexes.write(as: "indexes", into: &writer)
                writer.member("word", word)
            case .indexBeingBuilt(let key, let indexes, let percent):
                writer.member("problem", "INDEX_BEING_BUILT")
                writer.member("field", key.schemaName)
                indexes.write(as: "indexes", into: &writer)
                writer.member("percent", Int64(percent))
            case .invalid: writer.member("problem", "INVALID")
            }
            let error = problem.error
            writer.member("serverErrorCode", error.code.rawValue)
            writer.member("reason", error.reason)
            if let seconds = error.retryAfter { writer.member("retryAfter", Int64(seconds)) }
        })
}

// MARK: - Missing indexes

/// A minimal set of indexes that a refused query lacks.
public struct IndexNeeds: Sendable {
    /// Indexes to add to each field, in the order of the query.
    public let additions: [(key: FieldKey, indexes: Indexes)]
    /// All problems, including those hidden by a type without any index.
    public let problems: [QueryProblem]

    /// - Parameters:
    /// - problems: the problems reported by ``IndexRules``.
    /// - type: the type of the query; `nil` if it does not exist.
    public init(
        _ problems: [QueryProblem], of query: Query, type: RecordType?, building builds: [IndexBuildProgress] = []
    ) {
        var all = problems
        if case .noIndex? = problems.first, let type {
            all = IndexRules.problems(of: query, in: type, building: builds)
        }
        self.problems = all
        let missing = all.compactMap { problem -> (key: FieldKey, indexes: Indexes)? in
            if case .missingIndex(let key, let indexes, _) = problem, !indexes.isEmpty { (key, indexes) } else { nil }
        }
        var order: [FieldKey] = []
        var chosen: [FieldKey: Indexes] = [:]
        // Fields with only one possible index come first. Ranges then use an index that is added anyway.
        for (key, indexes) in missing {
            if !order.contains(key) { order.append(key) }
            if indexes.names.count == 1 { chosen[key, default: []].formUnion(indexes) }
        }
        for (key, indexes) in missing where chosen[key, default: []].isDisjoint(with: indexes) {
            if let first = indexes.names.first.flatMap({ Indexes(name: $0) }) {
                chosen[key, default: []].formUnion(first)
            }
        }
        additions = order.map { ($0, chosen[$0] ?? []) }
    }

    /// Edits that add the indexes to the type, whatever indexes the type has by then.
    public func edits(of type: Name) -> [SchemaEdit] {
        additions.map { key, indexes in .addIndexes(indexes, of: key, in: type) }
    }
}

// MARK: - Builds

/// The progress of background work on an index.
public struct IndexBuildProgress: Sendable, Hashable {
    public enum Work: String, Sendable, Hashable, CaseIterable {
        /// Existing records are being added. Saves update the index already, but queries don't use it yet.
        case building = "BUILDING"
        /// The index was dropped and its entries are being removed.
        case dropping = "DROPPING"
    }

    public enum Subject: Sendable, Hashable {
        /// One or several indexes of a field.
        case field(FieldKey, Indexes)
        case composite(CompositeIndex)
    }

    public var work: Work
    public var recordType: Name
    public var subject: Subject
    /// Number of records or entries done.
    public var done: Int
    /// Total number of records or entries, counted at the start. Saves may make `done` exceed it slightly.
    public var total: Int

    public init(_ work: Work, of subject: Subject, in recordType: Name, done: Int, total: Int) {
        self.work = work
        self.subject = subject
        self.recordType = recordType
        self.done = done
        self.total = total
    }

    /// From 0 to 99; 100 is never reached while work is left.
    public var percent: Int { total <= 0 ? 0 : min(99, max(0, done.multipliedSaturated(by: 100) / total)) }
}

extension IndexBuildProgress.Work: JSONWord {}

extension IndexBuildProgress: JSONObjectCoded {
    package static let form = JSONForm<IndexBuildProgress>(
        { work, recordType, subject, done, total, _ in
            IndexBuildProgress(work, of: subject, in: recordType, done: done, total: total)
        },
        JSONPart("work", \.work), JSONPart("recordType", \.recordType), JSONPart(joined: .index, \.subject),
        JSONPart("done", \.done), JSONPart("total", \.total), JSONPart("percent", \.percent))
}

extension JSONMember<IndexBuildProgress.Subject> {
    fileprivate static var index: JSONMember {
        JSONMember(
            [
                MemberShape("field", isRequired: false, FieldKey.shape),
                MemberShape("indexes", isRequired: false, Indexes.shape),
                MemberShape("compositeIndex", isRequired: false, CompositeIndex.shape),
            ],
            read: { object in
                if let index = try CompositeIndex?.member("compositeIndex", of: object) { return .composite(index) }
                return .field(try .member("field", of: object), try .member("indexes", of: object))
            },
            write: { subject, writer in
                switch subject {
                case .field(let key, let indexes):
                    writer.member("field", key.schemaName)
                    indexes.write(as: "indexes", into: &writer)
                case .composite(let index): index.write(as: "compositeIndex", into: &writer)
                }
            })
    }
}
