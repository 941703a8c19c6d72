internal import Accounts
internal import Console
internal import HTTPServing
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The page Users: all users with a summary of their data, the choice of the acting user, and the form for a new user.
struct UsersView: Page {
    static let template = "users"
    static let tab = Tab.users

    struct Row: ViewModel {
        let name: String
        let handle: String
        let emailAddress: String?
        /// The name of the server key that owns this user.
        let serverKey: String?
        let userRecordName: String
        let isActor: Bool
        /// The page of the user.
        let href: String
        /// The summaries of the private databases, by environment.
        let data: [UserDataCell]
        let sharedZones: String
        /// The page that the user is chosen for, or else this one, acting as that user.
        let actAs: String
        let sharedHref: String
    }

    let title = Self.tab.title
    let rows: [Row]
    let environments: [String]
    /// True if requests name their user in a header.
    let isOpen: Bool
    let action: String
    /// The search form, and the result.
    let find: Frame.Find
    let found: String
    /// The title of the page that a user is chosen for, from the bar.
    let chosenFor: String?
    /// A message if no user was found.
    let nothing: String?
    let notice: String?
    let nameLimit: String
    let emailAddressLimit: String
    let container: String
    /// `Users 51 to 100 of 120`; `nil` if the page shows all.
    let shown: String?
    let previous: String?
    let next: String?
    let milliseconds: String

    /// The number of users per page.
    private static let limit = 20
    /// The number of zones to examine per user.
    fileprivate static let zoneLimit = 10
    /// The number of changes to read at each end of the feeds, for the dates.
    fileprivate static let changes = 200

    static func load(_ visit: Visit, _ access: AccessControl) async throws -> UsersView {
        let found = visit.fields[Frame.Find.parameter]?.trimmingSpaces ?? ""
        // A container in iCloud has one user here: the one who signed in.
        let all = visit.connection == nil ? visit.people.users : [visit.people.actor]
        let users = found.isEmpty ? all : all.filter(Search(found).finds)
        let last = max(1, (users.count + limit - 1) / limit)
        let page = visit.fields.number("page", in: 1...last) ?? 1
        let existing = try await UserData.environments(visit)
        let same = SamePage(asked: visit)
        var rows: [Row] = []
        for user in users.dropFirst((page - 1) * limit).prefix(limit) { rows.append(try await Row(user, chosenFor: same, existing: existing, visit: visit)) }
        func link(_ number: Int) -> String? {
            guard number >= 1, number <= last else { return nil }
            return visit.place.link("users", (same?.parameters ?? []) + [(Frame.Find.parameter, found), ("page", String(number))].filter { !$0.1.isEmpty })
        }
        let start = (page - 1) * limit
        return UsersView(
            rows: rows, environments: UserData.shown(existing, visit).map(\.rawValue), isOpen: access.mode == .open, action: visit.place.link("users/add"),
            find: Frame.Find(on: .users, at: visit.place, label: "Find a user", for: same), found: found, chosenFor: same?.title,
            nothing: rows.isEmpty ? "No user’s name, handle, e-mail address or user record name contains ‘\(found)’." : nil, notice: Notice.text(visit.fields["notice"]), nameLimit: String(Accounts.nameLimit), emailAddressLimit: String(Accounts.emailAddressLimit), container: visit.place.address.container.description,
            shown: last == 1 ? nil : "Users \(Digits.grouped(start + 1)) to \(Digits.grouped(start + rows.count)) of \(Digits.grouped(users.count))",
            previous: link(page - 1), next: link(page + 1), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// A case-insensitive search in the names and identifiers of users.
    private struct Search {
        private let text: [UInt8]

        init(_ text: String) { self.text = Array(text.lowercased().utf8) }

        func finds(_ user: User) -> Bool {
            [user.displayName, user.handle, user.emailAddress ?? "", user.userRecordName.string].contains {
                Array($0.lowercased().utf8).firstRange(of: text) != nil
            }
        }
    }

    static func add(_ visit: Visit) async throws -> String {
        guard let name = visit.fields["name"]?.trimmingSpaces, !name.isEmpty else {
            throw RecordError(.badRequest, "A user needs a name, such as Grace Hopper, or a handle, such as grace")
        }
        _ = try await UserCreation.make(name, emailAddress: visit.fields["email"]?.trimmingSpaces, in: visit.accounts)
        return visit.place.link("users", [Notice.userAdded.parameter])
    }
}

extension UsersView.Row {
    fileprivate init(_ user: User, chosenFor page: SamePage?, existing: Set<Records.Environment>, visit: Visit) async throws {
        @Sendable func place(_ scope: DatabaseScope) -> Place {
            visit.place.with {
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .unspecified
                $0.address.scope = scope
            }
        }
        name = user.displayName
        handle = user.handle
        emailAddress = user.emailAddress
        serverKey = visit.accounts.serverKeys().first { $0.userRecordName == user.userRecordName }?.name
        userRecordName = user.userRecordName.string
        isActor = user == visit.people.actor
        href = visit.place.link("users/user", [("name", user.handle)])
        var data: [UserDataCell] = []
        for environment in UserData.shown(existing, visit) {
            let found = try await UserData(
                of: user, in: environment, zones: UsersView.zoneLimit, changes: UsersView.changes, existing: existing, visit: visit)
            data.append(UserDataCell(found))
        }
        self.data = data
        let environment = visit.place.address.environment
        let shared = try await visit.measure {
            let address = place(.shared).address
            guard existing.contains(environment), UserData.reaches(address, visit), try await UserData.isKnown(user, in: environment, visit) else { return 0 }
            let database = try await visit.engine.database(address, as: Caller(userRecordName: user.userRecordName))
            return try await database.zones().count { !$0.zoneID.isDefault }
        }
        sharedZones = Digits.grouped(shared)
        let own = place(visit.place.address.scope)
        actAs = page?.link(at: own) ?? own.link("users")
        sharedHref = place(.shared).link("zones")
    }
}
