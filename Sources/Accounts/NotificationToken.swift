public import JSON
public import Records

/// The permission of a device, or of a page in a browser, to take a user's notifications of a container's environment. A token (`apnsToken`) may
/// have several of them, for one user.
public struct NotificationToken: Sendable, Hashable {
    /// Maximum number of tokens of a user in a container's environment. A further one ends the oldest.
    public static let limitOfUser = 100
    /// Maximum number of all tokens and their permissions. A further one ends the oldest.
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
    /// Later tokens have greater numbers.
    public let number: Int64
    /// The user record name.
    public let user: Name
    /// The client that changes are not told to if it made them itself; `nil` if unknown.
    public let clientID: String?
    public let expires: Timestamp
    /// The position up to which all changes were told.
    public internal(set) var told: Int64
}
