/// Identifies a database by container, environment and scope.
public struct DatabaseAddress: Sendable, Hashable {
    /// The container, such as `iCloud.com.example.App`.
    public var container: ContainerID
    /// The environment. Each one has its own databases.
    public var environment: Environment
    /// The scope. Each user has a private and a shared database. The address does not contain the user.
    public var scope: DatabaseScope

    /// The address of a database, whether or not the database exists.
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
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"),
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
    /// Where the schema is changed.
    case development
    /// Where the data of users is.
    case production

    /// Parses the name, ignoring case: `records/resolve` returns it in capitals, and clients use it in URLs. The raw
    /// value is lowercase.
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

// MARK: - Callers

/// The user or program that makes a request.
public struct Caller: Sendable, Hashable {
    /// The name of the caller's user record. It is stored in the records that the caller saves.
    public var userRecordName: Name
    /// The device recorded in records saved by this caller; `iCloud` if unknown.
    public var deviceID: String
    /// Permissions in a public database.
    public var access: Access

    /// Creates a caller, by default one with unrestricted access on an unknown device.
    public init(userRecordName: Name, deviceID: String = "iCloud", access: Access = .unrestricted) {
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.access = access
    }
}

/// A caller's permissions for records of a public database. In a private database the owner may do everything, and in
/// the shared database the share's permission applies instead.
public enum Access: Sendable, Hashable {
    /// The owner of the data, as in the console, the command line and Skylight's own services. Roles are not checked.
    case unrestricted
    /// A user or a server-to-server key. Has the grants of `_world` and `_icloud`, those of `_creator` for the
    /// caller's own records, and those of the custom roles in the caller's user record.
    case signedIn
    /// An API token without a user. Has the grants of `_world`.
    case anonymous
}

extension Name {
    /// True if the name has the form of a user record name: `_` and 32 lowercase hexadecimal digits.
    public var isUserRecordName: Bool {
        utf8.count == 33 && utf8.first == UInt8(ascii: "_")
            && utf8.dropFirst().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                default: false
                }
            }
    }
}
