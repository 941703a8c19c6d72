public import JSON

/// The permissions of a role for the records of a type in the public database.
public struct Grant: Sendable, Hashable {
    /// The rights that a role may have. They add up over the roles of a caller.
    public enum Permission: String, Sendable, Hashable, CaseIterable {
        /// To look records up, and to query them.
        case read = "READ"
        /// To create records, with their files.
        case create = "CREATE"
        /// To change and delete records, and to upload files for them.
        case write = "WRITE"
    }

    /// `_world`, `_icloud`, `_creator` or a custom role.
    public var role: Name
    /// All rights of the role. Without one, the grant has no effect.
    public var permissions: Set<Permission>

    /// The rights of one role for one type.
    public init(role: Name, permissions: Set<Permission>) {
        self.role = role
        self.permissions = permissions
    }

    /// CloudKit's grants for a type without explicit grants.
    public static let defaults = [
        Grant(role: "_creator", permissions: [.write]),
        Grant(role: "_icloud", permissions: [.create]),
        Grant(role: "_world", permissions: [.read]),
    ]

    /// The roles that exist in each container.
    public static let systemRoles: Set<Name> = ["_world", "_icloud", "_creator"]

    /// Equivalent grants with one grant per role, ordered by role, as in exports.
    public static func canonical(_ grants: some Sequence<Grant>) -> [Grant] {
        Dictionary(grants.map { ($0.role, $0.permissions) }, uniquingKeysWith: { $0.union($1) })
            .filter { !$0.value.isEmpty }.map { Grant(role: $0.key, permissions: $0.value) }.sorted { $0.role < $1.role }
    }
}
