internal import Foundation
public import JSON
public import Records

/// A connection to one environment of a container in iCloud, with its credentials. Neither its description nor its reflection contains a secret.
public struct ContainerConnection: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Maximum number of connections.
    public static let countLimit = 200
    /// Maximum length of a key or token in UTF-8 bytes.
    static let secretLimit = 16_384

    /// The credentials of a connection, as CloudKit's console and the sign-in hand them out.
    public enum Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// A private key in PEM. It reaches the public database.
        case serverKey(keyID: String, pem: String)
        /// An app's token and a user's. They reach the public database and the user's private and shared ones.
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

    /// Another one for each time that the container is connected.
    public let id: String
    public let container: ContainerID
    public let environment: Environment
    /// Scheme, host and port of another server that speaks CloudKit's protocol; `nil` for iCloud.
    public let address: String?
    /// The `Origin` of requests, for an API token that is limited to pages of one site.
    public let origin: String?
    public internal(set) var credentials: Credentials
    /// The user who signed in, or the key's own; `nil` if CloudKit did not tell.
    public let userRecordName: Name?
    /// True if the data of production may be changed.
    public let isWritable: Bool
    public let made: Timestamp

    public init(
        container: ContainerID, environment: Environment, address: String? = nil, origin: String? = nil, credentials: Credentials,
        userRecordName: Name? = nil, isWritable: Bool = false, made: Timestamp = .now()
    ) {
        self.init(
            id: UUID().uuidString, container: container, environment: environment, address: address, origin: origin,
            credentials: credentials, userRecordName: userRecordName, isWritable: isWritable, made: made)
    }

    init(
        id: String, container: ContainerID, environment: Environment, address: String?, origin: String?, credentials: Credentials,
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

    /// The databases that the credentials reach.
    public var reach: Set<DatabaseScope> {
        if case .serverKey = credentials { [.public] } else { Set(DatabaseScope.allCases) }
    }

    /// True if nothing may be changed: production, unless it was connected to be written.
    public var isReadOnly: Bool { environment == .production && !isWritable }

    /// The container and the environment in words.
    public var place: String { "\(container) (\(environment.rawValue))" }

    public var description: String { "\(place) with \(credentials)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["place": place]) }
}
