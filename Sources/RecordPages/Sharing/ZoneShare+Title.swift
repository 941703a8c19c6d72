internal import JSON
internal import RecordStore
internal import Records

extension ZoneShare {
    /// The title that the share was given; `nil` if it has none.
    var givenTitle: String? {
        guard case .string(let title)? = (try? record.fields.values(of: [Share.titleField]))?[Share.titleField], !title.isEmpty else { return nil }
        return title
    }

    /// The title; without one, the name of the root or of the zone.
    var title: String { givenTitle ?? (rootName ?? zoneID.zoneName).string }
}
