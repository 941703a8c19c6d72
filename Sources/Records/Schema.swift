public import JSON

/// The record types and roles of one container and environment.
public struct Schema: Sendable, Hashable {
    /// The types by their names. ``initial`` has those of a new container.
    public var types: [Name: RecordType]
    /// The container's own roles, without ``Grant/systemRoles``.
    public var roles: Set<Name>

    /// - Parameter types: of two with one name, the last one counts.
    public init(types: [RecordType] = [], roles: Set<Name> = []) {
        self.types = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
        self.roles = roles
    }

    /// All types, ordered by name.
    public var sortedTypes: [RecordType] {
        types.values.sorted { $0.name < $1.name }
    }

    /// The type that each container has from the start. It can't be queried.
    public static let usersType: Name = "Users"

    /// The `Users` type of a new container.
    public static let users = RecordType(
        name: usersType, fields: ["roles": FieldDefinition(type: .list(.int64))],
        grants: [Grant(role: "_creator", permissions: [.write]), Grant(role: "_world", permissions: [.read])])

    /// The schema of a new container.
    public static let initial = Schema(types: [users])
}
