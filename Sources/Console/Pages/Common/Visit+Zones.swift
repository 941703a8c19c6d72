internal import RecordStore
package import Records

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
                place.zoneText(zone.zoneID), zoneName(zone.zoneID) + owner, isSelected: place.zoneID.map { place.isSame($0, zone.zoneID) } ?? false)
        }
        if let zoneID = place.zoneID, !offered.contains(where: { place.isSame($0.zoneID, zoneID) }) {
            choices.append(Choice(place.zoneText(zoneID), zoneName(zoneID), isSelected: true))
        }
        if all.count > offered.count {
            choices.append(Choice("", "\(Digits.grouped(all.count - offered.count)) more on the page Zones", isSelected: false, isDisabled: true))
        }
        return choices
    }
}
