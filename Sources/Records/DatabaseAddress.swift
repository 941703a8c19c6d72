/// Identifies a database by container, environment and scope.
public struct DatabaseAddress: Sendable, Hashable {
    /// The container, such as `iCloud.com.example.App`.
    public var container: ContainerID
    /// Each environment has databases of its own.
    public var environment: Environment
    /// Each user has a private and a shared database. The address does not name the user.
    public var scope: DatabaseScope

    /// The address of a database, whether or not it is there.
    public init(container: ContainerID, environment: Environment, scope: DatabaseScope) {
        self.container = container
        self.environment = environment
        self.scope = scope
    }
}

/// The identifier of a container: `iCloud.` and a reverse domain name.
public struct ContainerID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Maximum length in characters.
    public static let limit = 155

    public let description: String

    /// Parses a container identifier.
    /// - Returns: `nil` unless the text starts with `iCloud.`, followed by letters, digits, dots, hyphens and
    ///   underscores. This also makes it a safe folder name.
    public init?(_ text: String) {
        let isValid =
            text.hasPrefix("iCloud.") && text.utf8.count > "iCloud.".utf8.count && text.utf8.count <= Self.limit
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        guard isValid else { return nil }
        description = text
    }

    /// The usual name of the container's mirror: `iCloud.com.example.App.mirror`; `nil` if it is too long.
    public var mirror: ContainerID? { ContainerID("\(description).mirror") }

    public static func < (left: ContainerID, right: ContainerID) -> Bool {
        left.description < right.description
    }
}

/// The environment of a container: development for changing the schema, production for users' data.
public enum Environment: String, Sendable, Hashable, CaseIterable {
    case development
    case production

    /// Reads the name in any case: `records/resolve` answers it in capitals, and clients put that into addresses. It is written in small letters.
    public init?(rawValue: String) {
        let name = rawValue.lowercased()
        guard let environment = Self.allCases.first(where: { $0.rawValue == name }) else { return nil }
        self = environment
    }
}

/// The kind of a database.
public enum DatabaseScope: String, Sendable, Hashable, CaseIterable {
    /// One database for all users of the container.
    case `public`
    /// One database for each user.
    case `private`
    /// Zones of other users that are shared with the user.
    case shared
}
