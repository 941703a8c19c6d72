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

    /// The roles that CloudKit has in every container.
    public static let systemRoles: Set<Name> = ["_world", "_icloud", "_creator"]

    /// The same rights with one grant for each role, by role, as exports list them.
    public static func canonical(_ grants: some Sequence<Grant>) -> [Grant] {
        Dictionary(grants.map { ($0.role, $0.permissions) }, uniquingKeysWith: { $0.union($1) })
            .filter { !$0.value.isEmpty }.map { Grant(role: $0.key, permissions: $0.value) }.sorted { $0.role < $1.role }
    }
}
