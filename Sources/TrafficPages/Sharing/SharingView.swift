internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The page Sharing: the shares of a zone, or of all zones of a database.
struct SharingView: Page {
    static let template = "zone_sharing"
    static let tab = Tab.sharing

    struct Panel: ViewModel {
        let id: String
        let title: String
        /// The page of the record that holds the share.
        let record: String
        /// The record at the top; `nil` if the whole zone is shared.
        let root: RecordLink?
        let zone: Frame.Link
        let owner: String?
        let admission: String
        let link: String
        let invitation: String
        let made: ValueView
        let sees: String
        let participants: [ParticipantRow]
        /// Problems that the server accepts.
        let smells: [String]
    }

    let title = Self.tab.title
    let scope: String
    let zoneHref: String?
    let sees: String?
    let panels: [Panel]
    /// The reason why there are none.
    let nothing: String?
    let next: String?
    let milliseconds: String
}

extension SharingView {
    /// The parameter with the number of the last share of the previous page.
    private static let afterField = "after"
    private static let pageSize = 20

    static func load(_ visit: Visit) async throws -> SharingView {
        let zoneID = visit.place.zoneID
        if visit.place.address.scope == .public { throw RecordError(.badRequest, "The public database has no shares; everybody sees its records") }
        let after = visit.fields.number(afterField, in: 0...Int64.max)
        let database = visit.database
        let shares = try await visit.measure { try await database.shares(in: zoneID, after: after, limit: pageSize + 1) }
        let readers = ShareReaders(visit)
        let titles = try await ReferencedTitles(shares.prefix(pageSize).compactMap(\.rootID), known: [], visit)
        var panels: [Panel] = []
        for share in shares.prefix(pageSize) { panels.append(try await Panel(share, readers: readers, titles: titles, visit: visit)) }
        let last = shares.count > pageSize ? shares[pageSize - 1].hierarchy : nil
        let place = visit.place
        return SharingView(
            scope: zoneID.map { "zone \(visit.zoneName($0))" } ?? "all zones of the \(place.address.scope.rawValue) database",
            zoneHref: zoneID == nil ? place.link(Tab.zones.rawValue) : place.link("zone"), sees: zoneID == nil ? nil : place.link("sees"), panels: panels,
            nothing: panels.isEmpty ? nothing(visit, after) : nil, next: last.map { place.link("sharing", [(afterField, String($0))]) },
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func nothing(_ visit: Visit, _ after: Int64?) -> String {
        if after != nil { return "There are no later shares." }
        return visit.place.address.scope == .shared
            ? "Nobody shares anything with this user, or this user has not accepted yet." : "A share appears here when an app saves one, or when you share a record on its page."
    }
}

extension SharingView.Panel {
    fileprivate init(_ share: ZoneShare, readers: ShareReaders, titles: ReferencedTitles, visit: Visit) async throws {
        let place = visit.place.inZone(share.zoneID)
        let creator = share.record.created
        let people = visit.people
        id = "share-\(share.hierarchy)"
        title = share.title(visit)
        record = share.href(visit)
        root = share.rootID.map {
            RecordLink(href: place.link(toRecord: $0.recordName, in: $0.zoneID), recordName: $0.recordName.string, title: titles[$0])
        }
        zone = Frame.Link(text: visit.zoneName(share.zoneID), href: place.link("zone"))
        owner = visit.ownerName(share.zoneID)
        admission = share.share.linkRight
        link = share.share.shortGUID
        invitation = "/share/\(PercentEncoding.encoded(share.share.shortGUID))"
        made = ValueView(.time(creator.timestamp), note: "by \(people.name(of: creator.userRecordName))")
        sees = place.link("sees") + "#share-\(share.hierarchy)"
        var rows: [ParticipantRow] = []
        for participant in share.share.participants { rows.append(try await ParticipantRow(participant, of: share, readers: readers, visit: visit)) }
        participants = rows
        smells = try await ShareCheck.findings(in: share.record, at: .now()) { people.user(invitedBy: $0) != nil }.map { $0.explanation + "." }
    }
}

extension ZoneShare {
    /// The record at the top; `nil` if the whole zone is shared.
    fileprivate var rootID: RecordID? { rootName.map { RecordID(recordName: $0, zoneID: zoneID) } }
}
