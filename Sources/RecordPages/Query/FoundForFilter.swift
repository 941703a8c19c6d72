internal import Console
internal import JSON
internal import Records

/// The records that the button Find of a filter has found. Each is a link that sets the value of the filter.
struct FoundForFilter: ViewModel {
    /// The index of the filter.
    let row: Int
    let records: [RecordLink]
    /// A sentence if no record is found.
    let nothing: String?

    /// The name of the button. Its value is the name of the filter's row.
    static let buttonName = "find"

    /// - Returns: `nil` if the button was not pressed.
    init?(_ form: QueryForm, _ visit: Visit) async throws {
        guard let pressed = visit.fields.text(Self.buttonName), let row = form.filterIndex(pressed, visit) else { return nil }
        let zoneIDs = visit.place.zoneID.map { [$0] } ?? visit.zones.map(\.zoneID)
        let text = form.filters[row].value
        let found = try await RecordNames.matching(text, in: zoneIDs, visit: visit)
        records = found.map { record in
            RecordLink(
                href: visit.place.link("query", form.changed { $0.filters[row].value = record.recordName.string }.parameters), recordName: record.recordName.string,
                title: record.title)
        }
        nothing = records.isEmpty ? RecordNames.nothing(for: text) : nil
        self.row = row
    }
}

extension QueryField {
    /// True if a filter on the field has the name of a record as its value.
    func takesRecordName(_ comparator: Comparator) -> Bool {
        guard definition.type.valueType == .reference, !comparator.takesList else { return false }
        if case .system(let system) = key { return system == .recordID || system == .parent }
        return true
    }
}
