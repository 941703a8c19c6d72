internal import Accounts
package import Console
internal import HTTPServing
internal import HTTPTypes
internal import RecordStore
internal import Records

/// The page Users: all users with a summary of their data, the choice of the acting user, and the form for a new user.
package enum UsersView {
    /// The number of users per page.
    private static let limit = 20
    /// The number of zones to examine per user.
    private static let zoneLimit = 10
    /// The number of changes to read at each end of the feeds, for the dates.
    private static let changes = 200

    package static func load(_ visit: Visit) async throws -> ComponentPage { try await load(visit, refused: nil) }

    private static func load(_ visit: Visit, refused: RefusedForm?) async throws -> ComponentPage {
        let found = visit.fields[Frame.Find.parameter]?.trimmingSpaces ?? ""
        // A container in iCloud has one user here: the one who signed in.
        let all = visit.connection == nil ? visit.people.users : [visit.people.actor]
        let users = found.isEmpty ? all : all.filter(Search(found).finds)
        let last = max(1, (users.count + limit - 1) / limit)
        let page = visit.fields.number("page", in: 1...last) ?? 1
        let existing = try await UserData.environments(visit)
        let same = SamePage(asked: visit)
        var rows: [Table.Row] = []
        for user in users.dropFirst((page - 1) * limit).prefix(limit) {
            rows.append(try await row(user, chosenFor: same, existing: existing, visit: visit))
        }
        func link(_ number: Int) -> String? {
            guard number >= 1, number <= last else { return nil }
            return visit.place.link(
                "users",
                (same?.parameters ?? [])
                    + [(Frame.Find.parameter, found), ("page", String(number))].filter { !$0.1.isEmpty })
        }
        let start = (page - 1) * limit
        let rule: Inline =
            visit.console.access.mode == .open
            ? "choose a user with the header `X-Skylight-User`, or with the token of a sign-in"
            : "act as the signed-in user"
        return ComponentPage(
            .users, status: refused == nil ? .ok : .badRequest,
            PageHead(
                Tab.users.title,
                [
                    "Every user has a private database in each container, one in development and one in production. The counts are for \(visit.place.address.container.description). Act as a user to see that user's data. Requests to the web services \(rule)."
                ] + (same.map { ["‘Act as’ leads back to \($0.title)."] } ?? []),
                forms: [
                    Form(
                        .line, visit.place.link("users/add"),
                        [
                            FormField(
                                .name, "name", "New user", value: refused?.typed, placeholder: "Grace Hopper",
                                limit: Accounts.nameLimit,
                                isRequired: true),
                            FormField(
                                .email, "email", "E-mail, if any",
                                value: refused == nil ? nil : visit.fields["email"], placeholder: "grace@example.com",
                                limit: Accounts.emailAddressLimit, isLabelled: false),
                        ], button: "Add"),
                    .search(Frame.Find(on: .users, at: visit.place, label: "Find a user", for: same), found: found),
                ]),
            (refused.map { [Note($0)] } ?? []) + [
                Table(
                    "Users of the server", style: .cards,
                    ["user"] + UserData.shown(existing, visit).map { .column($0.rawValue, "userdata") } + [
                        .number("shared zones"), .actions("act"),
                    ], rows,
                    nothing: EmptyState(
                        "No user found",
                        "No user’s name, handle, e-mail address or user record name contains ‘\(found)’."))
            ],
            foot: PageFooter(
                shown: last == 1
                    ? nil
                    : "Users \(Digits.grouped(start + 1)) to \(Digits.grouped(start + rows.count)) of \(Digits.grouped(users.count))",
                previous: link(page - 1).map { .previousPage($0) },
                next: link(page + 1).map { .nextPage($0) }))
    }

    private static func row(
        _ user: User, chosenFor page: SamePage?, existing: Set<Records.Environment>, visit: Visit
    ) async throws -> Table.Row {
        @Sendable func place(_ scope: DatabaseScope) -> Place {
            visit.place.with {
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .unspecified
                $0.address.scope = scope
            }
        }
        let name = user.displayName
        let key = visit.accounts.serverKeys().first { $0.userRecordName == user.userRecordName }
        let remarks = [user.emailAddress, key.map { "the server key ‘\($0.name)’" }].compactMap { $0 }
        var cells: [Inline] = [
            "\(.link(name, visit.place.link("users/user", [("name", user.handle)]))) \(.faint(Inline(user.handle)))"
                + .lines(remarks.map { .faint(Inline($0)) } + [.copyable(user.userRecordName.string)])
        ]
        for environment in UserData.shown(existing, visit) {
            let data = try await UserData(
                of: user, in: environment, zones: zoneLimit, changes: changes, existing: existing, visit: visit)
            cells.append(.lines(data.lines))
        }
        let environment = visit.place.address.environment
        let shared = try await visit.measure {
            let address = place(.shared).address
            guard existing.contains(environment), UserData.reaches(address, visit),
                try await UserData.isKnown(user, in: environment, visit)
            else { return 0 }
            let database = try await visit.engine.database(address, as: Caller(userRecordName: user.userRecordName))
            return try await database.zones().count { !$0.zoneID.isDefault }
        }
        let own = place(visit.place.address.scope)
        let zones = Digits.grouped(shared)
        return Table.Row(
            cells + [
                .link(zones, place(.shared).link("zones"), label: "\(zones) zones shared with \(name)"),
                user == visit.people.actor
                    ? .badge("acting now")
                    : .buttons([.button("Act as", page?.link(at: own) ?? own.link("users"), label: "Act as \(name)")]),
            ])
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

    package static func add(_ visit: Visit) async throws -> Answer {
        let name = visit.fields["name"]?.trimmingSpaces ?? ""
        do {
            if name.isEmpty {
                throw RecordError(.badRequest, "A user needs a name, such as Grace Hopper, or a handle, such as grace")
            }
            _ = try await UserCreation.make(
                name, emailAddress: visit.fields["email"]?.trimmingSpaces, in: visit.accounts)
            return .redirect(visit.place.link("users", [Notice.userAdded.parameter]))
        } catch let error as RecordError where [.badRequest, .exists].contains(error.code) {
            return .page(try await load(visit, refused: RefusedForm(error, typed: name)))
        }
    }
}

// MARK: - Data of a user

/// The content of a user's private database in one environment.
struct UserData: Sendable {
    let place: Place
    /// The summaries of the first zones; empty if the user never used the environment.
    /// `nil` if the engine can't summarize, or the environment does not exist.
    let summaries: ZoneSummaries?
    /// True if the environment exists.
    let isThere: Bool
    /// `nil` if the environment does not exist, or nobody can tell.
    let answer: DataAnswer?

    /// - Parameters:
    ///   - zones: the number of zones to examine.
    ///   - changes: the number of changes to read at each end of the feeds, in total, for the dates.
    init(
        of user: User, in environment: Records.Environment, zones: Int, changes: Int,
        existing: Set<Records.Environment>, visit: Visit
    ) async throws {
        let place = visit.place.with {
            $0.address.environment = environment
            $0.address.scope = .private
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .unspecified
        }
        self.place = place
        isThere = existing.contains(environment)
        guard isThere else {
            (summaries, answer) = (nil, nil)
            return
        }
        (summaries, answer) = try await visit.measure {
            guard try await Self.isKnown(user, in: environment, visit) else {
                return (ZoneSummaries(zones: [], left: 0), nil)
            }
            guard Self.reaches(place.address, visit) else { return (nil, nil) }
            let database = try await visit.engine.database(
                place.address, as: Caller(userRecordName: user.userRecordName))
            guard database.can(.summarizeZones) else {
                return (nil, try await DataAnswer(byFeedsOf: database, limit: zones, mentionsObjects: visit.hasObjects))
            }
            let summaries = try await database.require(.summarizeZones).summaries(limit: zones, changes: changes)
            return (summaries, DataAnswer(summaries, mentionsObjects: visit.hasObjects))
        }
    }

    /// True if the store may have data of a user. Viewing a page does not create the user in the store.
    static func isKnown(_ user: User, in environment: Records.Environment, _ visit: Visit) async throws -> Bool {
        // iCloud knows the one who signed in.
        guard visit.connection == nil, visit.engine.can(.knowUsers) else { return true }
        return try await visit.engine.require(.knowUsers).knows(
            user.userRecordName, in: visit.place.address.container, environment)
    }

    /// False for a database in iCloud that its credentials do not open.
    static func reaches(_ address: DatabaseAddress, _ visit: Visit) -> Bool {
        guard visit.connection != nil else { return true }
        return visit.accounts.connections(of: address.container).contains {
            $0.environment == address.environment && $0.reach.contains(address.scope)
        }
    }

    /// The environments to show. For a container in iCloud, only those that are connected are known.
    static func shown(_ existing: Set<Records.Environment>, _ visit: Visit) -> [Records.Environment] {
        Records.Environment.allCases.filter { visit.connection == nil || existing.contains($0) }
    }

    /// The existing environments of the visit's container.
    static func environments(_ visit: Visit) async throws -> Set<Records.Environment> {
        guard visit.engine.can(.listEnvironments) else { return Set(Records.Environment.allCases) }
        return Set(
            try await visit.measure {
                try await visit.engine.require(.listEnvironments).environments(of: visit.place.address.container)
            })
    }

    var records: Int { summaries?.zones.reduce(0) { $0 + $1.counts.total } ?? 0 }

    /// The record counts by type, the highest first.
    var types: [(name: Name, count: Int)] {
        var counts: [Name: Int] = [:]
        for zone in summaries?.zones ?? [] { counts.merge(zone.counts.records, uniquingKeysWith: +) }
        return Self.sorted(counts)
    }

    static func sorted(_ counts: [Name: Int]) -> [(name: Name, count: Int)] {
        counts.filter { $0.value > 0 }.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }.map {
            ($0.key, $0.value)
        }
    }

    /// The number of zones. The default zone, which always exists, counts if it has records.
    var zoneCount: Int {
        (summaries?.zones.count { !$0.zoneID.isDefault || $0.counts.total > 0 } ?? 0) + (summaries?.left ?? 0)
    }

    var firstSave: Timestamp? { summaries?.zones.compactMap(\.firstSave).min() }
    var isFirstCertain: Bool { summaries.map { $0.left == 0 && $0.zones.allSatisfy(\.isFirstCertain) } ?? false }
    var lastSave: Timestamp? { summaries?.zones.compactMap(\.lastSave).max() }
}

extension UserData {
    /// The number of types that a summary names.
    private static let typeLimit = 3

    /// True if there is nothing to say but ``nothing``.
    var isEmpty: Bool { records == 0 && (summaries?.left ?? 0) == 0 && answer?.words == nil }

    /// The text in place of a summary without records.
    var nothing: String {
        let left = summaries?.left ?? 0
        let looked = summaries?.zones.count ?? 0
        if isThere, summaries == nil {
            return
                "\(answer == nil ? "unknown" : "counts are unknown"): this store can't \(Capability.summarizeZones.task)"
        }
        if left > 0 {
            return "no records in the first \(Digits.grouped(looked)) of \(Digits.count(looked + left, "zone"))"
        }
        return zoneCount == 0 ? "no data yet" : "no records; \(Digits.count(zoneCount, "zone"))"
    }

    /// The summary: the answer, the count, the types and the dates.
    var lines: [Inline] {
        var lines: [Inline] = []
        if let words = answer?.words {
            let objects: Inline = answer?.hasObjects ?? false ? " \(.link("Objects", place.link("objects")))" : ""
            lines.append("Has data: \(strong: words)\(objects)")
        }
        let href = place.link("zones")
        guard records > 0 else { return lines + [zoneCount == 0 ? .faint(Inline(nothing)) : .link(nothing, href)] }
        let left = summaries?.left ?? 0
        let zones =
            Digits.count(zoneCount, "zone")
            + (left > 0 ? ", counted in \(Digits.grouped(summaries?.zones.count ?? 0))" : "")
        lines.append("\(.link(Digits.count(records, "record"), href, style: "records")) \(.faint("in \(zones)"))")
        var words = types.prefix(Self.typeLimit).map { "\($0.name) \(Digits.grouped($0.count))" }
        let others = types.dropFirst(Self.typeLimit)
        if !others.isEmpty {
            words.append(
                "\(Digits.grouped(others.reduce(0) { $0 + $1.count })) of \(Digits.count(others.count, "more type"))")
        }
        lines.append(Inline(words.joined(separator: ", ")))
        if let firstSave {
            lines.append(.faint("first save \(.time(firstSave))\(isFirstCertain ? "" : " or earlier")"))
        }
        if let lastSave { lines.append(.faint("last save \(.time(lastSave))")) }
        return lines
    }
}

// MARK: - Removal

/// Removes a user, after a confirmation that lists the effects.
package enum UserRemovalActions {
    private static let field = "name"

    /// - Throws: `RecordError` NOT_FOUND if the user does not exist, BAD_REQUEST if the user can't be removed.
    package static func confirm(_ visit: Visit) throws -> ConfirmationView {
        let user = try user(visit)
        try visit.accounts.checkRemovable(user)
        let now = Timestamp.now()
        let sessions = visit.accounts.webAuthSessions().count { $0.user == user.userRecordName && $0.isLive(at: now) }
        return ConfirmationView(
            on: .users, title: "Delete the user ‘\(user.displayName)’?",
            lines: [
                "This deletes the name, the e-mail address and the user's sign-in sessions: "
                    + (sessions == 0
                        ? "there are none." : "\(Digits.grouped(sessions)) \(sessions == 1 ? "ends" : "end") at once."),
                "The user's data and the zones that others share with the user stay under \(user.userRecordName). "
                    + "To delete the data too, purge the user's zones first.",
                "Nobody can sign in with this name, until the user is restored with all data: create ‘\(user.handle)’ on the page Users, "
                    + "or send a request that names the user.",
            ], action: visit.place.link("users/remove"), fields: [Frame.Hidden(name: field, value: user.handle)],
            button: "Delete the user",
            cancel: visit.place.link("users/user", [(field, user.handle)]))
    }

    /// - Returns: the page Users, as the developer if the acting user was removed.
    package static func remove(_ visit: Visit) async throws -> String {
        let user = try user(visit)
        _ = try await visit.accounts.removeUser(user.userRecordName)
        let place =
            user == visit.people.actor ? visit.place.with { ($0.user, $0.zone) = (nil, .unspecified) } : visit.place
        return place.link("users", [Notice.userRemoved.parameter])
    }

    private static func user(_ visit: Visit) throws -> User {
        let name = visit.fields[field] ?? ""
        guard let user = visit.people.user(named: name) else {
            throw RecordError(.notFound, "There is no user '\(name.prefix(80))'")
        }
        return user
    }
}
