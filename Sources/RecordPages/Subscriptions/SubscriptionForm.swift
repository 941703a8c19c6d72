internal import Console
internal import Foundation
internal import JSON
internal import RecordStore
internal import Records
internal import Text

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
        firesOn = isSubmitted ? Set(fields.all("on").compactMap { Subscription.Event(rawValue: $0) }) : Set(Subscription.Event.allCases)
        firesOnce = fields["once"] != nil
        sends = isSubmitted ? fields["sends"] != nil : true
        info = NotificationInfo()
        for part in NotificationInfo.texts { info[keyPath: part.path] = fields.text(part.name.string) }
        for part in NotificationInfo.lists {
            info[keyPath: part.path] = (fields[part.name.string] ?? "").split(separator: ",").map { Name(String($0).trimmingSpaces) }.filter { $0 != "" }
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
        case .query: subject = .query(Subscription.RecordSubject(query, firesOn: firesOn, firesOnce: firesOnce, zoneID: zoneID))
        case .zone:
            guard let zoneID else { throw RecordError(.badRequest, "Choose the zone that the subscription is about") }
            subject = .zone(zoneID, recordType: recordType)
        case .database: subject = .database(recordType: recordType)
        }
        return Subscription(savedID ?? (id.isEmpty ? newID : Name(id)), to: subject, notificationInfo: sends ? info : nil)
    }
}
