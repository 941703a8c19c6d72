internal import GRDB
public import Records
internal import Synchronization

extension Accounts {
    /// Removes the API tokens, server keys, sign-in sessions and devices' tokens of a deleted container, so that a new
    /// container with the same name does not inherit them.
    /// - Throws: a file error.
    public func removeCredentials(of container: ContainerID) async throws {
        try await queue.write { [self] database in
            for table in Self.tables {
                try database.execute(
                    sql: "DELETE FROM \(table) WHERE container = ?", arguments: [container.description])
            }
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    credentials.tokens = credentials.tokens.filter { $0.value.container != container }
                    credentials.tokenIDs = credentials.tokenIDs.filter { credentials.tokens[$0.value] != nil }
                    credentials.keys = credentials.keys.filter { $0.value.container != container }
                    credentials.sessions = credentials.sessions.filter { $0.value.container != container }
                    credentials.rotations = credentials.rotations.filter { credentials.sessions[$0.key] != nil }
                    credentials.notificationTokens = credentials.notificationTokens.mapValues {
                        $0.filter { $0.key.container != container }
                    }
                    credentials.collectOrigins()
                }
            }
        }
    }

    /// Moves the API tokens, server keys, sign-in sessions and devices' tokens of a renamed container. Keys keep their
    /// IDs.
    /// - Throws: a file error.
    public func moveCredentials(of container: ContainerID, to name: ContainerID) async throws {
        if name == container { return }
        try await queue.write { [self] database in
            for table in Self.tables {
                try database.execute(
                    sql: "UPDATE OR REPLACE \(table) SET container = ? WHERE container = ?",
                    arguments: [name.description, container.description])
            }
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    for (id, token) in credentials.tokens where token.container == container {
                        credentials.tokens[id]?.container = name
                    }
                    for (id, key) in credentials.keys where key.container == container {
                        credentials.keys[id]?.container = name
                    }
                    for (id, session) in credentials.sessions where session.container == container {
                        credentials.sessions[id]?.container = name
                    }
                    credentials.notificationTokens = credentials.notificationTokens.mapValues { tokens in
                        let moving = Set(tokens.filter { $0.key.container == container }.map(\.key.environment))
                        return tokens.filter { $0.key.container != name || !moving.contains($0.key.environment) }.map {
                            token in
                            var token = token
                            if token.key.container == container { token.key.container = name }
                            return token
                        }
                    }
                }
            }
        }
    }

    private static let tables = ["apiToken", "serverKey", "webAuthSession", "notificationToken"]
}

// MARK: - Saved queries

/// A query saved under a name, for use in any environment of its container.
public struct SavedQuery: Sendable, Hashable {
    /// Maximum length of the name in UTF-8 bytes.
    public static let nameLimit = 100
    /// Maximum length of the query in UTF-8 bytes.
    public static let questionLimit = 32_768
    /// Maximum number of queries per container.
    public static let countLimit = 200

    /// The name, unique within a container.
    public var name: String
    public var container: ContainerID
    public var scope: DatabaseScope
    /// The zone as in the console's URLs: empty for all zones, `nil` if none is specified.
    public var zone: String?
    /// The query as in the console's URLs: `type=Message&filter1=room&…`.
    public var question: String

    public init(name: String, container: ContainerID, scope: DatabaseScope, zone: String?, question: String) {
        self.name = name
        self.container = container
        self.scope = scope
        self.zone = zone
        self.question = question
    }
}

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
            throw RecordError(
                .badRequest, "The query is longer than \(SavedQuery.questionLimit) bytes and can't be saved")
        }
        let queries = savedQueries(of: query.container)
        if queries.count >= SavedQuery.countLimit, !queries.contains(where: { Name($0.name) == Name(query.name) }) {
            throw RecordError(
                .badRequest,
                "\(SavedQuery.countLimit) queries of the container are saved, which is the limit; delete one first")
        }
        try await queue.write { database in
            try database.execute(
                sql:
                    "INSERT OR REPLACE INTO savedQuery (container, name, scope, zone, question) VALUES (?, ?, ?, ?, ?)",
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
                sql: "DELETE FROM savedQuery WHERE container = ? AND name = ?",
                arguments: [container.description, name])
        }
        saved.withLock { $0[container]?.removeAll { Name($0.name) == Name(name) } }
    }

    static func sorted(_ queries: [SavedQuery]) -> [SavedQuery] {
        queries.sorted { Name($0.name) < Name($1.name) }
    }

    /// Reads the saved queries from the file, skipping unreadable ones.
    static func savedQueries(in database: Database) throws -> [ContainerID: [SavedQuery]] {
        let queries = try Row.fetchAll(database, sql: "SELECT container, name, scope, zone, question FROM savedQuery")
            .compactMap { row -> SavedQuery? in
                guard let container = ContainerID(try row.value("container") as String),
                    let scope = DatabaseScope(rawValue: try row.value("scope"))
                else { return nil }
                return SavedQuery(
                    name: try row.value("name"), container: container, scope: scope, zone: try row.value("zone"),
                    question: try row.value("question"))
            }
        return Dictionary(grouping: queries, by: \.container).mapValues(sorted)
    }
}

// MARK: - Title fields

extension Accounts {
    /// The maximum number of types of a container with a chosen field.
    public static let titleFieldLimit = 1000

    /// The fields whose values are the titles of a container's records, by type. Types for which no field was chosen
    /// are missing.
    public func titleFields(of container: ContainerID) -> [Name: Name] {
        titled.withLock { $0[container] ?? [:] }
    }

    /// Chooses the field with the titles of a type's records, for both environments; `nil` removes the choice.
    /// - Throws: `RecordError` BAD_REQUEST if too many types have a field; a file error.
    public func setTitleField(_ field: Name?, of recordType: Name, in container: ContainerID) async throws {
        let chosen = titleFields(of: container)
        if field != nil, chosen[recordType] == nil, chosen.count >= Self.titleFieldLimit {
            throw RecordError(
                .badRequest,
                "\(Self.titleFieldLimit) types of the container have a title, which is the limit; forget the title of another type first"
            )
        }
        try await queue.write { database in
            if let field {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO titleField (container, recordType, field) VALUES (?, ?, ?)",
                    arguments: [container.description, recordType.string, field.string])
            } else {
                try database.execute(
                    sql: "DELETE FROM titleField WHERE container = ? AND recordType = ?",
                    arguments: [container.description, recordType.string])
            }
        }
        titled.withLock { $0[container, default: [:]][recordType] = field }
    }

    /// Reads the choices from the file, skipping unreadable ones.
    static func titleFields(in database: Database) throws -> [ContainerID: [Name: Name]] {
        var fields: [ContainerID: [Name: Name]] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT container, recordType, field FROM titleField") {
            guard let container = ContainerID(try row.value("container") as String) else { continue }
            fields[container, default: [:]][Name(try row.value("recordType") as String)] = Name(
                try row.value("field") as String)
        }
        return fields
    }
}

// MARK: - Deleted and renamed containers

extension Accounts {
    private static let tablesOfContainers = ["savedQuery", "titleField"]

    /// Removes the saved queries and title fields of a deleted container, so that a new container with the same name
    /// does not inherit them.
    /// - Throws: a file error.
    public func removeQueriesAndTitles(of container: ContainerID) async throws {
        try await queue.write { database in
            for table in Self.tablesOfContainers {
                try database.execute(
                    sql: "DELETE FROM \(table) WHERE container = ?", arguments: [container.description])
            }
        }
        saved.withLock { $0[container] = nil }
        titled.withLock { $0[container] = nil }
    }

    /// Moves the saved queries and title fields of a renamed container. They replace queries with the same names, and
    /// fields of the same types.
    /// - Throws: a file error.
    public func moveQueriesAndTitles(of container: ContainerID, to name: ContainerID) async throws {
        if name == container { return }
        try await queue.write { database in
            for table in Self.tablesOfContainers {
                try database.execute(
                    sql: "UPDATE OR REPLACE \(table) SET container = ? WHERE container = ?",
                    arguments: [name.description, container.description])
            }
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
        titled.withLock { titled in
            let moved = titled.removeValue(forKey: container) ?? [:]
            titled[name, default: [:]].merge(moved) { _, moved in moved }
        }
    }
}
