internal import Accounts
package import Console
internal import Foundation
internal import RecordStore
internal import Records

/// The form that makes or changes a subscription, with the latest changes that it would have been about.
package struct SubscriptionView: Page {
    package static let template = "subscription"
    package static let tab = Tab.subscriptions

    /// A box to tick.
    struct Tick: ViewModel {
        let name: String
        let value: String
        let label: String
        let isOn: Bool
    }

    /// An input for a key of `notificationInfo`.
    struct TextRow: ViewModel {
        let name: String
        let text: String
        let placeholder: String
    }

    package let title: String
    let complaint: PageError?
    let remark: String?
    let owner: String
    let action: String
    let hidden: [Frame.Hidden]
    /// The id of a saved subscription; `nil` for a new one, which has an input for it.
    let savedID: String?
    let newID: String
    let kinds: [Choice]
    let zones: [Choice]
    /// The types of a zone or database subscription; empty for a query.
    let onlyTypes: [Choice]
    /// The type and the filters of a query.
    let editor: QueryEditor?
    /// True to ask for the type of a query, because the types are unknown.
    let asksType: Bool
    let events: [Tick]
    let firesOnce: Bool
    let sends: Bool
    let texts: [TextRow]
    let moreTexts: [TextRow]
    let switches: [Tick]
    let code: CodePanel?
    let firing: FiredPanel?
    let delete: String?
    let back: String
}

extension SubscriptionView {
    private static let frequentTexts: Set<Name> = ["title", "subtitle", "alertBody", "soundName", "category"]

    package static func load(_ visit: Visit) async throws -> SubscriptionView {
        guard let id = visit.fields.text("id").map({ Name($0) }) else {
            return try await page(SubscriptionForm(visit.fields, in: visit.place.address.scope), visit)
        }
        let present = try await visit.measure { try await visit.database.require(.keepSubscriptions).subscriptions() }
        guard let subscription = present.first(where: { $0.subscriptionID == id }) else {
            throw RecordError(
                .notFound,
                "\(visit.people.actor.displayName) has no subscription \(id) in this database. One that fires once ends when it fires"
            )
        }
        guard let form = SubscriptionForm(subscription, type: { visit.schema?.types[$0] }) else {
            throw RecordError(
                .badRequest, "The form can't show the query of subscription \(id); use subscriptions/modify")
        }
        return try await page(form, visit)
    }

    /// Handles the form: draws it again, or saves the subscription.
    package static func submit(_ visit: Visit) async throws -> Answer {
        var form = SubscriptionForm(visit.fields, in: visit.place.address.scope)
        if let pressed = form.question.pressed(visit) {
            form.question = pressed
            return .page(try await page(form, visit))
        }
        guard visit.fields["do"] == "save" else { return .page(try await page(form, visit)) }
        do {
            let plan = form.plan(visit)
            if form.kind == .query, let problem = plan.firstProblem {
                throw RecordError(.badRequest, "Not saved: \(problem)")
            }
            let subscription = try form.subscription(plan.query, newID: Name(UUID().uuidString))
            try await SubscriptionActions.save(subscription, visit)
            return .redirect(
                visit.place.link(
                    "subscription", [("id", subscription.subscriptionID.string), Notice.subscriptionSaved.parameter]))
        } catch let error as RecordError {
            return .page(try await page(form, visit, complaint: PageError(error)))
        }
    }

    private static func page(_ asked: SubscriptionForm, _ visit: Visit, complaint: PageError? = nil) async throws
        -> SubscriptionView
    {
        let place = visit.place
        var form = asked
        if form.kind == .query, form.question.type == nil { form.question.type = visit.types.first?.name }
        if form.kind == .zone, form.zoneID == nil { form.zoneID = visit.customZones.first?.zoneID }
        let plan = form.plan(visit)
        let there = visit.at(form.zoneID)
        let subscription = plan.canRun || form.kind != .query ? try? form.subscription(plan.query, newID: "ID") : nil
        let canFire = visit.database.can(.fireSubscriptions)
        let refusal = canFire && complaint == nil ? try await refusal(of: subscription, visit) : nil
        let type = form.question.type.map { visit.schema?.types[$0] ?? RecordType(name: $0) }
        var firing: FiredPanel?
        if canFire, refusal == nil, let subscription { firing = try await FiredPanel.load(subscription, visit) }
        return SubscriptionView(
            title: form.savedID.map { "Subscription \($0)" } ?? "New subscription",
            complaint: complaint,
            remark: form.kind == .query && type == nil
                ? visit.connection == nil
                    ? "There is no record type yet that a query could be about." : "Enter the record type."
                : refusal.map { "It can’t be saved like this: \($0.reason)" },
            owner: "\(visit.people.actor.displayName), \(place.address.scope.rawValue) database",
            action: place.link("subscription"),
            hidden: (form.savedID.map { [Frame.Hidden(name: "saved", value: $0.string)] } ?? [])
                + (form.kind == .query
                    ? form.question.type.map { [Frame.Hidden(name: "of", value: $0.string)] } ?? [] : []),
            savedID: form.savedID?.string, newID: form.id,
            kinds: SubscriptionForm.Kind.kinds(in: place.address.scope).map {
                Choice($0.rawValue, $0.rawValue, isSelected: $0 == form.kind)
            },
            zones: form.kind == .database
                ? []
                : there.zoneChoices(allowsAll: form.kind == .query) { form.kind == .query || !$0.zoneID.isDefault },
            onlyTypes: form.kind == .query
                ? []
                : [Choice("", "all record types", isSelected: form.recordType == nil)]
                    + visit.typeNames(and: form.recordType).map {
                        Choice($0.string, $0.string, isSelected: $0 == form.recordType)
                    },
            editor: form.kind == .query
                ? type.map { QueryEditor(form.question, type: $0, plan: plan, visit: there) } : nil,
            asksType: form.kind == .query && type == nil && visit.connection != nil,
            events: form.kind == .query
                ? Subscription.Event.allCases.map {
                    Tick(name: "on", value: $0.rawValue, label: $0.rawValue, isOn: form.firesOn.contains($0))
                } : [],
            firesOnce: form.firesOnce, sends: form.sends, texts: form.textRows { frequentTexts.contains($0) },
            moreTexts: form.textRows { !frequentTexts.contains($0) } + form.listRows,
            switches: NotificationInfo.switches.map {
                Tick(name: $0.name.string, value: "1", label: $0.name.string, isOn: form.info[keyPath: $0.path])
            },
            code: subscription.map { CodePanel(saving: $0, type: type, visit: there) }, firing: firing,
            delete: form.savedID.map { place.link("subscription/delete", [("id", $0.string)]) },
            back: place.link(Tab.subscriptions.rawValue))
    }

    /// The error that a save would have; `nil` for none.
    private static func refusal(of subscription: Subscription?, _ visit: Visit) async throws -> RecordError? {
        guard let subscription, let schema = visit.schema else { return nil }
        let present = try await visit.measure { try await visit.database.require(.keepSubscriptions).subscriptions() }
        let address = visit.place.address
        let owner = address.scope == .public ? ZoneID.publicOwner : visit.people.actor.userRecordName
        var modifier = SubscriptionModifier(present, in: address, schema)
        let results = try modifier.apply([.save(subscription)]) {
            ZoneID(zoneName: $0.zoneName, ownerRecordName: $0.ownerRecordName ?? owner)
        } write: { _ in
        }
        guard case .failure(let error)? = results.first else { return nil }
        return error
    }
}

extension SubscriptionForm {
    /// The query of the form's type and filters.
    func plan(_ visit: Visit) -> CheckedQuery {
        let name = question.type ?? ""
        let type = visit.schema?.types[name] ?? RecordType(name: name)
        var question = question
        question.sorts = []
        question.chooseFittingComparators(for: type)
        return CheckedQuery(question, of: type)
    }

    func textRows(where isWanted: (Name) -> Bool) -> [SubscriptionView.TextRow] {
        NotificationInfo.texts.filter { isWanted($0.name) && ($0.name != "collapseIDKey" || kind == .query) }.map {
            part in
            SubscriptionView.TextRow(name: part.name.string, text: info[keyPath: part.path] ?? "", placeholder: "")
        }
    }

    var listRows: [SubscriptionView.TextRow] {
        NotificationInfo.lists.filter { $0.name != "additionalFields" || kind == .query }.map { part in
            SubscriptionView.TextRow(
                name: part.name.string, text: info[keyPath: part.path].map(\.string).joined(separator: ", "),
                placeholder: "names of fields, with commas")
        }
    }
}

extension Visit {
    /// The same visit in a zone, or in all.
    fileprivate func at(_ zoneID: ZoneID?) -> Visit {
        guard let zoneID else { return inAllZones }
        // A saved subscription has the owner of its zone.
        return inZone(place.address.scope == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName))
    }

    /// The types to choose from, with the one that is chosen.
    fileprivate func typeNames(and chosen: Name?) -> [Name] {
        let names = types.map(\.name)
        return names + (chosen.map { names.contains($0) ? [] : [$0] } ?? [])
    }
}

// MARK: - Form

/// The inputs of the form that makes or changes a subscription.
struct SubscriptionForm: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case query
        case zone
        case database

        /// The kinds that a database has.
        static func kinds(in scope: DatabaseScope) -> [Kind] {
            switch scope {
            case .public: [.query]
            case .private: allCases
            case .shared: [.database]
            }
        }
    }

    /// The id of the subscription to change; `nil` for a new one.
    var savedID: Name?
    /// The id of a new one; empty to make one up.
    var id: String
    var kind: Kind
    /// The type and the filters of a query.
    var question: QueryForm
    /// The only record type of a zone or database subscription; `nil` for all.
    var recordType: Name?
    /// `nil` for all zones.
    var zoneID: ZoneID?
    var firesOn: Set<Subscription.Event>
    var firesOnce: Bool
    /// False to send nothing.
    var sends: Bool
    var info: NotificationInfo

    /// The form of a new subscription, or a submitted one.
    init(_ fields: FormFields, in scope: DatabaseScope) {
        let kinds = Kind.kinds(in: scope)
        let isSubmitted = fields["kind"] != nil
        savedID = fields.text("saved").map { Name($0) }
        id = (fields["subscriptionID"] ?? "").trimmingSpaces
        kind = fields["kind"].flatMap { Kind(rawValue: $0) }.flatMap { kinds.contains($0) ? $0 : nil } ?? kinds[0]
        question = QueryForm(fields)
        recordType = fields.text("only").map { Name($0) }
        zoneID = if case .one(let zoneID) = Place.zone(fields["zone"], owner: nil, in: scope) { zoneID } else { nil }
        firesOn =
            isSubmitted
            ? Set(fields.all("on").compactMap { Subscription.Event(rawValue: $0) }) : Set(Subscription.Event.allCases)
        firesOnce = fields["once"] != nil
        sends = isSubmitted ? fields["sends"] != nil : true
        info = NotificationInfo()
        for part in NotificationInfo.texts { info[keyPath: part.path] = fields.text(part.name.string) }
        for part in NotificationInfo.lists {
            info[keyPath: part.path] = (fields[part.name.string] ?? "").split(separator: ",").map {
                Name(String($0).trimmingSpaces)
            }.filter { $0 != "" }
        }
        for part in NotificationInfo.switches { info[keyPath: part.path] = fields[part.name.string] != nil }
        if !isSubmitted { info.shouldSendContentAvailable = true }
    }

    /// The form of a saved subscription.
    /// - Returns: `nil` if the form can't express its query.
    init?(_ subscription: Subscription, type: (Name) -> RecordType?) {
        self.init(FormFields(), in: .private)
        (savedID, id, zoneID) = (subscription.subscriptionID, subscription.subscriptionID.string, subscription.zoneID)
        (sends, info) = (subscription.notificationInfo != nil, subscription.notificationInfo ?? NotificationInfo())
        switch subscription.subject {
        case .query(let subject):
            guard let question = QueryForm(subject.query, of: type(subject.query.recordType)) else { return nil }
            (kind, self.question, firesOn, firesOnce) = (.query, question, subject.firesOn, subject.firesOnce)
        case .zone(_, let recordType): (kind, self.recordType) = (.zone, recordType)
        case .database(let recordType): (kind, self.recordType, zoneID) = (.database, recordType, nil)
        }
    }

    /// - Parameter query: that of the form's type and filters.
    /// - Throws: `RecordError` BAD_REQUEST for a zone subscription without a zone.
    func subscription(_ query: Query, newID: Name) throws(RecordError) -> Subscription {
        let subject: Subscription.Subject
        switch kind {
        case .query:
            subject = .query(Subscription.RecordSubject(query, firesOn: firesOn, firesOnce: firesOnce, zoneID: zoneID))
        case .zone:
            guard let zoneID else { throw RecordError(.badRequest, "Choose the zone that the subscription is about") }
            subject = .zone(zoneID, recordType: recordType)
        case .database: subject = .database(recordType: recordType)
        }
        return Subscription(
            savedID ?? (id.isEmpty ? newID : Name(id)), to: subject, notificationInfo: sends ? info : nil)
    }
}

// MARK: - Latest changes

/// The latest changes that would have fired a subscription, and why the others would not.
struct FiredPanel: ViewModel {
    /// The number of changes to look at.
    static let limit = 200
    /// The maximum number of changes to show.
    private static let shownLimit = 50

    struct Row: ViewModel {
        let position: String
        let time: ValueView?
        let event: String
        /// The record, or the zone.
        let subject: RecordLink
        let type: String
        let by: String
    }

    let summary: String
    /// The reasons of the others, with their number.
    let misses: [String]
    let rows: [Row]
}

extension FiredPanel {
    static func load(_ subscription: Subscription, _ visit: Visit) async throws -> FiredPanel {
        let database = try await visit.database(holding: subscription.subscriptionID)
        let firings = try await visit.measure {
            try await database.require(.fireSubscriptions).latestFirings(
                of: subscription.withOwners(visit), limit: limit)
        }
        let fired = firings.filter { !$0.subscriptions.isEmpty }
        let owned = OwnedSubscription(
            user: visit.people.actor.userRecordName, scope: visit.place.address.scope, position: 0,
            isHeldToRoles: false,
            subscription: subscription.withOwners(visit))
        var counts: [(reason: String, count: Int)] = []
        for firing in firings where firing.subscriptions.isEmpty {
            let miss = SubscriptionMiss(of: owned, by: firing.change, in: visit.schema ?? Schema())
            let reason = miss?.cause ?? "roles"
            if let index = counts.firstIndex(where: { $0.reason == reason }) {
                counts[index].count += 1
            } else {
                counts.append((reason, 1))
            }
        }
        let of =
            firings.count < limit
            ? "the \(Digits.count(firings.count, "change")) of the database"
            : "the last \(limit) changes of the database"
        let more = fired.count > shownLimit ? " The table has the latest \(shownLimit)." : ""
        return FiredPanel(
            summary: firings.isEmpty
                ? "The database has no changes yet."
                : "\(Digits.grouped(fired.count)) of \(of) would have fired it.\(more)",
            misses: counts.sorted { $0.count > $1.count }.map {
                "\(Digits.grouped($0.count)) not, because of \($0.reason)"
            },
            rows: try fired.prefix(shownLimit).map { try Row($0.change, visit) })
    }
}

extension FiredPanel.Row {
    fileprivate init(_ change: CommittedChange, _ visit: Visit) throws {
        let zoneID = visit.place.address.scope == .shared ? change.zoneID : ZoneID(zoneName: change.zoneID.zoneName)
        position = Digits.grouped(change.position)
        guard let record = change.record else {
            (time, event, type, by) = (nil, "zone", "", "")
            subject = RecordLink(
                href: visit.place.inZone(zoneID).link("zone"), recordName: zoneID.zoneName.string, title: nil)
            return
        }
        (event, type, by) = (
            record.event.rawValue, record.record.recordType.string,
            visit.people.name(of: record.signature.userRecordName)
        )
        time = ValueView(.time(record.signature.timestamp))
        let name = record.record.recordID.recordName
        subject = RecordLink(
            href: visit.place.link(toRecord: name, in: zoneID), recordName: name.string,
            title: try visit.titles.title(of: record.record))
    }
}

extension SubscriptionMiss {
    /// The reason after "because of".
    fileprivate var cause: String {
        switch self {
        case .otherDatabase: "their database"
        case .otherZone: "their zone"
        case .defaultZone: "their zone, which is the default zone"
        case .notOfRecords: "their subject, which is a zone"
        case .otherType: "their record type"
        case .otherEvents: "their kind"
        case .brokenQuery(let reason): "the query: \(reason)"
        case .filter(let filter, _): "the filter \(filter.fieldName) \(filter.comparator.rawValue)"
        case .tooEarly, .firedBefore: "their time"
        }
    }
}

extension Subscription {
    /// The subscription as a save stores it: a zone has its owner.
    fileprivate func withOwners(_ visit: Visit) -> Subscription {
        guard let zoneID else { return self }
        let owner = visit.place.address.scope == .public ? ZoneID.publicOwner : visit.people.actor.userRecordName
        return inZone(ZoneID(zoneName: zoneID.zoneName, ownerRecordName: zoneID.ownerRecordName ?? owner))
    }
}
