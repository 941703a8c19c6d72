internal import JSON
internal import Records

/// What a role may do with the records of a type.
struct GrantRow: ViewModel {
    let role: String
    let meaning: String
    let permissions: [String]

    init(_ grant: Grant) {
        role = grant.role.string
        meaning = Self.meaning(of: grant.role)
        permissions = Grant.Permission.allCases.filter(grant.permissions.contains).map(\.rawValue)
    }

    /// Who has a role.
    static func meaning(of role: Name) -> String {
        switch role {
        case "_world": "anyone"
        case "_icloud": "anyone who is signed in"
        case "_creator": "who made the record"
        default: "a role of your own"
        }
    }
}

extension RecordType {
    /// What is granted, from the widest circle to the narrowest, roles of the developer's own last.
    var sortedGrants: [Grant] {
        let order = RolesView.systemRoles
        return grants.sorted { left, right in
            let ranks = (order.firstIndex(of: left.role) ?? order.count, order.firstIndex(of: right.role) ?? order.count)
            return ranks.0 == ranks.1 ? left.role < right.role : ranks.0 < ranks.1
        }
    }
}
