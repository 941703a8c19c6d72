internal import GRDB
internal import JSON
public import Records
internal import Synchronization

extension Accounts {
    /// The saved queries of a container, ordered by name.
    public func savedQueries(of container: ContainerID) -> [SavedQuery] {
        saved.withLock { $0[container] ?? [] }
    }

    /// Saves a query, replacing one with the same name in the container.
    /// - Throws: `RecordError` BAD_REQUEST if the name or the query is too long, or the container has too many saved
    ///   queries; a file error.
    public func save(_ query: SavedQuery) async throws {
        guard !query.name.isEmpty, query.name.utf8.count <= SavedQuery.nameLimit else {
            throw RecordError(.badRequest, "The name of a saved query must have 1 to \(SavedQuery.nameLimit) bytes")
        }
        guard query.name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw RecordError(.badRequest, "The name of a saved query contains control characters")
        }
        guard query.question.utf8.count <= SavedQuery.questionLimit else {
            throw RecordError(.badRequest, "The query is longer than \(SavedQuery.questionLimit) bytes and can't be saved")
        }
        let queries = savedQueries(of: query.container)
        if queries.count >= SavedQuery.countLimit, !queries.contains(where: { Name($0.name) == Name(query.name) }) {
            throw RecordError(.badRequest, "\(SavedQuery.countLimit) queries of the container are saved, which is the limit; delete one first")
        }
        try await queue.write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO savedQuery (container, name, scope, zone, question) VALUES (?, ?, ?, ?, ?)",
                arguments: [query.container.description, query.name, query.scope.rawValue, query.zone, query.question])
        }
        saved.withLock { saved in
            var queries = (saved[query.container] ?? []).filter { Name($0.name) != Name(query.name) }
            queries.append(query)
            saved[query.container] = Self.sorted(queries)
        }
    }

    /// Removes a saved query, if it exists.
    /// - Throws: a file error.
    public func removeSavedQuery(_ name: String, of container: ContainerID) async throws {
        try await queue.write { database in
            try database.execute(
                sql: "DELETE FROM savedQuery WHERE container = ? AND name = ?", arguments: [container.description, name])
        }
        saved.withLock { $0[container]?.removeAll { Name($0.name) == Name(name) } }
    }

    /// Removes all saved queries of a deleted container, so that a new container with the same name does not inherit
    /// them.
    /// - Throws: a file error.
    public func removeSavedQueries(of container: ContainerID) async throws {
        try await queue.write { database in
            try database.execute(sql: "DELETE FROM savedQuery WHERE container = ?", arguments: [container.description])
        }
        saved.withLock { $0[container] = nil }
    }

    /// Moves the saved queries of a renamed container. They replace queries with the same names.
    /// - Throws: a file error.
    public func moveSavedQueries(of container: ContainerID, to name: ContainerID) async throws {
        if name == container { return }
        try await queue.write { database in
            try database.execute(
                sql: "UPDATE OR REPLACE savedQuery SET container = ? WHERE container = ?", arguments: [name.description, container.description])
        }
        saved.withLock { saved in
            let moved = (saved.removeValue(forKey: container) ?? []).map { query in
                var query = query
                query.container = name
                return query
            }
            let names = Set(moved.map { Name($0.name) })
            saved[name] = Self.sorted((saved[name] ?? []).filter { !names.contains(Name($0.name)) } + moved)
        }
    }

    static func sorted(_ queries: [SavedQuery]) -> [SavedQuery] {
        queries.sorted { Name($0.name) < Name($1.name) }
    }

    /// Reads the saved queries from the file, skipping unreadable ones.
    static func savedQueries(in database: Database) throws -> [ContainerID: [SavedQuery]] {
        let queries = try Row.fetchAll(database, sql: "SELECT container, name, scope, zone, question FROM savedQuery").compactMap { row -> SavedQuery? in
            guard let container = ContainerID(try row.value("container") as String), let scope = DatabaseScope(rawValue: try row.value("scope")) else { return nil }
            return SavedQuery(
                name: try row.value("name"), container: container, scope: scope, zone: try row.value("zone"), question: try row.value("question"))
        }
        return Dictionary(grouping: queries, by: \.container).mapValues(sorted)
    }
}
