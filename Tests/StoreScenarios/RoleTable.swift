import RecordStore
import Records

// The expected access by roles, written independently of the engines' rules, after docs/roles.md.

/// The callers. `creator` created the records that the operations use.
enum RoleCaller: String, CaseIterable {
    case anonymous, creator, other, editor, key, unrestricted

    var caller: Caller {
        switch self {
        case .anonymous: Caller(userRecordName: "_00000000000000000000000000000000", access: .anonymous)
        case .creator: Caller(userRecordName: ada.userRecordName, access: .signedIn)
        case .other: Caller(userRecordName: grace.userRecordName, access: .signedIn)
        case .editor: Caller(userRecordName: mary.userRecordName, access: .signedIn)
        // A key has its own user record, and the same rights as a user.
        case .key: Caller(userRecordName: "_5e12e200000000000000000000000000", access: .signedIn)
        case .unrestricted: Caller(userRecordName: "_0e0e0000000000000000000000000000")
        }
    }

    /// The roles that apply to every record of a type, including new ones.
    var roles: Set<Name> {
        switch self {
        case .anonymous: ["_world"]
        case .creator, .other, .key: ["_world", "_icloud"]
        case .editor: ["_world", "_icloud", "Editors"]
        case .unrestricted: []
        }
    }
}

/// The operations, with their required permissions.
enum RoleOperation: String, CaseIterable {
    case query, lookup
    case create, createTaken, update, forceUpdateAbsent, forceUpdateThere, replace, forceReplaceAbsent,
        forceReplaceThere
    case delete, forceDeleteAbsent, forceDeleteThere
    case uploadAbsent, uploadThere, rereference

    /// The required permission, and if it applies to an existing record; `nil` if none is required.
    var need: (permission: Grant.Permission, isOnRecord: Bool)? {
        switch self {
        case .query, .lookup, .rereference: (.read, true)
        case .create, .createTaken, .forceUpdateAbsent, .forceReplaceAbsent, .uploadAbsent: (.create, false)
        case .update, .forceUpdateThere, .replace, .forceReplaceThere, .delete, .forceDeleteThere, .uploadThere:
            (.write, true)
        case .forceDeleteAbsent: nil
        }
    }

    /// True if an API token without a user gets a sign-in request, regardless of grants.
    var needsUser: Bool { self != .query && self != .lookup }
}

/// The grants of a type.
struct RoleGrants {
    let name: String
    let grants: [Grant]

    func has(_ permission: Grant.Permission, for role: Name) -> Bool {
        grants.contains { $0.role == role && $0.permissions.contains(permission) }
    }

    /// A type must have a grant. A grant to a role that no caller has means no access.
    static let none = RoleGrants(
        name: "nothing", grants: [Grant(role: "Readers", permissions: [.read, .create, .write])])
    static let defaults = RoleGrants(name: "defaults", grants: Grant.defaults)

    static let all: [RoleGrants] = [none] + single + combinations + [defaults]

    private static let single = (["_world", "_icloud", "_creator", "Editors"] as [Name]).flatMap { role in
        Grant.Permission.allCases.map {
            RoleGrants(name: "\($0.rawValue) to \(role)", grants: [Grant(role: role, permissions: [$0])])
        }
    }

    private static func combination(_ name: String, _ grants: (Name, Set<Grant.Permission>)...) -> RoleGrants {
        RoleGrants(name: name, grants: grants.map { Grant(role: $0.0, permissions: $0.1) })
    }

    private static let combinations = [
        combination("everything to everybody", ("_world", [.read, .create, .write])),
        combination("everything to the creator", ("_creator", [.read, .create, .write])),
        combination("a diary", ("_icloud", [.create]), ("_creator", [.read, .write])),
        combination("a letter box", ("_icloud", [.create]), ("Editors", [.read, .write])),
        combination("a newspaper", ("_world", [.read]), ("Editors", [.create, .write])),
        combination("a blackboard", ("_icloud", [.read, .create, .write])),
        combination("write and not read", ("_icloud", [.create, .write])),
        combination("a role that nobody has", ("Readers", [.read, .create, .write]), ("_creator", [.read])),
    ]
}

/// The expected result of an operation.
enum RoleOutcome: Equatable {
    case done
    /// The names that a query finds.
    case found(Set<Name>)
    /// An error of one item.
    case denied(String)
    /// An error of the whole request.
    case refused(ServerErrorCode, String)

    static func expected(
        _ who: RoleCaller, _ operation: RoleOperation, _ grants: RoleGrants, creators: [Name: RoleCaller]
    ) -> RoleOutcome {
        let isAllowed: (RoleCaller?) -> Bool = { creator in
            guard who != .unrestricted, let need = operation.need else { return true }
            if who.roles.contains(where: { grants.has(need.permission, for: $0) }) { return true }
            return need.isOnRecord && who != .anonymous && creator == who
                && grants.has(need.permission, for: "_creator")
        }
        if operation == .query {
            // Without readable records the result is empty for a caller who could have own ones. Any other caller is
            // refused.
            let mayHaveOwn = who != .anonymous && grants.has(.read, for: "_creator")
            let names = Set(creators.filter { isAllowed($0.value) }.keys)
            return names.isEmpty && !mayHaveOwn
                ? .refused(.accessDenied, "READ operation not permitted") : .found(names)
        }
        if who == .anonymous, operation.needsUser {
            return .refused(.authenticationRequired, "request needs authorization")
        }
        guard isAllowed(.creator) else {
            return .denied("\(operation.need?.permission.rawValue ?? "") operation not permitted")
        }
        return operation == .createTaken ? .denied("record to insert already exists") : .done
    }
}
