internal import Foundation
internal import GRDB
internal import JSON
internal import Records

/// Credentials of users and programs, as held in memory.
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
    /// The permissions of tokens by the tokens' ids.
    var notificationTokens: [String: [NotificationToken]] = [:]
    /// Credentials whose last use is not written yet.
    var unwritten: Set<Use> = []
    var isWriting = false

    enum Use: Hashable {
        /// A user who is not in the file.
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
            guard let container = ContainerID(try value("container") as String), let environment = Records.Environment(rawValue: try value("environment"))
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
            allowedOrigins: (try row.value("allowedOrigins") as String).split(separator: "\n").map(String.init), callback: try row.value("callback"),
            made: try row.timestamp("made") ?? Timestamp(milliseconds: 0), lastUsed: try row.timestamp("lastUsed"), revoked: try row.timestamp("revoked"))
    }
}

extension ServerKey {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place else { return nil }
        self.init(
            keyID: try row.value("keyID"), name: try row.value("name"), container: container, environment: environment, publicKeyPEM: try row.value("publicKeyPEM"),
            userRecordName: Name(try row.value("userRecordName") as String), made: try row.timestamp("made") ?? Timestamp(milliseconds: 0),
            lastUsed: try row.timestamp("lastUsed"), revoked: try row.timestamp("revoked"))
    }
}

extension WebAuthSession {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place else { return nil }
        self.init(
            id: try row.value("id"), user: Name(try row.value("user") as String), container: container, environment: environment, apiTokenID: try row.value("apiTokenID"),
            keepsSignedIn: try row.value("keepsSignedIn"), made: try row.timestamp("made") ?? Timestamp(milliseconds: 0), lastUsed: try row.timestamp("lastUsed"),
            revoked: try row.timestamp("revoked"))
    }
}

extension NotificationToken {
    fileprivate init?(_ row: Row) throws {
        guard let (container, environment) = try row.place, let expires = try row.timestamp("expires") else { return nil }
        self.init(
            key: Key(id: try row.value("id"), container: container, environment: environment), number: try row.value("number"),
            user: Name(try row.value("user") as String), clientID: try row.value("clientID"), expires: expires, told: try row.value("told"))
    }
}
