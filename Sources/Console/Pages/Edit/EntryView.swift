internal import JSON
internal import RecordStore
internal import Records

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
        let isEmpty: Bool
        let records: [Found]
    }

    struct Found: ViewModel {
        let name: String
        let recordName: String
        let type: String
    }

    /// The template with the inputs of the value's type.
    let template: String
    /// What the names of the inputs end with: the numbers of the field and of the value.
    let suffix: String
    /// What the inputs are called by who can't see where they stand.
    let label: String
    let text: String
    let isWrong: Bool
    /// The element that says what is wrong.
    let problemID: String
    let placeholder: String
    let inputMode: String
    /// Whether a text without letters is meant.
    let isEmptyText: Bool
    let notations: [Choice]
    /// The notation that bytes are shown in, with a mark of their text.
    let shownNotation: String
    let actions: [Choice]
    let zones: [Choice]
    /// The inputs that every location has, and those for what few say.
    let parts: [PartInput]
    let moreParts: [PartInput]
    let hasMoreParts: Bool
    /// The record that a reference points at.
    let target: String?
    /// Whether the form can look for records whose names begin so.
    let canFind: Bool
    /// Where the script looks for names.
    let names: String
    /// Records found for the reference; `nil` when nobody looked.
    let found: Suggestions?
    /// Takes the value out of its list.
    let removal: String?
    let removalLabel: String

    /// - Parameter offersTools: whether the form has buttons that look for records and take values away.
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
            let records = found.map { Found(name: "pick-\(suffix)", recordName: $0.recordName.string, type: $0.recordType.string) }
            return Suggestions(isEmpty: records.isEmpty, records: records)
        }
        canFind = offersTools && visit.database is any RecordListing
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

    /// The zones a reference can point into, the record's own first; of very many the first ones, and the one that is chosen.
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
        let name = Name(entry.text.string.trimmedSpaces)
        if case .one(let zoneID)? = zone { return place.link(toRecord: name, in: zoneID) }
        return place.zoneID.map { place.link(toRecord: name, in: $0) }
    }
}
