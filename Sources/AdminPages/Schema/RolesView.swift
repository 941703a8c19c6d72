internal import Accounts
package import Console
internal import RecordStore
internal import Records

/// The page Security roles: the roles, and their permissions for the records of each type in the public database.
package struct RolesView: Page {
    package static let template = "roles"
    package static let tab = Tab.roles

    struct Role: ViewModel {
        struct Member: ViewModel {
            let name: String
            let userRecordName: String
            let role: String
            let takeLabel: String
        }

        let name: String
        let meaning: String
        /// The number of the role in users' records; `nil` for a system role.
        let number: String?
        let members: [Member]
        /// True if users can be added to it here.
        let isGiven: Bool
        /// The input for a new member.
        let user: UserField
        let giveAction: String
        /// The number of types with a grant for the role.
        let types: String
        /// True for a custom role.
        let isOwn: Bool
        /// True if the role can be removed, because no type has a grant for it.
        let isRemovable: Bool
        let removeLabel: String
    }

    struct Cell: ViewModel {
        let permissions: [String]
    }

    struct Row: ViewModel {
        let name: String
        let typeHref: String
        /// This page with the form for the type; `nil` if the type can't be edited.
        let edit: String?
        let editLabel: String
        let cells: [Cell]
        let isEdited: Bool
    }

    /// The form for the grants of one type.
    struct Editor: ViewModel {
        struct Box: ViewModel {
            let value: String
            let label: String
            let isChecked: Bool
        }

        struct Line: ViewModel {
            let role: String
            let meaning: String
            let boxes: [Box]
        }

        let typeName: String
        let permissions = Grant.Permission.allCases.map(\.rawValue)
        let lines: [Line]
        let action: String
        /// The address of this form.
        let from: String
        let cancel: String
    }

    /// The roles of every container, from the widest to the narrowest.
    static let systemRoles: [Name] = ["_world", "_icloud", "_creator"]

    package let title = Self.tab.title
    let isProduction: Bool
    let canEdit: Bool
    let here: String
    let roles: [Role]
    let create: String
    let remove: String
    let give: String
    let take: String
    /// True if more users have roles than the page shows.
    let isCut: Bool
    let columns: [String]
    let rows: [Row]
    let editor: Editor?
    let count: String
    let milliseconds: String

    package static func load(_ visit: Visit) async throws -> RolesView {
        guard let schema = visit.schema else { throw visit.database.unable(.showSchema) }
        let names = roles(of: schema)
        let types = schema.sortedTypes
        let edited = visit.fields.text("type").map { Name($0) }
        if let edited, schema.types[edited] == nil { throw RecordError(known: .unknownType, edited) }
        let members = try await RoleMembers.load(visit)
        return RolesView(
            isProduction: visit.place.address.environment == .production,
            canEdit: visit.canEditSchema,
            here: visit.place.link("roles"),
            roles: names.map { name in
                let count = types.count { type in type.grants.contains { $0.role == name } }
                return Role(
                    name: name.string, meaning: GrantRow.meaning(of: name),
                    number: systemRoles.contains(name) ? nil : String(CustomRole.number(of: name)),
                    members: members.names(in: name).map { Role.Member($0, of: name, visit) },
                    isGiven: schema.roles.contains(name),
                    user: UserField(
                        visit.people, name: "user", label: "User for the role \(name)", list: "users-\(name)"),
                    giveAction: "Assign the role \(name)", types: count == 0 ? "none" : Digits.grouped(count),
                    isOwn: !systemRoles.contains(name), isRemovable: count == 0 && schema.roles.contains(name),
                    removeLabel: "Delete the role \(name)")
            },
            create: visit.place.link("roles/add"), remove: visit.place.link("roles/remove"),
            give: visit.place.link("roles/give"),
            take: visit.place.link("roles/take"),
            isCut: members.isCut, columns: names.map(\.string),
            rows: types.map { Row($0, roles: names, isEdited: $0.name == edited, visit: visit) },
            editor: visit.canEditSchema
                ? edited.flatMap { schema.types[$0] }.map { Editor($0, roles: names, visit: visit) } : nil,
            count: Digits.count(names.count, "role"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// The system roles, the custom roles, and further roles in grants.
    private static func roles(of schema: Schema) -> [Name] {
        let named = schema.types.values.flatMap { $0.grants.map(\.role) }
        return systemRoles + schema.roles.union(named).subtracting(systemRoles).sorted()
    }
}

extension RolesView.Role.Member {
    fileprivate init(_ recordName: Name, of role: Name, _ visit: Visit) {
        name = visit.people.name(of: recordName)
        userRecordName = recordName.string
        self.role = role.string
        takeLabel = "Remove the role \(role) from \(name)"
    }
}

extension RolesView.Row {
    fileprivate init(_ type: RecordType, roles: [Name], isEdited: Bool, visit: Visit) {
        name = type.name.string
        typeHref = visit.place.link("type", [("type", type.name.string)])
        edit = visit.canEditSchema && !isEdited ? visit.place.link("roles", [("type", type.name.string)]) : nil
        editLabel = "Change the grants of \(type.name)"
        cells = roles.map { role in
            let permissions = type.grants.filter { $0.role == role }.reduce(into: Set()) {
                $0.formUnion($1.permissions)
            }
            return RolesView.Cell(permissions: Grant.Permission.allCases.filter(permissions.contains).map(\.rawValue))
        }
        self.isEdited = isEdited
    }
}

extension RolesView.Editor {
    fileprivate init(_ type: RecordType, roles: [Name], visit: Visit) {
        typeName = type.name.string
        lines = roles.map { role in
            let granted = type.grants.filter { $0.role == role }.reduce(into: Set()) { $0.formUnion($1.permissions) }
            return Line(
                role: role.string, meaning: GrantRow.meaning(of: role),
                boxes: Grant.Permission.allCases.map { permission in
                    Box(
                        value: "\(role):\(permission.rawValue)", label: "\(role) may \(permission.rawValue)",
                        isChecked: granted.contains(permission))
                })
        }
        action = visit.place.link("roles/grants")
        from = visit.place.link("roles", [("type", type.name.string)])
        cancel = visit.place.link("roles")
    }
}

// MARK: - Members

/// The members of custom roles, according to the users' records in the public database.
package struct RoleMembers: Sendable {
    /// The maximum number of users' records that a page reads.
    private static let limit = 500
    /// The lower bound of the listing. All names of users' records begin with this prefix.
    private static let start: Name = "_"

    private let numbers: [Name: Set<Int64>]
    /// True if there are more users' records than were read.
    let isCut: Bool

    /// Reads the existing records. A page view does not create any.
    static func load(_ visit: Visit) async throws -> RoleMembers {
        let database = try await publicDatabase(of: visit)
        guard database.can(.listRecords) else { return RoleMembers(numbers: [:], isCut: false) }
        let request = RecordListRequest(
            .default, after: start, recordTypes: [Schema.usersType], limit: PageLimit(records: limit))
        let page = try await visit.measure { try await database.require(.listRecords).list(request) }
        let numbers = try page.records.map { ($0.recordID.recordName, try UserRecords.roleNumbers(in: $0)) }
        return RoleMembers(
            numbers: Dictionary(numbers, uniquingKeysWith: { first, _ in first }),
            isCut: page.last?.isUserRecordName ?? false)
    }

    private init(numbers: [Name: Set<Int64>], isCut: Bool) {
        self.numbers = numbers
        self.isCut = isCut
    }

    /// The user record names of the members of a role.
    func names(in role: Name) -> [Name] {
        let number = CustomRole.number(of: role)
        return numbers.filter { $0.value.contains(number) }.keys.sorted()
    }

    // MARK: Adding and removing members

    package static func give(_ visit: Visit) async throws -> String {
        try await change(visit) { $0.contains($1) ? $0 : $0 + [$1] }
        return visit.place.link("roles", [Notice.roleGiven.parameter])
    }

    package static func take(_ visit: Visit) async throws -> String {
        try await change(visit) { numbers, number in numbers.filter { $0 != number } }
        return visit.place.link("roles", [Notice.roleTaken.parameter])
    }

    /// Saves a user's record with changed roles. Keeps role numbers that are unknown here.
    private static func change(_ visit: Visit, _ change: ([Int64], Int64) -> [Int64]) async throws {
        let role = Name(visit.fields["role"] ?? "")
        guard visit.schema?.roles.contains(role) == true else {
            throw RecordError(.notFound, "Did not find role: \(role)")
        }
        let text = visit.fields["user"] ?? ""
        let name = visit.people.user(named: text)?.userRecordName ?? Name(text)
        guard name.isUserRecordName else { throw RecordError(.badRequest, "Choose a user for the role") }
        let database = try await publicDatabase(of: visit)
        // The first access creates the record of a known user. The form names this user explicitly, so it counts as an
        // access.
        if visit.people.user(name) != nil {
            _ = try await visit.engine.database(database.address, as: Caller(userRecordName: name))
        }
        let recordID = RecordID(recordName: name)
        guard
            let record = try await visit.measure({ try await database.fetch([recordID], desiredKeys: nil) }).first?
                .get()
        else {
            throw RecordError.recordNotFound
        }
        guard record.recordType == Schema.usersType else {
            throw RecordError(.badRequest, "The record '\(name)' is not a user's record")
        }
        var numbers: [Int64] = []
        if case .list(let elements, _)? = try record.fields.values(of: [UserRecords.rolesField])[UserRecords.rolesField]
        {
            numbers = elements.compactMap { if case .int64(let number) = $0 { number } else { nil } }
        }
        let changed = change(numbers, CustomRole.number(of: role)).map { FieldValue.int64($0) }
        let operation = RecordOperation(
            .update, recordName: name, recordType: Schema.usersType, recordChangeTag: record.recordChangeTag,
            fields: [UserRecords.rolesField: FieldInput(.list(changed, of: .int64))])
        for outcome in try await visit.measure({ try await database.modify(ModifyRequest([operation])) }) {
            _ = try outcome.get()
        }
    }

    private static func publicDatabase(of visit: Visit) async throws -> any RecordDatabase {
        var address = visit.place.address
        if address.scope == .public { return visit.database }
        address.scope = .public
        let caller = visit.database.caller
        return try await visit.measure { [address] in try await visit.engine.database(address, as: caller) }
    }
}

// MARK: - Actions

/// The actions on security roles and grants.
package enum RoleActions {
    package static func add(_ visit: Visit) async throws -> String {
        let name = Name(visit.fields["role"]?.trimmingSpaces ?? "")
        if RolesView.systemRoles.contains(name) || visit.schema?.roles.contains(name) == true {
            throw RecordError(.badRequest, "The role '\(name)' already exists; choose another name")
        }
        try await SchemaActions.edit([.addRole(name)], visit: visit)
        return visit.place.link("roles", [Notice.roleAdded.parameter])
    }

    package static func remove(_ visit: Visit) async throws -> String {
        try await SchemaActions.edit([.removeRole(Name(visit.fields["role"] ?? ""))], visit: visit)
        return visit.place.link("roles", [Notice.roleRemoved.parameter])
    }

    /// Replaces the grants of a type by the ticked ones. Each `grant` names a role and a permission, such as
    /// `_world:READ`.
    package static func setGrants(_ visit: Visit) async throws -> String {
        var granted: [Name: Set<Grant.Permission>] = [:]
        for text in visit.fields.all("grant") {
            guard let colon = text.lastIndex(of: ":"),
                let permission = Grant.Permission(rawValue: String(text[text.index(after: colon)...]))
            else {
                throw RecordError(.badRequest, "A grant is written as role:READ, and ‘\(text)’ is not")
            }
            granted[Name(String(text[..<colon])), default: []].insert(permission)
        }
        let grants = granted.sorted { $0.key < $1.key }.map { Grant(role: $0.key, permissions: $0.value) }
        try await SchemaActions.edit([.setGrants(grants, of: Name(visit.fields["type"] ?? ""))], visit: visit)
        return visit.place.link("roles", [Notice.grantsChanged.parameter])
    }
}
