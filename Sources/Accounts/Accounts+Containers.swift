internal import GRDB
public import Records
internal import Synchronization

extension Accounts {
    /// Removes the API tokens, server keys, sign-in sessions and devices' tokens of a deleted container, so that a new container with
    /// the same name does not inherit them.
    /// - Throws: a file error.
    public func removeCredentials(of container: ContainerID) async throws {
        try await queue.write { [self] database in
            for table in Self.tables {
                try database.execute(sql: "DELETE FROM \(table) WHERE container = ?", arguments: [container.description])
            }
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    credentials.tokens = credentials.tokens.filter { $0.value.container != container }
                    credentials.tokenIDs = credentials.tokenIDs.filter { credentials.tokens[$0.value] != nil }
                    credentials.keys = credentials.keys.filter { $0.value.container != container }
                    credentials.sessions = credentials.sessions.filter { $0.value.container != container }
                    credentials.rotations = credentials.rotations.filter { credentials.sessions[$0.key] != nil }
                    credentials.notificationTokens = credentials.notificationTokens.mapValues { $0.filter { $0.key.container != container } }
                    credentials.collectOrigins()
                }
            }
        }
    }

    /// Moves the API tokens, server keys, sign-in sessions and devices' tokens of a renamed container. Keys keep their IDs.
    /// - Throws: a file error.
    public func moveCredentials(of container: ContainerID, to name: ContainerID) async throws {
        if name == container { return }
        try await queue.write { [self] database in
            for table in Self.tables {
                try database.execute(
                    sql: "UPDATE OR REPLACE \(table) SET container = ? WHERE container = ?", arguments: [name.description, container.description])
            }
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    for (id, token) in credentials.tokens where token.container == container { credentials.tokens[id]?.container = name }
                    for (id, key) in credentials.keys where key.container == container { credentials.keys[id]?.container = name }
                    for (id, session) in credentials.sessions where session.container == container { credentials.sessions[id]?.container = name }
                    credentials.notificationTokens = credentials.notificationTokens.mapValues { tokens in
                        let moving = Set(tokens.filter { $0.key.container == container }.map(\.key.environment))
                        return tokens.filter { $0.key.container != name || !moving.contains($0.key.environment) }.map { token in
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
