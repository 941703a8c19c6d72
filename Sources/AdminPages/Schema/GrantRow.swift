internal import Console
internal import JSON
internal import Records

/// The permissions of a role for the records of a type.
struct GrantRow: ViewModel {
    let role: String
    let meaning: String
    let permissions: [String]

    init(_ grant: Grant) {
        role = grant.role.string
        meaning = Self.meaning(of: grant.role)
        permissions = Grant.Permission.allCases.filter(grant.permissions.contains).map(\.rawValue)
    }

    /// A description of the users with a role.
    static func meaning(of role: Name) -> String {
        switch role {
        case "_world": "anyone"
        case "_icloud": "signed-in users"
        case "_creator": "the record's creator"
        default: "custom role"
        }
    }
}

extension RecordType {
    /// The grants from the widest role to the narrowest, custom roles last.
    var sortedGrants: [Grant] {
        let order = RolesView.systemRoles
        return grants.sorted { left, right in
            let ranks = (order.firstIndex(of: left.role) ?? order.count, order.firstIndex(of: right.role) ?? order.count)
            return ranks.0 == ranks.1 ? left.role < right.role : ranks.0 < ranks.1
        }
    }
}
