internal import Foundation
internal import GRDB
internal import Records
internal import Synchronization

/// Credentials of users and programs in memory.
struct KnownCredentials {
    var tokens: [String: APIToken] = [:]
    /// Token ids by the hashes of their secrets.
    var tokenIDs: [[UInt8]: String] = [:]
    /// Origins listed by valid tokens.
    private(set) var origins: Set<String> = []
    var keys: [String: ServerKey] = [:]
    var sessions: [String: WebAuthSession] = [:]
    /// Token uses by session id.
    var rotations: [String: TokenRotation] = [:]
    /// The permissions of notification tokens by the tokens' ids.
    var notificationTokens: [String: [NotificationToken]] = [:]
    /// Credentials whose last use is not written yet.
    var unwritten: Set<Use> = []
    var isWriting = false

    enum Use: Hashable {
        /// A user who is not in the file yet.
        case newUser(Name)
        case user(Name)
        case token(String)
        case key(String)
        case session(String)
        case notificationToken(NotificationToken.Key)
    }

    /// Reads the credentials from the file, skipping unreadable ones.
    init(_ database: Database) throws {
        for row in try Row.fetchAll(database, sql: "SELECT * FROM apiToken") {
            guard let token = try APIToken(row) else { continue }
            tokens[token.id] = token
            tokenIDs[Array(try row.value("secretHash") as Data)] = token.id
        }
        for row in try Row.fetchAll(database, sql: "SELECT * FROM serverKey") {
            guard let key = try ServerKey(row) else { continue }
            keys[key.keyID] = key
        }
        for row in try Row.fetchAll(database, sql: "SELECT * FROM webAuthSession") {
            guard let session = try WebAuthSession(row) else { continue }
            sessions[session.id] = session
            if let issue: Int64 = try row.value("newestIssue"), let use: Int64 = try row.value("newestUse") {
                rotations[session.id] = TokenRotation(newestIssue: issue, firstUse: use)
            }
        }
        for row in try Row.fetchAll(database, sql: "SELECT * FROM notificationToken") {
            guard let token = try NotificationToken(row) else { continue }
            notificationTokens[token.key.id, default: []].append(token)
        }
        collectOrigins()
    }

    mutating func collectOrigins() {
        origins = Set(tokens.values.filter(\.isLive).flatMap(\.allowedOrigins))
    }

    /// Marks a use to be written.
    /// - Returns: `true` if the caller must schedule the write.
    mutating func note(_ use: Use) -> Bool {
        unwritten.insert(use)
        defer { isWriting = true }
        return !isWriting
    }
}

extension Row {
    /// The container and environment of a credential.
    fileprivate var place: (ContainerID, Records.Environment)? {
        get throws {
            guard let container = ContainerID(try value("container") as String),
                let environment = Records.Environment(rawValue: try value("environment"))
            else { return nil }
            return (container, environment)
        }
    }

    fileprivate func timestamp(_ column: String) throws -> Timestamp? {
        let milliseconds: Int64? = try value(column)
        return milliseconds.map(Timestamp.init(milliseconds:))
    }
}

extension APIToken {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place else { return nil }
        self.init(
            id: try row.value("id"), name: try row.value("name"), container: container, environment: environment,
            allowedOrigins: (try row.value("allowedOrigins") as String).split(separator: "\n").map(String.init),
            callback: try row.value("callback"),
            made: try row.timestamp("made") ?? Timestamp(milliseconds: 0), lastUsed: try row.timestamp("lastUsed"),
            revoked: try row.timestamp("revoked"))
    }
}

extension ServerKey {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place else { return nil }
        self.init(
            keyID: try row.value("keyID"), name: try row.value("name"), container: container, environment: environment,
            publicKeyPEM: try row.value("publicKeyPEM"),
            userRecordName: Name(try row.value("userRecordName") as String),
            made: try row.timestamp("made") ?? Timestamp(milliseconds: 0),
            lastUsed: try row.timestamp("lastUsed"), revoked: try row.timestamp("revoked"))
    }
}

extension WebAuthSession {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place else { return nil }
        self.init(
            id: try row.value("id"), user: Name(try row.value("user") as String), container: container,
            environment: environment, apiTokenID: try row.value("apiTokenID"),
            keepsSignedIn: try row.value("keepsSignedIn"),
            made: try row.timestamp("made") ?? Timestamp(milliseconds: 0), lastUsed: try row.timestamp("lastUsed"),
            revoked: try row.timestamp("revoked"))
    }
}

extension NotificationToken {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place, let expires = try row.timestamp("expires") else {
            return nil
        }
        self.init(
            key: Key(id: try row.value("id"), container: container, environment: environment),
            number: try row.value("number"),
            user: Name(try row.value("user") as String), clientID: try row.value("clientID"), expires: expires,
            deliveredPosition: try row.value("told"))
    }
}

// MARK: - Uses

extension Accounts {
    /// Schedules writing a use to the file some seconds later; a new user that other processes must know, at once.
    func noteUse(_ use: KnownCredentials.Use) {
        let isFirst = credentials.withLock { $0.note(use) }
        if isShared, case .newUser = use { writeUses(after: .zero) } else if isFirst { writeUses(after: .seconds(5)) }
    }

    private func writeUses(after delay: Duration) {
        Task.detached(priority: .utility) { [weak self] in
            do {
                try await Task.sleep(for: delay)
                try await self?.writeUses()
            } catch {
                self?.report.withLock { $0 }(error)
            }
        }
    }

    /// Writes new users and the times of last uses that are not in the file yet. Call it before the server stops.
    /// - Throws: a file error. The uses are then written with the next ones.
    public func writeUses() async throws {
        let isWork = credentials.withLock { credentials in
            if credentials.unwritten.isEmpty { credentials.isWriting = false }
            return !credentials.unwritten.isEmpty
        }
        guard isWork else { return }
        let taken = Mutex<Set<KnownCredentials.Use>>([])
        do {
            try await queue.write { [self] database in
                // Taken inside the transaction, where nothing is removed or revoked concurrently.
                let uses = credentials.withLock { credentials in
                    credentials.isWriting = false
                    defer { credentials.unwritten = [] }
                    return credentials.unwritten
                }
                taken.withLock { $0 = uses }
                for use in uses { try write(use, database) }
            }
        } catch {
            taken.withLock { uses in
                credentials.withLock { credentials in
                    credentials.unwritten.formUnion(uses)
                    // If the transaction could not begin, this flag is still set and would prevent further writes.
                    credentials.isWriting = false
                }
            }
            throw error
        }
    }

    private func write(_ use: KnownCredentials.Use, _ database: Database) throws {
        switch use {
        case .newUser(let recordName):
            let (user, seen) = known.withLock { ($0.user(recordName: recordName), $0.lastSeen(recordName)) }
            if let user { try Self.write(user, seen: seen, database) }
        case .user(let recordName):
            // Another process may have removed the user, who must then not be added again.
            let seen = known.withLock { $0.lastSeen(recordName)?.milliseconds }
            try database.execute(
                sql: "UPDATE user SET lastSeen = coalesce(?, lastSeen) WHERE userRecordName = ?",
                arguments: [seen, recordName.string])
        default:
            if let row = credentials.withLock({ $0.row(of: use) }) {
                try database.execute(sql: row.sql, arguments: row.arguments)
            }
        }
    }
}

extension KnownCredentials {
    fileprivate struct UseRow: Sendable {
        let sql: String
        let arguments: StatementArguments
    }

    fileprivate func row(of use: Use) -> UseRow? {
        switch use {
        case .newUser, .user: return nil
        case .token(let id):
            return tokens[id]?.lastUsed.map {
                UseRow(sql: "UPDATE apiToken SET lastUsed = ? WHERE id = ?", arguments: [$0.milliseconds, id])
            }
        case .key(let id):
            return keys[id]?.lastUsed.map {
                UseRow(sql: "UPDATE serverKey SET lastUsed = ? WHERE keyID = ?", arguments: [$0.milliseconds, id])
            }
        case .session(let id):
            return sessions[id]?.lastUsed.map {
                let newest = rotations[id]?.newest
                return UseRow(
                    sql: "UPDATE webAuthSession SET lastUsed = ?, newestIssue = ?, newestUse = ? WHERE id = ?",
                    arguments: [$0.milliseconds, newest?.issue, newest?.firstUse, id])
            }
        case .notificationToken(let key):
            return notificationTokens[key.id]?.first { $0.key == key }.map {
                UseRow(
                    sql: "UPDATE notificationToken SET told = ? WHERE id = ? AND container = ? AND environment = ?",
                    arguments: [$0.deliveredPosition, key.id, key.container.description, key.environment.rawValue])
            }
        }
    }
}
