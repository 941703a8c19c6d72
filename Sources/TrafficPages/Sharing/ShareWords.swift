internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

// A share in the words of the pages about sharing.

extension ZoneShare {
    /// The title that the client gave; without one, the name of the root.
    func title(_ visit: Visit) -> String { givenTitle ?? rootName?.string ?? "zone \(visit.zoneName(zoneID))" }

    /// The page of the record that holds the share.
    func href(_ visit: Visit) -> String { visit.place.link(toRecord: record.recordID.recordName, in: zoneID) }

    /// The maximum number of users that a sentence names.
    private static let namedLimit = 6

    /// `Ada (owner), Grace (may read and write)`.
    func seenBy(_ visit: Visit) -> String {
        let owner = share.owner?.userRecordName.map { "\(visit.people.name(of: $0)) (owner)" }
        let guests = share.guests.map { "\(visit.people.name(of: $0)) (\(share.permission(of: $0).words))" }
        let all = (owner.map { [$0] } ?? []) + guests
        let named = all.prefix(Self.namedLimit).joined(separator: ", ")
        return all.count > Self.namedLimit ? "\(named) and \(Digits.grouped(all.count - Self.namedLimit)) more" : named
    }
}

extension Place {
    /// The zone as a user sees it: its owner in the private database, everybody else in the shared one.
    func seen(by user: User, _ zoneID: ZoneID, of owner: Name) -> Place {
        with {
            $0.address.scope = user.userRecordName == owner ? .private : .shared
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .one(ZoneID(zoneName: zoneID.zoneName, ownerRecordName: owner))
        }
    }
}

extension Visit {
    /// True if the zone can have shares that this database lists.
    func mayShare(_ zoneID: ZoneID) -> Bool { hasFeed(zoneID) && database.can(.listShares) }

    /// The owner of a zone of this database.
    func owner(of zoneID: ZoneID) -> Name {
        guard place.address.scope == .shared, let owner = zoneID.ownerRecordName else { return people.actor.userRecordName }
        return owner
    }
}
