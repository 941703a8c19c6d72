package import Accounts
internal import RecordStore
package import Records

/// A second place of the container that a form names: the target of a copy or of a comparison.
package struct OtherDatabase: Sendable {
    package static let environmentField = "environment"
    package static let databaseField = "database"
    /// The handle of the database's user.
    package static let userField = "to"
    package static let zoneField = "zoneName"
    package static let fieldNames = [environmentField, databaseField, userField, zoneField]

    /// The place, with its zone.
    package let place: Place
    package let user: User
    package let zoneID: ZoneID

    /// Reads the fields of a request. Missing fields take their values from the place of the request.
    /// - Parameter isOwn: true if the place must be a database that the user
    ///   owns, which excludes the shared database, and a zone that can be created.
    /// - Throws: `RecordError` BAD_REQUEST if there is no such place.
    package init(_ visit: Visit, isOwn: Bool) throws {
        let here = visit.place
        let fields = visit.fields
        let environment =
            fields.text(Self.environmentField).map { Records.Environment(rawValue: $0) } ?? here.address.environment
        let scope = fields.text(Self.databaseField).map { DatabaseScope(rawValue: $0) } ?? here.address.scope
        guard let environment, let scope, !isOwn || scope != .shared else {
            throw RecordError(.badRequest, "Choose an environment, and the private or the public database")
        }
        let handle = fields.text(Self.userField) ?? visit.people.actor.handle
        guard let user = visit.people.user(named: handle) else {
            throw RecordError(.badRequest, "There is no user '\(handle)'; create the user on the page Users")
        }
        self.user = user
        let typed = fields[Self.zoneField]?.trimmingSpaces ?? here.zoneID.map { here.zoneText($0) } ?? ""
        if isOwn, scope == .private, fields[Self.zoneField] != nil, typed.isEmpty {
            throw RecordError(.badRequest, "Name the zone; the default zone is called \(ZoneID.defaultZoneName)")
        }
        if isOwn || scope != .shared {
            let name = Name(typed)
            zoneID =
                scope == .public || name.isEmpty || name == ZoneID.defaultZoneName
                ? ZoneID.default : ZoneID(zoneName: name)
            if isOwn, !zoneID.isDefault { try NameRules.checkCustomZoneName(zoneID.zoneName) }
        } else {
            guard case .one(let zoneID) = Place.zone(typed, owner: nil, in: scope) else {
                throw RecordError(
                    .badRequest, "Name the zone as OWNER/ZONE: a shared database has zones of several owners")
            }
            self.zoneID = zoneID
        }
        place = Place(
            address: DatabaseAddress(container: here.address.container, environment: environment, scope: scope),
            user: user.handle == User.developerHandle ? nil : user.handle, zone: .one(zoneID))
    }

    /// True if the other place is this zone of the visit's own database.
    package func isZone(_ zoneID: ZoneID?, of visit: Visit) -> Bool {
        isDatabase(of: visit) && zoneID.map { place.isSame($0, self.zoneID) } ?? false
    }

    private func isDatabase(of visit: Visit) -> Bool {
        place.address == visit.place.address && (place.address.scope == .public || user == visit.people.actor)
    }

    /// `zone Chats of Ada’s private database, development`
    package var words: String { Self.words(place, user) }

    package static func words(_ place: Place, _ user: User) -> String {
        let whose =
            place.address.scope == .public
            ? "the public database" : "\(user.displayName)’s \(place.address.scope.rawValue) database"
        return "zone \(place.zoneID?.zoneName ?? "") of \(whose), \(place.address.environment.rawValue)"
    }

    /// The fields of a form or a URL that name the place.
    package var parameters: [(name: String, value: String)] {
        [
            (Self.environmentField, place.address.environment.rawValue),
            (Self.databaseField, place.address.scope.rawValue),
            (Self.userField, user.handle), (Self.zoneField, place.zoneText(zoneID)),
        ]
    }
}

/// The inputs for another place of the container, with their current values.
package struct OtherDatabaseInputs: ViewModel {
    let environments: [Choice]
    let databases: [Choice]
    let user: UserField
    let zoneName: String
    /// The known zones of the database.
    let zones: [String]
    let nameLimit = String(ZoneID.nameLimit)

    /// - Parameters:
    ///   - scopes: the available databases.
    ///   - zones: the zones of the other place.
    ///   - zoneName: the name to offer; `nil` for that of the visit's own zone.
    ///   - mark: the identifier of the user field for scripts.
    package init(
        _ visit: Visit, scopes: [DatabaseScope], zones: [Zone] = [], zoneName offered: String? = nil,
        mark: String? = nil
    ) {
        let fields = visit.fields
        let address = visit.place.address
        let environment = fields.text(OtherDatabase.environmentField) ?? address.environment.rawValue
        let database =
            fields.text(OtherDatabase.databaseField)
            ?? (scopes.contains(address.scope) ? address.scope : .private).rawValue
        environments = Records.Environment.allCases.map {
            Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == environment)
        }
        databases = scopes.map { Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == database) }
        user = UserField(
            visit.people, name: OtherDatabase.userField, id: OtherDatabase.userField, label: "User", mark: mark,
            selected: fields.text(OtherDatabase.userField) ?? visit.people.actor.handle)
        let place = visit.place.with { $0.address.scope = DatabaseScope(rawValue: database) ?? address.scope }
        zoneName = fields[OtherDatabase.zoneField] ?? offered ?? visit.place.zoneID.map { place.zoneText($0) } ?? ""
        self.zones = zones.prefix(Frame.zoneLimit).map { place.zoneText($0.zoneID) }
    }

    /// The inputs for a place that need not exist.
    package var fields: [FormField] {
        [
            FormField(.choice(environments), OtherDatabase.environmentField, "environment"),
            FormField(
                .choice(databases), OtherDatabase.databaseField, "database",
                hint: "the public database belongs to all users"),
            FormField(.user(user), OtherDatabase.userField, "user"),
            FormField(
                .name, OtherDatabase.zoneField, "zone", value: zoneName,
                hint: "created if missing; the public database has only its default zone", limit: ZoneID.nameLimit,
                isRequired: true),
        ]
    }
}

// MARK: - Users

/// An input for a user: a selection for few users; for many, a text field with suggestions.
package struct UserField: ViewModel {
    /// The maximum number of users in a selection.
    static let limit = 50
    /// The number of suggestions for a text field.
    private static let suggestionLimit = 12

    let name: String
    /// The id for a separate label element; if it is `nil`, ``label`` names the input.
    let id: String?
    let label: String?
    /// The identifier for scripts.
    let mark: String?
    package let isTyped: Bool
    /// The options of the selection, or the suggestions.
    package let choices: [Choice]
    let value: String
    /// The id of the suggestion list, which must be unique on the page.
    let list: String

    /// - Parameters:
    ///   - none: the label of the option without a user; `nil` if a user is required.
    ///   - selected: the handle of the selected user.
    ///   - isOffered: returns true for the users to offer.
    package init(
        _ people: People, name: String, id: String? = nil, label: String? = nil, mark: String? = nil,
        none: String? = nil, selected: String? = nil,
        list: String = "users", isOffered: (User) -> Bool = { _ in true }
    ) {
        (self.name, self.id, self.label, self.mark, self.list) = (name, id, label, mark, list)
        isTyped = people.count > Self.limit
        value = selected ?? ""
        let users = (isTyped ? people.recent(Self.suggestionLimit) : people.users).filter(isOffered)
        var choices = users.named.map { user, name in
            Choice(user.handle, name, isSelected: selected.map { Name($0) == Name(user.handle) } ?? false)
        }
        if !isTyped {
            if let none { choices.insert(Choice("", none, isSelected: selected == nil), at: 0) }
            // A requested user who does not exist stays in the form.
            if let selected, !choices.contains(where: \.isSelected) {
                choices.append(Choice(selected, selected, isSelected: true))
            }
        }
        self.choices = choices
    }
}

extension [User] {
    /// The users with their names, and those of one name with their handles.
    package var named: [(user: User, name: String)] {
        let counts = Dictionary(map { ($0.displayName, 1) }, uniquingKeysWith: +)
        return map { user in
            (user, counts[user.displayName] == 1 ? user.displayName : "\(user.displayName) (\(user.handle))")
        }
    }
}

/// Creates users from form input.
package enum UserCreation {
    /// - Parameter name: a name such as `Grace Hopper`. Without an e-mail address, a single lowercase word
    ///   is a handle, and a user record name is accepted too: both return the existing user or create one.
    /// - Parameter signIn: the sign-in that requests the user; `nil` for an administrator.
    /// - Throws: `RecordError` BAD_REQUEST if the name or e-mail address is invalid or
    ///   taken, or the server has too many users; THROTTLED if the sign-in has to wait.
    package static func make(
        _ name: String, emailAddress: String?, for signIn: UserSignIn? = nil, in accounts: Accounts
    ) async throws -> User {
        let emailAddress = emailAddress.flatMap { $0.isEmpty ? nil : $0 }
        if emailAddress == nil, isHandle(name) {
            return try await accounts.existingOrNewUser(named: name, for: signIn)
        }
        return try await accounts.makeUser(displayName: name, emailAddress: emailAddress, for: signIn)
    }

    private static func isHandle(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }
}
