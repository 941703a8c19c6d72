public import JSON

/// What a role may do with the records of a type in the public database.
public struct Grant: Sendable, Hashable {
    public enum Permission: String, Sendable, Hashable, CaseIterable {
        case read = "READ"
        case create = "CREATE"
        case write = "WRITE"
    }

    /// `_world`, `_icloud`, `_creator` or a role of the developer's own.
    public var role: Name
    public var permissions: Set<Permission>

    public init(role: Name, permissions: Set<Permission>) {
        self.role = role
        self.permissions = permissions
    }

    /// What CloudKit grants on a type that says nothing else.
    public static let defaults = [
        Grant(role: "_creator", permissions: [.write]),
        Grant(role: "_icloud", permissions: [.create]),
        Grant(role: "_world", permissions: [.read]),
    ]
}
