internal import Crypto
internal import GRDB
public import Records
internal import Synchronization

/// The permission of a device, or of a page in a browser, to receive a user's notifications of changes in a
/// container's environment. A token (`apnsToken`) may have several permissions, all for the same user.
public struct NotificationToken: Sendable, Hashable {
    /// Maximum number of tokens of a user in a container's environment. When one more is added, the oldest is removed.
    public static let limitOfUser = 100
    /// Maximum number of all tokens and their permissions. When one more is added, the oldest is removed.
    public static let limit = 10_000
    /// Maximum number of permissions of a token.
    public static let placeLimit = 100

    /// One token in one container's environment.
    public struct Key: Sendable, Hashable {
        /// The hash of the token in hexadecimal digits.
        public let id: String
        public internal(set) var container: ContainerID
        public let environment: Environment

        public init(id: String, container: ContainerID, environment: Environment) {
            self.id = id
            self.container = container
            self.environment = environment
        }
    }

    public internal(set) var key: Key
    /// A number that is greater for later tokens.
    public let number: Int64
    /// The user record name.
    public let user: Name
    /// The client that uses the token, which is not notified of its own changes; `nil` if unknown.
    public let clientID: String?
    public let expires: Timestamp
    /// The position up to which the device has been notified of all changes.
    public internal(set) var deliveredPosition: Int64
}

// MARK: - Managing notification tokens

extension Accounts {
    /// Creates a token for the changes after a position, and removes expired tokens.
    /// - Returns: the token as 64 hexadecimal digits, which can't be retrieved later.
    /// - Throws: a file error.
    public func makeNotificationToken(
        for user: Name, clientID: String?, container: ContainerID, environment: Environment, at position: Int64,
        now: Timestamp, expires: Timestamp
    ) async throws -> String {
        let secret = Hexadecimal.text(of: [UInt8].random(32))
        let key = NotificationToken.Key(
            id: Self.id(ofNotificationToken: secret), container: container, environment: environment)
        try await queue.write { [self] database in
            let all = credentials.withLock { $0.notificationTokens }
            let forgotten = Self.forgettable(all.values.flatMap(\.self), before: key, of: user, now: now)
            for id in forgotten {
                try database.execute(sql: "DELETE FROM notificationToken WHERE id = ?", arguments: [id])
            }
            let number = (all.values.lazy.flatMap(\.self).map(\.number).max() ?? 0) + 1
            let token = NotificationToken(
                key: key, number: number, user: user, clientID: clientID, expires: expires, deliveredPosition: position)
            try Self.insert(token, database)
            database.afterNextTransaction { [self] _ in
                credentials.withLock { credentials in
                    for id in forgotten { credentials.notificationTokens[id] = nil }
                    credentials.notificationTokens[key.id] = [token]
                }
            }
        }
        return secret
    }

    private static func insert(_ token: NotificationToken, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO notificationToken (id, container, environment, number, user, clientID, expires, told)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                token.key.id, token.key.container.description, token.key.environment.rawValue, token.number,
                token.user.string, token.clientID,
                token.expires.milliseconds, token.deliveredPosition,
            ])
    }

    /// The tokens to remove before one is added: expired ones, and the oldest ones beyond the limits.
    private static func forgettable(
        _ tokens: [NotificationToken], before key: NotificationToken.Key, of user: Name, now: Timestamp
    ) -> Set<String> {
        var gone = Set(tokens.filter { $0.expires < now }.map(\.key.id))
        func leave(_ limit: Int, of tokens: [NotificationToken]) {
            let living = tokens.filter { !gone.contains($0.key.id) }.sorted { $0.number < $1.number }
            gone.formUnion(living.prefix(max(0, living.count - limit + 1)).map(\.key.id))
        }
        leave(
            NotificationToken.limitOfUser,
            of: tokens.filter {
                $0.user == user && $0.key.container == key.container && $0.key.environment == key.environment
            })
        if tokens.count >= NotificationToken.limit { leave(NotificationToken.limit, of: tokens) }
        return gone
    }

    private static func id(ofNotificationToken secret: String) -> String {
        Hexadecimal.text(of: SHA256.hash(data: Array(secret.utf8)))
    }

    /// The permissions of a token; empty if it is unknown or has expired.
    public func notificationTokens(_ secret: String, now: Timestamp) -> [NotificationToken] {
        // As with API tokens, a timing attack on the lookup reveals nothing useful.
        notificationTokens(id: Self.id(ofNotificationToken: secret), now: now)
    }

    /// The permissions of the token with an id; empty if it is unknown or has expired.
    public func notificationTokens(id: String, now: Timestamp) -> [NotificationToken] {
        credentials.withLock { $0.notificationTokens[id] ?? [] }.filter { $0.expires >= now }
    }

    /// The permissions of tokens of all users, latest first. Contains expired ones that have not been removed yet.
    public func notificationTokens(where isWanted: (NotificationToken) -> Bool) -> [NotificationToken] {
        credentials.withLock { $0.notificationTokens }.values.joined().filter(isWanted).sorted { $0.number > $1.number }
    }

    /// Adds a permission to a token, for the changes after a position. If the token already has the permission, it
    /// remains unchanged.
    /// - Parameter token: another permission of the same token.
    /// - Throws: `RecordError` BAD_REQUEST if the token has too many permissions; a file error.
    public func extend(
        _ token: NotificationToken, to container: ContainerID, _ environment: Environment, at position: Int64
    ) async throws {
        let id = token.key.id
        let key = NotificationToken.Key(id: id, container: container, environment: environment)
        try await queue.write { [self] database in
            // If the token was removed meanwhile, it must not be added again.
            let present = credentials.withLock { $0.notificationTokens[id] ?? [] }
            guard !present.isEmpty, !present.contains(where: { $0.key == key }) else { return }
            guard present.count < NotificationToken.placeLimit else {
                throw Records.RecordError(
                    .badRequest,
                    "The token is registered in \(present.count) environments of containers, which is the limit")
            }
            let added = NotificationToken(
                key: key, number: token.number, user: token.user, clientID: token.clientID, expires: token.expires,
                deliveredPosition: position)
            try Self.insert(added, database)
            database.afterNextTransaction { [self] _ in
                credentials.withLock { $0.notificationTokens[id]?.append(added) }
            }
        }
    }

    /// Records the position up to which a device has been notified of all changes. Written to the file some seconds
    /// later, so after a crash the device is notified of some changes again.
    public func noteDelivered(_ position: Int64, to key: NotificationToken.Key) {
        let isNews = credentials.withLock { credentials -> Bool in
            guard let index = credentials.notificationTokens[key.id]?.firstIndex(where: { $0.key == key }),
                credentials.notificationTokens[key.id]?[index].deliveredPosition != position
            else { return false }
            credentials.notificationTokens[key.id]?[index].deliveredPosition = position
            return true
        }
        if isNews { noteUse(.notificationToken(key)) }
    }
}
