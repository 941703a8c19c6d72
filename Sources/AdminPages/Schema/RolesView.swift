internal import Accounts
package import Console
internal import HTTPTypes
internal import RecordStore
internal import Records

/// The page Security roles: the roles, and their permissions for the records of each type in the public database.
package enum RolesView {
    /// The roles of every container, from the widest to the narrowest.
    static let systemRoles: [Name] = ["_world", "_icloud", "_creator"]

    package static func load(_ visit: Visit) async throws -> ComponentPage { try await load(visit, refused: nil) }

    fileprivate static func load(_ visit: Visit, refused: RefusedForm?) async throws -> ComponentPage {
        guard let schema = visit.schema else { throw visit.database.unable(.showSchema) }
        let names = roles(of: schema)
        let edited = visit.fields.text("type").map { Name($0) }
        if let edited, schema.types[edited] == nil { throw RecordError(known: .unknownType, edited) }
        let members = try await RoleMembers.load(visit)
        let canEdit = visit.canEditSchema
        let origin =
            visit.place.address.environment == .production
            ? " The production schema comes from development and can't be edited here." : ""
        let editor = canEdit ? edited.flatMap { schema.types[$0] }.map { GrantEditor($0, roles: names, visit) } : nil
        let create = Form(
            .line, visit.place.link("roles/add"), hidden: [here(visit)],
            [
                FormField(
                    .code, "role", "New role", value: refused?.typed, placeholder: "Editor", limit: 255,
                    isRequired: true)
            ], button: "Create")
        return ComponentPage(
            .roles, status: refused == nil ? .ok : .badRequest,
            PageHead(
                Tab.roles.title,
                [
                    "The permissions of each role for the records of a type in the public database. A private database belongs to its user; in a shared one the share's permission applies. Roles limit clients; the console, the command line and Skylight’s own services may do everything.\(origin)"
                ], forms: canEdit ? [create] : []),
            (refused.map { [Note($0)] } ?? []) + (editor.map { [$0] } ?? []) + [
                Table(
                    "Grants of each type",
                    ["type"] + names.map { .column($0.string) } + (canEdit ? [.actions("change")] : []),
                    schema.sortedTypes.map { row($0, roles: names, isEdited: $0.name == edited, visit) }),
                Section(
                    "roles", "Roles",
                    [
                        Paragraph.faint(
                            "A user's record of type `Users` lists the user's custom roles by number in the field `roles`. Only the owner can change it. A role's number comes from its name, so it is the same in development and production.\(members.isCut ? " Not all users' records are shown." : "")"
                        ),
                        Table(
                            "Roles of the container", style: .narrow,
                            [.column("role", "mono"), "users", .number("number"), .number("types with grants")]
                                + (canEdit ? [.actions("delete")] : []),
                            names.map { row($0, in: schema, members, visit) }),
                    ]),
            ], foot: PageFooter(count: Digits.count(names.count, "role")))
    }

    private static func here(_ visit: Visit) -> Frame.Hidden {
        Frame.Hidden(name: "from", value: visit.place.link("roles"))
    }

    /// The grants of a type.
    private static func row(_ type: RecordType, roles: [Name], isEdited: Bool, _ visit: Visit) -> Table.Row {
        let parameters = [(name: "type", value: type.name.string)]
        let change = Frame.Link.button(
            "Change", visit.place.link("roles", parameters), label: "Change the grants of \(type.name)")
        let cells = roles.map { role -> Inline in
            let permissions = type.permissions(of: role)
            return permissions.isEmpty
                ? .missing : permissions.reduce("") { $0 + .badge($1.rawValue) + " " }
        }
        return Table.Row(
            [.link(type.name.string, visit.place.link("type", parameters))] + cells
                + (visit.canEditSchema ? [isEdited ? .faint("above") : .buttons([change])] : []))
    }

    /// A role, its members, and what can be done with it.
    private static func row(_ name: Name, in schema: Schema, _ members: RoleMembers, _ visit: Visit) -> Table.Row {
        let role = Frame.Hidden(name: "role", value: name.string)
        let isOwn = !systemRoles.contains(name)
        let count = schema.types.values.count { type in type.grants.contains { $0.role == name } }
        var users = isOwn ? "" : Inline.faint(Inline(GrantRow.meaning(of: name)))
        for member in isOwn ? members.names(in: name) : [] {
            let user = visit.people.name(of: member)
            let take = Form(
                .line, visit.place.link("roles/take"),
                hidden: [role, Frame.Hidden(name: "user", value: member.string), here(visit)], [], button: "Remove",
                buttonStyle: "bare danger", buttonLabel: "Remove the role \(name) from \(user)")
            users = users + (Inline(user) + " " + .part(take)).styled("row")
        }
        if schema.roles.contains(name) {
            let field = UserField(visit.people, name: "user", label: "User for the role \(name)", list: "users-\(name)")
            users =
                users
                + .part(
                    Form(
                        .line, visit.place.link("roles/give"), hidden: [role, here(visit)],
                        [FormField(.user(field), "user", "User", isLabelled: false)], button: "Assign",
                        buttonLabel: "Assign the role \(name)"))
        }
        let delete = Form(
            .line, visit.place.link("roles/remove"), hidden: [role, here(visit)], [], button: "Delete",
            buttonStyle: "bare danger", buttonLabel: "Delete the role \(name)")
        let isRemovable = count == 0 && schema.roles.contains(name)
        return Table.Row(
            [
                Inline(name.string), users, isOwn ? Inline(String(CustomRole.number(of: name))) : "",
                Inline(count == 0 ? "none" : Digits.grouped(count)),
            ] + (visit.canEditSchema ? [isRemovable ? .part(delete) : isOwn ? .faint("in use") : ""] : []))
    }

    /// The system roles, the custom roles, and further roles in grants.
    private static func roles(of schema: Schema) -> [Name] {
        let named = schema.types.values.flatMap { $0.grants.map(\.role) }
        return systemRoles + schema.roles.union(named).subtracting(systemRoles).sorted()
    }
}

extension RecordType {
    /// The permissions of a role for records of the type.
    fileprivate func permissions(of role: Name) -> [Grant.Permission] {
        let all = grants.filter { $0.role == role }.reduce(into: Set()) { $0.formUnion($1.permissions) }
        return Grant.Permission.allCases.filter(all.contains)
    }
}

/// The form for the grants of one type.
struct GrantEditor: Component {
    static let template = "grants"

    struct Box: ViewModel {
        let permission: String
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
    let permissions: [String] = Grant.Permission.allCases.map(\.rawValue)
    let lines: [Line]
    let action: String
    /// The address of this form.
    let from: String
    let cancel: String

    fileprivate init(_ type: RecordType, roles: [Name], _ visit: Visit) {
        typeName = type.name.string
        lines = roles.map { role in
            let granted = type.permissions(of: role)
            return Line(
                role: role.string, meaning: GrantRow.meaning(of: role),
                boxes: Grant.Permission.allCases.map { permission in
                    Box(
                        permission: permission.rawValue, value: "\(role):\(permission.rawValue)",
                        label: "\(role) may \(permission.rawValue)", isChecked: granted.contains(permission))
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
    package static func add(_ visit: Visit) async throws -> Answer {
        let name = Name(visit.fields["role"]?.trimmingSpaces ?? "")
        do {
            if RolesView.systemRoles.contains(name) || visit.schema?.roles.contains(name) == true {
                throw RecordError(.badRequest, "The role '\(name)' already exists; choose another name")
            }
            try await SchemaActions.edit([.addRole(name)], visit: visit)
            return .redirect(visit.place.link("roles", [Notice.roleAdded.parameter]))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(try await RolesView.load(visit, refused: RefusedForm(error, typed: name.string)))
        }
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
