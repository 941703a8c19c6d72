internal import Console
internal import JSON
internal import Records

/// The records that the button Find of a filter has found, those of the types first to which its field refers.
/// Each is a link that sets the value of the filter and leaves the form open.
struct FoundForFilter: ViewModel {
    /// The index of the filter.
    let row: Int
    let records: [Record]
    /// The records beyond the first ones; `nil` if there are none.
    let others: Others?
    /// A sentence if no record is found.
    let nothing: String?

    struct Others: ViewModel {
        /// `7 more`.
        let text: String
        let records: [Record]
    }

    /// A found record, as a link that sets the value of the filter.
    struct Record: ViewModel {
        let href: String
        let recordName: String
        let title: String?
        let type: String
    }

    /// The number of records that are seen at once.
    private static let limit = 5

    /// The name of the button. Its value is the name of the filter's row.
    static let buttonName = "find"

    /// - Returns: `nil` if the button was not pressed.
    init?(_ form: QueryForm, _ visit: Visit) async throws {
        guard let pressed = visit.fields.text(Self.buttonName), let row = form.filterIndex(pressed, visit) else { return nil }
        let zoneIDs = visit.place.zoneID.map { [$0] } ?? visit.zones.map(\.zoneID)
        let text = FilterValueReader.alone(form.filters[row].value, of: nil)
        var types: Set<Name> = []
        if let name = form.type, let type = visit.schema?.types[name] {
            types = try await ReferencedTypes.all(of: type.key(named: form.filters[row].field), in: name, zoneIDs: zoneIDs, visit: visit)
        }
        let found = try await RecordNames.matching(text, in: zoneIDs, preferring: types, visit: visit)
        let links = found.map { record in
            let chosen = form.changed { $0.filters[row].value = QueryForm.aloneText(record.recordName.string) }.parameters
            return Record(
                href: visit.place.link("query", chosen + [("draft", "1")]), recordName: record.recordName.string, title: record.title,
                type: record.recordType.string)
        }
        records = Array(links.prefix(Self.limit))
        let left = Array(links.dropFirst(Self.limit))
        others = left.isEmpty ? nil : Others(text: "\(left.count) more", records: left)
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
