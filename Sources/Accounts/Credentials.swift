internal import Foundation
internal import GRDB
internal import JSON
internal import Records

/// What people and programs are let in by, as it is held in memory.
struct Credentials {
    var tokens: [String: APIToken] = [:]
    /// The tokens' ids by the hashes of their secrets.
    var tokenIDs: [[UInt8]: String] = [:]
    /// The origins that tokens in force list.
    private(set) var origins: Set<String> = []
    var keys: [String: ServerKey] = [:]
    var sessions: [String: WebAuthSession] = [:]
    /// Which tokens of a session were used, by its id.
    var rotations: [String: TokenRotation] = [:]
    /// Whose last use is still to be written.
    var unwritten: Set<Use> = []
    var isWriting = false

    enum Use: Hashable {
        case token(String)
        case key(String)
        case session(String)
    }

    /// What the file holds. What can't be read any more is left out.
    init(_ database: Database) throws {
        for row in try Row.fetchAll(database, sql: "SELECT * FROM apiToken") {
            guard let token = APIToken(row) else { continue }
            tokens[token.id] = token
            tokenIDs[Array(row["secretHash"] as Data)] = token.id
        }
        for row in try Row.fetchAll(database, sql: "SELECT * FROM serverKey") {
            guard let key = ServerKey(row) else { continue }
            keys[key.keyID] = key
        }
        for row in try Row.fetchAll(database, sql: "SELECT * FROM webAuthSession") {
            guard let session = WebAuthSession(row) else { continue }
            sessions[session.id] = session
            if let issue = row["newestIssue"] as Int64?, let use = row["newestUse"] as Int64? {
                rotations[session.id] = TokenRotation(newestIssue: issue, firstUse: use)
            }
        }
        collectOrigins()
    }

    mutating func collectOrigins() {
        origins = Set(tokens.values.filter(\.isLive).flatMap(\.allowedOrigins))
    }

    /// Notes that something is to be written.
    /// - Returns: whether somebody must be found who writes it.
    mutating func note(_ use: Use) -> Bool {
        unwritten.insert(use)
        defer { isWriting = true }
        return !isWriting
    }
}

extension Row {
    /// Where a credential is good.
    fileprivate var place: (ContainerID, Records.Environment)? {
        guard let container = ContainerID(self["container"] as String), let environment = Records.Environment(rawValue: self["environment"] as String)
        else { return nil }
        return (container, environment)
    }

    fileprivate func timestamp(_ column: String) -> Timestamp? {
        (self[column] as Int64?).map(Timestamp.init(milliseconds:))
    }
}

extension APIToken {
    fileprivate init?(_ row: Row) {
        guard let (container, environment) = row.place else { return nil }
        self.init(
            id: row["id"], name: row["name"], container: container, environment: environment,
            allowedOrigins: (row["allowedOrigins"] as String).split(separator: "\n").map(String.init), callback: row["callback"],
            made: row.timestamp("made") ?? Timestamp(milliseconds: 0), lastUsed: row.timestamp("lastUsed"), revoked: row.timestamp("revoked"))
    }
}

extension ServerKey {
    fileprivate init?(_ row: Row) {
        guard let (container, environment) = row.place else { return nil }
        self.init(
            keyID: row["keyID"], name: row["name"], container: container, environment: environment, publicKeyPEM: row["publicKeyPEM"],
            userRecordName: Name(row["userRecordName"] as String), made: row.timestamp("made") ?? Timestamp(milliseconds: 0),
            lastUsed: row.timestamp("lastUsed"), revoked: row.timestamp("revoked"))
    }
}

extension WebAuthSession {
    fileprivate init?(_ row: Row) {
        guard let (container, environment) = row.place else { return nil }
        self.init(
            id: row["id"], user: Name(row["user"] as String), container: container, environment: environment, apiTokenID: row["apiTokenID"],
            keepsSignedIn: row["keepsSignedIn"], made: row.timestamp("made") ?? Timestamp(milliseconds: 0), lastUsed: row.timestamp("lastUsed"),
            revoked: row.timestamp("revoked"))
    }
}
