/// Which database is meant: a container, an environment and a scope.
public struct DatabaseAddress: Sendable, Hashable {
    public var container: ContainerID
    public var environment: Environment
    public var scope: DatabaseScope

    public init(container: ContainerID, environment: Environment, scope: DatabaseScope) {
        self.container = container
        self.environment = environment
        self.scope = scope
    }
}

/// The identifier of a container: `iCloud.` and a reverse domain name.
public struct ContainerID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Longest identifier, in characters.
    public static let limit = 155

    public let description: String

    /// - Returns: `nil` unless the text starts with `iCloud.` and goes on with letters, digits, dots, hyphens and underscores. That also makes
    ///   it a safe folder name.
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

    public static func < (left: ContainerID, right: ContainerID) -> Bool {
        left.description < right.description
    }
}

/// Where schema is still in the making, and where users' data lives.
public enum Environment: String, Sendable, Hashable, CaseIterable {
    case development
    case production
}

/// Whose data a database holds.
public enum DatabaseScope: String, Sendable, Hashable, CaseIterable {
    /// One for all users of the container.
    case `public`
    /// One for each user.
    case `private`
    /// The zones of others that a user was given.
    case shared
}
