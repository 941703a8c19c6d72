internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The inputs of one value.
struct EntryView: ViewModel {
    struct PartInput: ViewModel {
        let name: String
        let id: String
        let words: String
        let unit: String
        let text: String
    }

    struct Suggestions: ViewModel {
        /// A sentence if no record is found.
        let nothing: String?
        let records: [Found]
    }

    struct Found: ViewModel {
        let name: String
        let recordName: String
        let title: String?
        let type: String
    }

    /// The template for inputs of the value's type.
    let template: String
    /// The suffix of the input names: the numbers of the field and of the value.
    let suffix: String
    /// The accessible label of the inputs.
    let label: String
    let text: String
    let isWrong: Bool
    /// The id of the element with the error message.
    let problemID: String
    let placeholder: String
    let inputMode: String
    /// True if the value is an empty string.
    let isEmptyText: Bool
    let notations: [Choice]
    /// The current notation of the bytes, with a fingerprint of their text.
    let shownNotation: String
    let actions: [Choice]
    let zones: [Choice]
    /// The inputs that every location shows, and the less common ones.
    let parts: [PartInput]
    let moreParts: [PartInput]
    let hasMoreParts: Bool
    /// The link to the target of a reference.
    let target: String?
    /// True if the form can search for records by their name or title.
    let canFind: Bool
    /// The address of the name suggestions for the script.
    let names: String
    /// Search results for the reference; `nil` without a search.
    let found: Suggestions?
    /// The button value that removes the value from its list.
    let removal: String?
    let removalLabel: String

    /// - Parameter offersTools: true if the form has buttons that search for records and remove values.
    init(
        _ entry: FieldEntry, of field: EditedField, number: Int, element: Int, found: [RecordNames.Found]?, isWrong: Bool, offersTools: Bool = true,
        visit: Visit
    ) {
        let suffix = "\(number)-\(element)"
        let place = visit.place
        template = Self.template(field.type.valueType)
        self.suffix = suffix
        label = field.type.isList ? "\(field.name), value \(element)" : field.name.string
        text = entry.text.string
        self.isWrong = isWrong
        problemID = "problem-\(number)"
        placeholder = field.type.valueType == .double ? "3.14" : field.type.valueType == .int64 ? "42" : "no value"
        inputMode = field.type.valueType == .double ? "decimal" : "numeric"
        isEmptyText = entry.isEmptyText
        notations = FieldEntry.Notation.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0 == entry.notation) }
        shownNotation = field.type.valueType == .bytes ? entry.shownNotation.string : ""
        actions = Reference.Action.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0 == entry.action) }
        zones = field.type.valueType == .reference ? Self.zones(entry, visit) : []
        func input(_ part: FieldEntry.Part) -> PartInput {
            PartInput(
                name: "\(part.rawValue)-\(suffix)", id: "i-\(part.rawValue)-\(suffix)", words: part.words, unit: part.unit,
                text: entry.parts[part]?.string ?? "")
        }
        parts = [FieldEntry.Part.latitude, .longitude].map(input)
        moreParts = FieldEntry.Part.allCases.filter { $0 != .latitude && $0 != .longitude }.map(input)
        hasMoreParts = moreParts.contains { !$0.text.isEmpty }
        names = place.link("record/names")
        target = field.type.valueType == .reference && !entry.text.isEmpty ? Self.target(entry, place) : nil
        self.found = found.map { found in
            let records = found.map { Found(name: "pick-\(suffix)", recordName: $0.recordName.string, title: $0.title, type: $0.recordType.string) }
            return Suggestions(nothing: records.isEmpty ? RecordNames.nothing(for: entry.text.string) : nil, records: records)
        }
        canFind = offersTools && visit.database.can(.listRecords)
        removal = field.type.isList && offersTools ? "drop-\(suffix)" : nil
        removalLabel = "Remove value \(element) of \(field.name)"
    }

    private static func template(_ type: ValueType) -> String {
        switch type {
        case .string: "edit_text"
        case .int64, .double: "edit_number"
        case .timestamp: "edit_time"
        case .bytes, .asset: "edit_bytes"
        case .reference: "edit_reference"
        case .location: "edit_location"
        }
    }

    /// The zones that a reference can point into, the record's own first. Long lists show the first zones and the chosen one.
    private static func zones(_ entry: FieldEntry, _ visit: Visit) -> [Choice] {
        let place = visit.place
        var choices = [Choice("", "this zone", isSelected: entry.zone.isEmpty)]
        let others = visit.zones.map(\.zoneID).filter { zoneID in place.zoneID.map { !place.isSame($0, zoneID) } ?? true }
        choices += others.prefix(Frame.zoneLimit).map { zoneID in
            Choice(place.zoneText(zoneID), visit.zoneName(zoneID), isSelected: Name(place.zoneText(zoneID)) == entry.zone)
        }
        if !choices.contains(where: \.isSelected) { choices.append(Choice(entry.zone.string, entry.zone.string, isSelected: true)) }
        return choices
    }

    private static func target(_ entry: FieldEntry, _ place: Place) -> String? {
        let zone = entry.zone.isEmpty ? nil : Place.zone(entry.zone.string, owner: nil, in: place.address.scope)
        let name = Name(entry.text.string.trimmingSpaces)
        if case .one(let zoneID)? = zone { return place.link(toRecord: name, in: zoneID) }
        return place.zoneID.map { place.link(toRecord: name, in: $0) }
    }
}
