internal import Console
internal import Records

extension Visit {
    /// The zone for new records: that of the address, or the only one; `nil` if somebody must choose.
    var chosenZoneID: ZoneID? { place.zoneID ?? (zones.count == 1 ? zones[0].zoneID : nil) }

    /// The zones for new records. A page about all zones asks for one.
    var chosenZoneChoices: [Choice] {
        guard let chosenZoneID else { return [Choice("", "choose a zone", isSelected: true)] + zoneChoices(allowsAll: false) }
        return inZone(chosenZoneID).zoneChoices(allowsAll: false)
    }
}
