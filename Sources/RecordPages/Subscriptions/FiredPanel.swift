internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

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
        let firings = try await visit.measure { try await database.latestFirings(of: subscription.withOwners(visit), limit: limit) }
        let fired = firings.filter { !$0.subscriptions.isEmpty }
        let standing = StandingSubscription(
            user: visit.people.actor.userRecordName, scope: visit.place.address.scope, position: 0, isHeldToRoles: false,
            subscription: subscription.withOwners(visit))
        var counts: [(reason: String, count: Int)] = []
        for firing in firings where firing.subscriptions.isEmpty {
            let miss = SubscriptionMiss(of: standing, by: firing.change, in: visit.schema ?? Schema())
            let reason = miss?.cause ?? "roles"
            if let index = counts.firstIndex(where: { $0.reason == reason }) { counts[index].count += 1 } else { counts.append((reason, 1)) }
        }
        let of = firings.count < limit ? "the \(Digits.count(firings.count, "change")) of the database" : "the last \(limit) changes of the database"
        let more = fired.count > shownLimit ? " The table has the latest \(shownLimit)." : ""
        return FiredPanel(
            summary: firings.isEmpty ? "The database has no changes yet." : "\(Digits.grouped(fired.count)) of \(of) would have fired it.\(more)",
            misses: counts.sorted { $0.count > $1.count }.map { "\(Digits.grouped($0.count)) not, because of \($0.reason)" },
            rows: try fired.prefix(shownLimit).map { try Row($0.change, visit) })
    }
}

extension FiredPanel.Row {
    fileprivate init(_ change: CommittedChange, _ visit: Visit) throws {
        let zoneID = visit.place.address.scope == .shared ? change.zoneID : ZoneID(zoneName: change.zoneID.zoneName)
        position = Digits.grouped(change.position)
        guard let record = change.record else {
            (time, event, type, by) = (nil, "zone", "", "")
            subject = RecordLink(href: visit.place.inZone(zoneID).link("zone"), recordName: zoneID.zoneName.string, title: nil)
            return
        }
        (event, type, by) = (record.event.rawValue, record.record.recordType.string, visit.people.name(of: record.signature.userRecordName))
        time = ValueView(.time(record.signature.timestamp))
        let name = record.record.recordID.recordName
        subject = RecordLink(
            href: visit.place.link(toRecord: name, in: zoneID), recordName: name.string, title: try visit.titles.title(of: record.record))
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
