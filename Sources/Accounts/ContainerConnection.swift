internal import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// A connection to one environment of a container in iCloud, with its credentials. Neither its description nor its
/// reflection contains a secret.
public struct ContainerConnection: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Maximum number of connections.
    public static let countLimit = 200
    /// Maximum length of a key or token in UTF-8 bytes.
    static let secretLimit = 16_384

    /// The credentials of a connection, as CloudKit's console and the sign-in hand them out.
    public enum Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
        CustomReflectable
    {
        /// A private key in PEM. It gives access to the public database.
        case serverKey(keyID: String, pem: String)
        /// An API token and a user's web auth token. They give access to the public database and to the user's private
        /// and shared ones.
        case webAuth(apiToken: String, webAuthToken: String)

        public var description: String {
            switch self {
            case .serverKey(let keyID, _): "the server-to-server key \(keyID)"
            case .webAuth: "an API token and a sign-in"
            }
        }

        public var debugDescription: String { description }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// An identifier of the connection, which is new each time that the container is connected.
    public let id: String
    public let container: ContainerID
    public let environment: Environment
    /// Scheme, host and port of another server that speaks CloudKit's protocol; `nil` for iCloud.
    public let address: String?
    /// The `Origin` of requests, for an API token that is limited to pages of one site.
    public let origin: String?
    public internal(set) var credentials: Credentials
    /// The user who signed in, or the key's own user; `nil` if CloudKit did not return it.
    public let userRecordName: Name?
    /// True if records in production may be changed.
    public let isWritable: Bool
    public let made: Timestamp

    public init(
        container: ContainerID, environment: Environment, address: String? = nil, origin: String? = nil,
        credentials: Credentials,
        userRecordName: Name? = nil, isWritable: Bool = false, made: Timestamp = .now()
    ) {
        self.init(
            id: UUID().uuidString, container: container, environment: environment, address: address, origin: origin,
            credentials: credentials, userRecordName: userRecordName, isWritable: isWritable, made: made)
    }

    init(
        id: String, container: ContainerID, environment: Environment, address: String?, origin: String?,
        credentials: Credentials,
        userRecordName: Name?, isWritable: Bool, made: Timestamp
    ) {
        self.id = id
        self.container = container
        self.environment = environment
        self.address = address
        self.origin = origin
        self.credentials = credentials
        self.userRecordName = userRecordName
        self.isWritable = isWritable
        self.made = made
    }

    /// The databases to which the credentials give access.
    public var reach: Set<DatabaseScope> {
        if case .serverKey = credentials { [.public] } else { Set(DatabaseScope.allCases) }
    }

    /// True if nothing may be changed: in production, unless the connection was made writable.
    public var isReadOnly: Bool { environment == .production && !isWritable }

    /// The container and the environment as text for display.
    public var place: String { "\(container) (\(environment.rawValue))" }

    public var description: String { "\(place) with \(credentials)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["place": place]) }
}

// MARK: - Managing connections

// The credentials of connected containers are stored in plain text, because they must be sent. They are in the
// accounts file, which only its owner can read.

extension Accounts {
    /// All connections, ordered by container and environment.
    public func connections() -> [ContainerConnection] {
        connected.withLock { $0.values.flatMap { $0 } }.sorted {
            ($0.container, $0.environment.rawValue) < ($1.container, $1.environment.rawValue)
        }
    }

    /// The connections of a container, at most one for each environment.
    public func connections(of container: ContainerID) -> [ContainerConnection] {
        connected.withLock { $0[container] ?? [] }
    }

    /// The connection to the container that a container mirrors according to its name.
    /// - Returns: `nil` if no connected container has this container as its mirror.
    public func connection(mirroredIn container: ContainerID, _ environment: Records.Environment)
        -> ContainerConnection?
    {
        connections().first { $0.environment == environment && $0.container.mirror == container }
    }

    /// Saves a connection, replacing one to the same container and environment.
    /// - Throws: `RecordError` BAD_REQUEST if the credentials are empty or too long, or there are too many
    ///   connections; ACCESS_DENIED if other users of the system could read them; a file error.
    public func connect(_ connection: ContainerConnection) async throws {
        for secret in connection.credentials.secrets
        where secret.isEmpty || secret.utf8.count > ContainerConnection.secretLimit {
            throw Records.RecordError(
                .badRequest,
                "A key or token has 1 to \(ContainerConnection.secretLimit) bytes, not \(secret.utf8.count)")
        }
        try checkOnlyOwnerReads()
        try await queue.write { [self] database in
            let others = connected.withLock { $0.values.flatMap { $0 } }.filter { !$0.isOfSamePlace(as: connection) }
            guard others.count < ContainerConnection.countLimit else {
                throw Records.RecordError(
                    .badRequest,
                    "\(ContainerConnection.countLimit) containers are connected, which is the limit; disconnect one first"
                )
            }
            try database.execute(
                sql: """
                    INSERT OR REPLACE INTO connection
                        (container, environment, id, address, origin, keyID, privateKey, apiToken, webAuthToken, userRecordName, isWritable, made)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    connection.container.description, connection.environment.rawValue, connection.id,
                    connection.address, connection.origin,
                    connection.credentials.keyID, connection.credentials.privateKey, connection.credentials.apiToken,
                    connection.credentials.webAuthToken,
                    connection.userRecordName?.string, connection.isWritable, connection.made.milliseconds,
                ])
            database.afterNextTransaction { [self] _ in
                connected.withLock { connected in
                    let others = (connected[connection.container] ?? []).filter { !$0.isOfSamePlace(as: connection) }
                    connected[connection.container] = others + [connection]
                }
            }
        }
    }

    /// Saves a web auth token that replaces the one in a connection. Does nothing if the connection was replaced or
    /// removed.
    /// - Throws: a file error.
    public func keepWebAuthToken(_ token: String, of id: String) async throws {
        try await queue.write { [self] database in
            try database.execute(
                sql: "UPDATE connection SET webAuthToken = ? WHERE id = ? AND webAuthToken IS NOT NULL",
                arguments: [token, id])
            database.afterNextTransaction { [self] _ in
                connected.withLock { connected in
                    for (container, connections) in connected {
                        guard let index = connections.firstIndex(where: { $0.id == id }),
                            case .webAuth(let apiToken, _) = connections[index].credentials
                        else { continue }
                        connected[container]?[index].credentials = .webAuth(apiToken: apiToken, webAuthToken: token)
                    }
                }
            }
        }
    }

    /// Removes a connection and its credentials, which are overwritten in the file.
    /// - Throws: `RecordError` NOT_FOUND if there is no such connection; a file error.
    public func disconnect(_ container: ContainerID, _ environment: Records.Environment) async throws
        -> ContainerConnection
    {
        try await queue.write { [self] database in
            let found = connected.withLock { $0[container] ?? [] }.first { $0.environment == environment }
            guard let found else {
                throw Records.RecordError(.notFound, "\(container) is not connected in \(environment.rawValue)")
            }
            try database.execute(
                sql: "DELETE FROM connection WHERE container = ? AND environment = ?",
                arguments: [container.description, environment.rawValue])
            database.afterNextTransaction { [self] _ in
                connected.withLock { connected in
                    let others = (connected[container] ?? []).filter { $0.environment != environment }
                    connected[container] = others.isEmpty ? nil : others
                }
            }
            return found
        }
    }

    /// Checks that only the owner can read the file. On a file system without permissions, or if the file has another
    /// owner, others could read the credentials.
    private func checkOnlyOwnerReads() throws {
        guard queue.path != ":memory:" else { return }
        let permissions = try FileManager.default.attributesOfItem(atPath: queue.path)[.posixPermissions] as? NSNumber
        guard let permissions, permissions.intValue & 0o077 == 0 else {
            throw Records.RecordError(
                .accessDenied,
                "Other users can read accounts.sqlite, so no credentials are stored in it; make it your own file, with chmod 600"
            )
        }
    }

    /// Reads the connections from the file, skipping unreadable ones.
    static func connections(in database: Database) throws -> [ContainerID: [ContainerConnection]] {
        let connections = try Row.fetchAll(database, sql: "SELECT * FROM connection").compactMap {
            try ContainerConnection($0)
        }
        return Dictionary(grouping: connections, by: \.container)
    }
}

extension ContainerConnection {
    fileprivate func isOfSamePlace(as other: ContainerConnection) -> Bool {
        container == other.container && environment == other.environment
    }

    fileprivate init?(_ row: Row) throws {
        guard let container = ContainerID(try row.value("container") as String),
            let environment = Environment(rawValue: try row.value("environment")),
            let credentials = try Credentials(row)
        else { return nil }
        self.init(
            id: try row.value("id"), container: container, environment: environment, address: try row.value("address"),
            origin: try row.value("origin"),
            credentials: credentials, userRecordName: (try row.value("userRecordName") as String?).map { Name($0) },
            isWritable: try row.value("isWritable"),
            made: Timestamp(milliseconds: try row.value("made")))
    }
}

extension ContainerConnection.Credentials {
    fileprivate init?(_ row: Row) throws {
        if let keyID: String = try row.value("keyID"), let pem: String = try row.value("privateKey") {
            self = .serverKey(keyID: keyID, pem: pem)
        } else if let apiToken: String = try row.value("apiToken"),
            let webAuthToken: String = try row.value("webAuthToken")
        {
            self = .webAuth(apiToken: apiToken, webAuthToken: webAuthToken)
        } else {
            return nil
        }
    }

    var keyID: String? { if case .serverKey(let keyID, _) = self { keyID } else { nil } }
    fileprivate var privateKey: String? { if case .serverKey(_, let pem) = self { pem } else { nil } }
    fileprivate var apiToken: String? { if case .webAuth(let apiToken, _) = self { apiToken } else { nil } }
    fileprivate var webAuthToken: String? { if case .webAuth(_, let token) = self { token } else { nil } }
    fileprivate var secrets: [String] { [keyID, privateKey, apiToken, webAuthToken].compactMap(\.self) }
}
