internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The actions on security roles and grants.
enum RoleActions {
    static func add(_ visit: Visit) async throws -> String {
        let name = Name(visit.fields["role"]?.trimmingSpaces ?? "")
        if RolesView.systemRoles.contains(name) || visit.schema?.roles.contains(name) == true {
            throw RecordError(.badRequest, "The role '\(name)' already exists; choose another name")
        }
        try await SchemaActions.edit([.addRole(name)], visit: visit)
        return visit.place.link("roles", [Notice.roleAdded.parameter])
    }

    static func remove(_ visit: Visit) async throws -> String {
        try await SchemaActions.edit([.removeRole(Name(visit.fields["role"] ?? ""))], visit: visit)
        return visit.place.link("roles", [Notice.roleRemoved.parameter])
    }

    /// Replaces the grants of a type by the ticked ones. Each `grant` names a role and a permission, such as `_world:READ`.
    static func setGrants(_ visit: Visit) async throws -> String {
        var granted: [Name: Set<Grant.Permission>] = [:]
        for text in visit.fields.all("grant") {
            guard let colon = text.lastIndex(of: ":"), let permission = Grant.Permission(rawValue: String(text[text.index(after: colon)...])) else {
                throw RecordError(.badRequest, "A grant is written as role:READ, and ‘\(text)’ is not")
            }
            granted[Name(String(text[..<colon])), default: []].insert(permission)
        }
        let grants = granted.sorted { $0.key < $1.key }.map { Grant(role: $0.key, permissions: $0.value) }
        try await SchemaActions.edit([.setGrants(grants, of: Name(visit.fields["type"] ?? ""))], visit: visit)
        return visit.place.link("roles", [Notice.grantsChanged.parameter])
    }
}
