internal import Accounts
package import RecordStore
package import Records
internal import RemoteRecordStore

extension Visit {
    /// The default zone of pages: the first zone with a feed, else the default zone; `nil` in an empty shared database.
    package var usualZoneID: ZoneID? {
        if let zone = customZones.first { return zone.zoneID }
        return place.address.scope == .shared ? nil : .default
    }

    /// The same visit in one zone.
    package func inZone(_ zoneID: ZoneID) -> Visit {
        var visit = self
        visit.place = place.inZone(zoneID)
        return visit
    }

    /// The same visit in all zones.
    package var inAllZones: Visit {
        var visit = self
        visit.place.zone = .all
        return visit
    }

    /// The maximum number of zones in a selection. The search in the bar finds the others.
    private static var zoneChoiceLimit: Int { 100 }

    /// The zones to choose from, the current one selected.
    package func zoneChoices(allowsAll: Bool, only isOffered: (Zone) -> Bool = { _ in true }) -> [Choice] {
        var choices = allowsAll ? [Choice("", "all zones", isSelected: place.zoneID == nil)] : []
        let all = zones.filter(isOffered)
        let offered = all.prefix(Self.zoneChoiceLimit)
        choices += offered.map { zone in
            let owner = ownerName(zone.zoneID).map { " \($0)" } ?? ""
            return Choice(
                place.zoneText(zone.zoneID), zoneName(zone.zoneID) + owner,
                isSelected: place.zoneID.map { place.isSame($0, zone.zoneID) } ?? false)
        }
        if let zoneID = place.zoneID, !offered.contains(where: { place.isSame($0.zoneID, zoneID) }) {
            choices.append(Choice(place.zoneText(zoneID), zoneName(zoneID), isSelected: true))
        }
        if all.count > offered.count {
            choices.append(
                Choice(
                    "", "\(Digits.grouped(all.count - offered.count)) more on the page Zones", isSelected: false,
                    isDisabled: true))
        }
        return choices
    }
}

// MARK: - Types

extension Visit {
    /// The zones that the tab Query searches.
    package var queryArea: QueryRequest.Area {
        switch place.zone {
        case .one(let zoneID): .zone(zoneID)
        case .all, .unspecified: place.address.scope == .public ? .zone(.default) : .allZones
        }
    }

    package var queriesSeveralZones: Bool { queryArea == .allZones && zones.count > 1 }

    /// The default type: the one with the most records, among the listable types if there are any.
    /// - Parameter counts: the ``recordCounts()``.
    package func usualType(_ counts: [Name: Int]?) -> RecordType? {
        let listable = types.filter(\.isListable)
        let candidates = listable.isEmpty ? types : listable
        guard let counts else { return candidates.first }
        return candidates.reversed().max { counts[$0.name] ?? 0 < counts[$1.name] ?? 0 }
    }

    /// The record counts by type in the zones of the query; `nil` if the engine does not count, or there are many
    /// zones.
    package func recordCounts() async -> [Name: Int]? {
        guard database.can(.countRecords) else { return nil }
        let asked: [ZoneID] = if case .zone(let zoneID) = queryArea { [zoneID] } else { zones.map(\.zoneID) }
        guard asked.count <= 100 else { return nil }
        var total: [Name: Int] = [:]
        for zoneID in asked {
            // Counts are optional, so the page omits them on errors. The zone may have been deleted.
            guard let counts = try? await counts(in: zoneID) else { return nil }
            total.merge(counts.records, uniquingKeysWith: +)
        }
        earlier?.counts.note(total)
        return total
    }
}

extension Visit {
    /// The types of Core Data's objects, by name.
    package var entityTypes: [RecordType] { types.filter { MirroredNaming.isEntityType($0.name) } }

    /// True if the container has objects of Core Data, as far as is known.
    package var hasObjects: Bool {
        schema?.types.keys.contains { MirroredNaming.isEntityType($0) } ?? false
            || zones.contains { MirroredNaming.isZone($0.zoneID) }
    }

    /// The number of pages of a feed to read.
    private static let pageLimit = 3

    /// The same visit with the types of Core Data's objects. For a container in iCloud of which none is known, the
    /// first pages of a feed tell some.
    package func findingEntityTypes() async throws -> Visit {
        guard let connection, entityTypes.isEmpty, place.hasFeed,
            let zoneID = place.zoneID ?? zones.first(where: { MirroredNaming.isZone($0.zoneID) })?.zoneID,
            !zoneID.isDefault
        else { return self }
        var request = ZoneChangesRequest(zoneID)
        for _ in 0..<Self.pageLimit {
            let page = try await measure { [request] in try await database.zoneChanges(request) }
            // The first pages may hold nothing but pairs.
            if !page.moreComing
                || page.changes.contains(where: {
                    $0.record.map { MirroredNaming.isEntityType($0.recordType) } ?? false
                })
            {
                break
            }
            request.since = page.syncToken
        }
        var visit = self
        visit.schema = try connections?.engine(of: connection)?.learnedIndexes.schema
        return visit
    }
}

// MARK: - Saves

extension Visit {
    /// The number of shares to look into.
    private static let shareLimit = 50

    /// False if every save is refused: in an earlier state, in production of a container in iCloud that is connected for reading, and to a
    /// guest who may only read.
    /// - Parameter zoneID: `nil` for all zones.
    package func canSave(in zoneID: ZoneID?) async throws -> Bool {
        if earlier != nil || connection?.isReadOnly ?? false { return false }
        guard place.address.scope == .shared, database.can(.listShares) else { return true }
        do {
            let shares = try await measure {
                try await database.require(.listShares).shares(in: zoneID, after: nil, limit: Self.shareLimit)
            }
            let user = people.actor.userRecordName
            return shares.isEmpty || shares.count == Self.shareLimit
                || shares.contains { $0.share.permission(of: user) == .readWrite }
        } catch let error as RecordError where error.code == .zoneNotFound {
            return false
        }
    }
}

// MARK: - Other users

extension Visit {
    /// The number of users to check for data if the acting user has none, the most recently active ones.
    private static var otherLimit: Int { 12 }

    /// Links to the same page as other users who have records in their private or shared database. An empty database
    /// shows them.
    package func othersWithData() async throws -> [Frame.Link] {
        guard place.address.scope != .public, connection == nil else { return [] }
        var links: [Frame.Link] = []
        for user in people.recent(Self.otherLimit) where user != people.actor {
            let caller = Caller(userRecordName: user.userRecordName)
            let count = try await measure {
                let database = try await engine.database(place.address, as: caller)
                return try await database.zones().count { !$0.zoneID.isDefault }
            }
            if count == 0 { continue }
            let theirs = place.with {
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .unspecified
            }
            let kept = fields.text("type").map { [("type", $0)] } ?? []
            links.append(
                Frame.Link(
                    text: "\(user.displayName), \(Digits.count(count, "zone"))", href: theirs.link("query", kept)))
        }
        return links
    }
}
