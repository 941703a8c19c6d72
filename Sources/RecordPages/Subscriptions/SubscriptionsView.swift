internal import Accounts
package import Console
internal import RecordStore
internal import Records

/// The page Subscriptions: those of all users, by user and database.
package enum SubscriptionsView {
    /// The maximum number of subscriptions on a page.
    private static let limit = 200

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let place = visit.place
        let actor = visit.people.actor
        let isOfUser = visit.fields["in"] == "user"
        // A container in iCloud tells those of the user who signed in.
        let knowsAll = visit.database.can(.fireSubscriptions)
        let all =
            knowsAll
            ? try await visit.measure { try await visit.database.require(.fireSubscriptions).ownedSubscriptions() }
                .filter {
                    !isOfUser || $0.user == actor.userRecordName
                }
            : try await visit.measure { try await visit.database.require(.keepSubscriptions).subscriptions() }.map {
                subscription in
                OwnedSubscription(
                    user: actor.userRecordName, scope: place.address.scope, position: 0, isHeldToRoles: false,
                    subscription: subscription)
            }
        let start = visit.fields.number("from", in: 0...all.count) ?? 0
        let shown = all[start...].prefix(limit)
        struct Key: Hashable {
            let user: Name
            let scope: DatabaseScope
        }
        var order: [Key] = []
        var groups: [Key: [OwnedSubscription]] = [:]
        for owned in shown {
            let key = Key(user: owned.user, scope: owned.scope)
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(owned)
        }
        let areas = [
            Choice("", "all users", isSelected: !isOfUser), Choice("user", actor.displayName, isSelected: isOfUser),
        ]
        let area = isOfUser ? [(name: "in", value: "user")] : []
        let nothing = EmptyState(
            "No subscriptions", "A client makes one with subscriptions/modify, or you make one here.")
        return ComponentPage(
            .subscriptions,
            PageHead(
                Tab.subscriptions.title, ["Users subscribe to be notified of changes."],
                forms: knowsAll
                    ? [
                        .choosing(
                            Tab.subscriptions.rawValue, at: place,
                            [FormField(.sentChoice(areas), "in", "Subscriptions of")],
                            button: "Show")
                    ] : [],
                actions: [.go("New subscription", place.link("subscription"))]),
            order.isEmpty
                ? [nothing]
                : order.enumerated().map { number, key in
                    section(
                        groups[key] ?? [], id: "group-\(number + 1)", of: key.user, in: key.scope,
                        knowsPositions: knowsAll, visit)
                },
            foot: PageFooter(
                count: Digits.count(all.count, "subscription"),
                next: all.endIndex > shown.endIndex
                    ? .nextPage(
                        place.link(Tab.subscriptions.rawValue, area + [(name: "from", value: String(shown.endIndex))]))
                    : nil))
    }

    /// The subscriptions of a user to a database.
    private static func section(
        _ all: [OwnedSubscription], id: String, of user: Name, in scope: DatabaseScope, knowsPositions: Bool,
        _ visit: Visit
    ) -> Section {
        let handle = visit.people.user(user)?.handle ?? user.string
        let place =
            visit.connection != nil
            ? visit.place
            : visit.place.with {
                $0.address.scope = scope
                $0.user = handle == User.developerHandle ? nil : handle
                $0.zone = .unspecified
            }
        let name = visit.people.name(of: user)
        let owner = "\(name), \(scope.rawValue) database"
        return Section(
            id, "\(name) \(.faint("\(scope.rawValue) database, \(Digits.count(all.count, "subscription"))"))",
            style: "client",
            [
                Table(
                    "Subscriptions of \(owner)",
                    ["id", "kind", .column("about", "wide"), "fires on", "notification", "since", .actions()],
                    all.map { row($0, knowsPositions: knowsPositions, place, visit) }),
                Paragraph(.link("New subscription of \(owner)", place.link("subscription"))),
            ])
    }

    private static func row(_ owned: OwnedSubscription, knowsPositions: Bool, _ place: Place, _ visit: Visit)
        -> Table.Row
    {
        let subscription = owned.subscription
        let id = subscription.subscriptionID.string
        let (kind, about, fires) = subscription.words { visit.schema?.types[$0] }
        return Table.Row([
            .link(id, place.link("subscription", [("id", id)])), Inline(kind), Inline(about), Inline(fires),
            subscription.notificationInfo.map { Inline($0.words) } ?? Inline("none: nothing is sent").styled("bad"),
            Inline(
                owned.lastPosition.map { "ended: it fired once, at \(Digits.grouped($0))" }
                    ?? (knowsPositions ? "changes after \(Digits.grouped(owned.position))" : "")),
            .buttons([.delete(place.link("subscription/delete", [("id", id)]), label: "Delete \(id)")]),
        ])
    }
}

extension Subscription {
    /// The kind, the subject, and the changes that it is about, in words.
    func words(_ type: (Name) -> RecordType?) -> (kind: String, about: String, fires: String) {
        switch subject {
        case .query(let subject):
            let query = subject.query
            let filters =
                QueryForm(query, of: type(query.recordType)).map {
                    QueryText.text(of: $0, type: type(query.recordType) ?? RecordType(name: query.recordType))
                }
                ?? Digits.count(query.filters.count, "filter")
            let zone = subject.zoneID.map { " in zone \($0.zoneName)" } ?? ""
            return (
                "query", query.recordType.string + (filters.isEmpty ? "" : " where \(filters)") + zone,
                Event.allCases.filter(subject.firesOn.contains).map(\.rawValue).joined(separator: ", ")
                    + (subject.firesOnce ? ", once" : "")
            )
        case .zone(let zoneID, let recordType):
            return ("zone", "\(recordType.map { "\($0)" } ?? "all records") in zone \(zoneID.zoneName)", "any change")
        case .database(let recordType):
            return ("database", recordType.map { "\($0) in all custom zones" } ?? "all custom zones", "any change")
        }
    }
}

extension NotificationInfo {
    /// `alert, badge`, `silent`.
    var words: String {
        var words: [String] = []
        if [alertBody, alertLocalizationKey, title, titleLocalizationKey, subtitle, subtitleLocalizationKey].contains(
            where: { $0 != nil })
        {
            words.append("alert")
        }
        if soundName != nil { words.append("sound") }
        if shouldBadge { words.append("badge") }
        if words.isEmpty { words.append("silent") }
        if !additionalFields.isEmpty { words.append("with \(additionalFields.map(\.string).joined(separator: ", "))") }
        if let collapseIDKey { words.append("collapsed as \(collapseIDKey)") }
        return words.joined(separator: ", ")
    }
}

// MARK: - Actions

/// Saves and deletes subscriptions in the name of the user of the place.
package enum SubscriptionActions {
    static func save(_ subscription: Subscription, _ visit: Visit) async throws {
        try await modify(.save(subscription), visit)
    }

    package static func confirmDeletion(_ visit: Visit) throws -> ConfirmationView {
        let id = try id(visit)
        return ConfirmationView(
            on: .subscriptions, title: "Delete subscription \(id)?",
            lines: [
                "\(visit.people.actor.displayName) is no longer notified of its changes in the \(visit.place.address.scope.rawValue) database.",
                "Notifications that wait are still delivered.",
            ], action: visit.place.link("subscription/delete"), fields: [Frame.Hidden(name: "id", value: id.string)],
            button: "Delete",
            cancel: visit.place.link("subscription", [("id", id.string)]))
    }

    package static func delete(_ visit: Visit) async throws -> String {
        try await modify(.delete(id(visit)), visit)
        return visit.place.link(Tab.subscriptions.rawValue, [Notice.subscriptionDeleted.parameter])
    }

    private static func id(_ visit: Visit) throws -> Name {
        guard let id = visit.fields.text("id") else {
            throw RecordError(.badRequest, "The address needs the id of a subscription")
        }
        return Name(id)
    }

    private static func modify(_ operation: SubscriptionOperation, _ visit: Visit) async throws {
        let database = try await visit.database(holding: operation.subscriptionID)
        for result in try await visit.measure({
            try await database.require(.keepSubscriptions).modifySubscriptions([operation])
        }) {
            _ = try result.get()
        }
    }
}

extension Visit {
    /// The database with the rights that a subscription of the user has: one that is held to roles stays so.
    func database(holding subscriptionID: Name) async throws -> any RecordDatabase {
        let (user, address) = (people.actor.userRecordName, place.address)
        guard address.scope == .public, database.can(.fireSubscriptions) else { return database }
        let isHeld = try await database.require(.fireSubscriptions).ownedSubscriptions().contains { owned in
            owned.user == user && owned.scope == .public && owned.isHeldToRoles
                && owned.subscription.subscriptionID == subscriptionID
        }
        return isHeld
            ? try await engine.database(address, as: Caller(userRecordName: user, access: .signedIn)) : database
    }
}
