internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The panel 'Shared' of a record's page: who sees the record, and through which share.
struct SharingPanel: ViewModel {
    struct Through: ViewModel {
        /// The beginning of the reason: `A child of`.
        let reason: String
        /// The root of the share, unless it is the record itself.
        let root: Frame.Link?
        /// The record that holds the share, with the title.
        let share: Frame.Link
        /// The records between the root and this one, from the top.
        let path: [Frame.Link]
        let link: ShareLink
        let people: [SharePerson]
        let manage: String
        /// For the owner.
        let stop: String?
        /// For guests.
        let leave: String?
    }

    /// `nil` if nobody else sees the record.
    let through: Through?
    /// The form that shares the record with the records below it; `nil` if that is not possible.
    let make: String?

    /// The maximum number of parents in the path.
    private static let pathLimit = 20

    /// - Returns: `nil` for records that can't be shared, or for a guest who is losing the record.
    static func load(_ record: StoredRecord, _ visit: Visit) async throws -> SharingPanel? {
        guard visit.database.can(.listShares), visit.hasFeed(record.recordID.zoneID) else { return nil }
        let isOwner = visit.place.address.scope == .private
        let name = record.recordID.recordName
        let share = try await visit.measure { try await visit.database.share(showing: record) }
        guard let share else { return isOwner ? SharingPanel(through: nil, make: visit.place.link("share", [("name", name.string)])) : nil }
        let path = try await path(from: record, to: share, visit)
        // A record below a root may have a share of its own, which cuts its part out. A zone that is shared as a whole has no other share.
        let canBeRoot = isOwner && share.rootName != nil && share.rootName != name && share.record.recordID.recordName != name
        return SharingPanel(
            through: Through(share, of: record, path: path, isOwner: isOwner, visit), make: canBeRoot ? visit.place.link("share", [("name", name.string)]) : nil)
    }

    /// The names of the records between the record and the root, from the top.
    private static func path(from record: StoredRecord, to share: ZoneShare, _ visit: Visit) async throws -> [Name] {
        guard let root = share.rootName, record.recordID.recordName != root else { return [] }
        var path: [Name] = []
        var next = record.parent
        while let name = next, name != root, path.count < pathLimit {
            path.append(name)
            do { next = try await RecordView.record(name, in: record.recordID.zoneID, visit: visit).parent } catch is RecordError { next = nil }
        }
        return path.reversed()
    }
}

extension SharingPanel.Through {
    fileprivate init(_ found: ZoneShare, of record: StoredRecord, path: [Name], isOwner: Bool, _ visit: Visit) {
        func link(_ name: Name, _ text: String? = nil) -> Frame.Link {
            Frame.Link(text: text ?? name.string, href: visit.place.link(toRecord: name, in: record.recordID.zoneID))
        }
        let name = record.recordID.recordName
        let isShareItself = name == found.record.recordID.recordName
        switch found.rootName {
        case nil: reason = isShareItself ? "This record shares the whole zone:" : "In a zone that is shared as a whole, through"
        case name: reason = "The root of the share"
        default: reason = isShareItself ? "This record shares" : path.isEmpty ? "A child of" : "Below"
        }
        root = found.rootName.flatMap { $0 == name ? nil : link($0) }
        share = link(found.record.recordID.recordName, "“\(found.title)”")
        self.path = path.map { link($0) }
        self.link = ShareLink(found.share, title: found.title, server: visit.server)
        people = found.share.participants.map { SharePerson($0, of: found, visit.accounts, in: visit.place.address) }
        let parameters = found.rootName.map { [(name: "name", value: $0.string)] } ?? []
        manage = visit.place.link("share", parameters)
        stop = isOwner ? visit.place.link("share/stop", parameters) : nil
        leave = isOwner ? nil : visit.place.link("share/leave", parameters)
    }
}
