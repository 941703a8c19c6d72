internal import Console
internal import RecordStore
internal import Records

/// The form inputs of one value.
struct FieldEntry: Sendable, Hashable {
    /// The notation of bytes in the form.
    enum Notation: String, Sendable, CaseIterable {
        case base64, hex
    }

    /// An input of a location.
    enum Part: String, Sendable, CaseIterable {
        case latitude, longitude, altitude, horizontalAccuracy, verticalAccuracy, speed, course, timestamp
    }

    var text: Name = ""
    /// True if the value is an empty string, rather than no value.
    var isEmptyText = false
    var notation = Notation.base64
    /// The action of a reference when its target is deleted.
    var action = Reference.Action.none
    /// The zone of a reference's target in the format of ``Place``; empty for the zone of the record.
    var zone: Name = ""
    /// The nonempty inputs of a location.
    var parts: [Part: Name] = [:]

    /// True if the inputs are blank. White space is a value of a string, but blank for other types.
    func isBlank(as type: ValueType) -> Bool {
        (type == .string ? text.isEmpty : text.string.trimmingSpaces.isEmpty) && !isEmptyText && parts.isEmpty
    }
}

// MARK: From a value

extension FieldEntry {
    /// The entry that shows a value. It converts back to the same value, except for text with line ends or characters
    /// that forms can't carry.
    init(_ value: FieldValue, place: Place) {
        self.init()
        switch value {
        case .string(let string):
            text = Self.carried(string)
            isEmptyText = string.isEmpty
        case .int64(let integer): text = Name(String(integer))
        case .double(let double): text = Name(double.description)
        case .timestamp(let timestamp): text = Name(timestamp.utcText)
        case .bytes(let bytes): text = Name(Self.text(of: bytes, .base64))
        case .reference(let reference):
            text = reference.recordName
            action = reference.action
            zone = Name(reference.zoneID.map(place.zoneText) ?? "")
        case .location(let location): parts = Self.parts(of: location)
        case .asset(let asset): text = Name(asset.fileChecksum)
        case .list: break
        }
    }

    /// Text as a browser returns it: with single-character line ends, and without characters that HTML excludes.
    static func carried(_ string: String) -> Name {
        var scalars = String.UnicodeScalarView()
        var isBehindReturn = false
        for scalar in string.unicodeScalars {
            defer { isBehindReturn = scalar == "\r" }
            switch scalar {
            case "\r": scalars.append("\n")
            case "\n": if !isBehindReturn { scalars.append("\n") }
            case "\0": scalars.append("\u{FFFD}")
            default: scalars.append(scalar)
            }
        }
        return Name(String(scalars))
    }

    static func text(of bytes: [UInt8], _ notation: Notation) -> String {
        switch notation {
        case .base64: Base64.text(of: bytes)
        case .hex: Hexadecimal.text(of: bytes)
        }
    }

    private static func parts(of location: Location) -> [Part: Name] {
        let numbers: [(Part, Double?)] = [
            (.latitude, location.latitude), (.longitude, location.longitude), (.altitude, location.altitude),
            (.horizontalAccuracy, location.horizontalAccuracy), (.verticalAccuracy, location.verticalAccuracy),
            (.speed, location.speed),
            (.course, location.course),
        ]
        var parts: [Part: Name] = [:]
        for (part, number) in numbers { parts[part] = number.map { Name($0.description) } }
        parts[.timestamp] = location.timestamp.map { Name($0.utcText) }
        return parts
    }
}

// MARK: From a form

extension FieldEntry {
    /// Reads the inputs whose names end with the numbers of a field and a value: `text-3-1`, `latitude-3-1`.
    init(_ fields: [String: String], suffix: String) {
        self.init()
        text = Self.carried(fields["text-\(suffix)"] ?? "")
        // Text takes precedence over a ticked box.
        isEmptyText = fields["empty-\(suffix)"] != nil && text.isEmpty
        notation = fields["as-\(suffix)"].flatMap { Notation(rawValue: $0) } ?? .base64
        if let shown = fields["shown-\(suffix)"] { rewrite(shown: Name(shown)) }
        action = fields["action-\(suffix)"].flatMap { Reference.Action(rawValue: $0) } ?? .none
        zone = Name(fields["zone-\(suffix)"] ?? "")
        for part in Part.allCases {
            guard let typed = fields["\(part.rawValue)-\(suffix)"]?.trimmingSpaces, !typed.isEmpty else { continue }
            parts[part] = Name(typed)
        }
    }
}

// MARK: - Conversion to a value

extension FieldEntry {
    /// The value; `nil` if the inputs are blank.
    func value(as type: ValueType, in place: Place) throws(EntryProblem) -> FieldValue? {
        if isBlank(as: type) { return nil }
        let typed = text.string.trimmingSpaces
        switch type {
        case .string: return .string(text.string)
        case .int64:
            guard let integer = Int64(typed) else {
                throw wrong("not a whole number from −9,223,372,036,854,775,808 to 9,223,372,036,854,775,807", "42")
            }
            return .int64(integer)
        case .double:
            guard let double = Double(typed), double.isFinite else { throw wrong("not a number", "3.14") }
            return .double(double)
        case .timestamp:
            guard let timestamp = Timestamp(utcText: typed) else {
                throw wrong("not a time", "2026-11-01 18:00:00.250, in UTC")
            }
            return .timestamp(timestamp)
        case .bytes: return .bytes(try bytes(typed))
        case .reference: return .reference(try reference(typed, in: place))
        case .location: return .location(try location())
        case .asset: throw EntryProblem(reason: "Upload files on the record's page.")
        }
    }

    private func wrong(_ what: String, _ example: String) -> EntryProblem {
        let typed = text.string.trimmingSpaces
        return EntryProblem(
            reason: "‘\(typed.count > 60 ? typed.prefix(60) + "…" : typed)’ is \(what). Write it as \(example).")
    }

    private func bytes(_ typed: String) throws(EntryProblem) -> [UInt8] {
        let digits = String(decoding: typed.utf8.filter { $0 > 0x20 }, as: UTF8.self)
        switch notation {
        case .base64:
            guard let bytes = Base64.bytes(of: digits.utf8) else {
                throw wrong("not base64", "SGVsbG8=, or choose hex")
            }
            return bytes
        case .hex:
            let plain = digits.lowercased().hasPrefix("0x") ? String(digits.dropFirst(2)) : digits
            guard let bytes = Hexadecimal.bytes(of: plain.utf8) else {
                throw wrong("not pairs of hexadecimal digits", "48656c6c6f, or choose base64")
            }
            return bytes
        }
    }

    // MARK: The other notation

    /// A hidden input of bytes: their notation, and a fingerprint of their text.
    var shownNotation: Name {
        var mark = FNV1a()
        mark.add(text: text.string)
        return Name("\(notation.rawValue)-\(mark.text)")
    }

    /// Converts unedited bytes to a newly chosen notation. Without this, their text would be read in the wrong
    /// notation.
    /// - Parameter shown: the hidden input.
    mutating func rewrite(shown: Name) {
        for other in Notation.allCases where other != notation {
            var before = self
            before.notation = other
            guard before.shownNotation == shown, let bytes = try? before.bytes(text.string.trimmingSpaces) else {
                continue
            }
            text = Name(Self.text(of: bytes, notation))
            return
        }
    }

    private func reference(_ typed: String, in place: Place) throws(EntryProblem) -> Reference {
        var reference = Reference(recordName: Name(typed), action: action)
        if case .one(let zoneID) = Place.zone(zone.isEmpty ? nil : zone.string, owner: nil, in: place.address.scope) {
            let isOwn = place.zoneID.map { place.isSame($0, zoneID) } ?? false
            if !isOwn, action != .none {
                throw EntryProblem(
                    reason:
                        "A reference into another zone can't have the action \(action.rawValue). Choose NONE, or a record of this zone."
                )
            }
            reference.zoneID = zoneID
        }
        return reference
    }

    private func location() throws(EntryProblem) -> Location {
        guard let latitude = try number(.latitude, -90...90), let longitude = try number(.longitude, -180...180) else {
            throw EntryProblem(reason: "A location needs both latitude and longitude, in degrees.")
        }
        var location = Location(latitude: latitude, longitude: longitude)
        location.altitude = try number(.altitude)
        location.horizontalAccuracy = try number(.horizontalAccuracy)
        location.verticalAccuracy = try number(.verticalAccuracy)
        location.speed = try number(.speed)
        location.course = try number(.course)
        if let typed = parts[.timestamp] {
            guard let timestamp = Timestamp(utcText: typed.string) else {
                throw EntryProblem(reason: "‘\(typed)’ is not a time. Write it as 2026-11-01 18:00:00, in UTC.")
            }
            location.timestamp = timestamp
        }
        return location
    }

    private func number(_ part: Part, _ range: ClosedRange<Double>? = nil) throws(EntryProblem) -> Double? {
        guard let typed = parts[part] else { return nil }
        guard let number = Double(typed.string), number.isFinite else {
            throw EntryProblem(reason: "‘\(typed)’ is not a number for the \(part.words). Write it as 47.45.")
        }
        if let range, !range.contains(number) {
            throw EntryProblem(
                reason: "The \(part.words) must be from \(Int(range.lowerBound)) to \(Int(range.upperBound)) degrees.")
        }
        return number
    }
}

extension FieldEntry.Part {
    var words: String {
        switch self {
        case .horizontalAccuracy: "horizontal accuracy"
        case .verticalAccuracy: "vertical accuracy"
        case .timestamp: "moment"
        default: rawValue
        }
    }

    /// The unit of the number.
    var unit: String {
        switch self {
        case .latitude, .longitude, .course: "°"
        case .altitude, .horizontalAccuracy, .verticalAccuracy: "m"
        case .speed: "m/s"
        case .timestamp: "UTC"
        }
    }
}

/// The reason why an input is not a valid value of its type, with a valid format.
struct EntryProblem: Error {
    let reason: String
}

// MARK: - Inputs

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
        _ entry: FieldEntry, of field: EditedField, number: Int, element: Int, found: [RecordNames.Found]?,
        isWrong: Bool, offersTools: Bool = true,
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
        notations = FieldEntry.Notation.allCases.map {
            Choice($0.rawValue, $0.rawValue, isSelected: $0 == entry.notation)
        }
        shownNotation = field.type.valueType == .bytes ? entry.shownNotation.string : ""
        actions = Reference.Action.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0 == entry.action) }
        zones = field.type.valueType == .reference ? Self.zones(entry, visit) : []
        func input(_ part: FieldEntry.Part) -> PartInput {
            PartInput(
                name: "\(part.rawValue)-\(suffix)", id: "i-\(part.rawValue)-\(suffix)", words: part.words,
                unit: part.unit,
                text: entry.parts[part]?.string ?? "")
        }
        parts = [FieldEntry.Part.latitude, .longitude].map(input)
        moreParts = FieldEntry.Part.allCases.filter { $0 != .latitude && $0 != .longitude }.map(input)
        hasMoreParts = moreParts.contains { !$0.text.isEmpty }
        names = place.link("record/names")
        target = field.type.valueType == .reference && !entry.text.isEmpty ? Self.target(entry, place) : nil
        self.found = found.map { found in
            let records = found.map {
                Found(
                    name: "pick-\(suffix)", recordName: $0.recordName.string, title: $0.title,
                    type: $0.recordType.string)
            }
            return Suggestions(
                nothing: records.isEmpty ? RecordNames.nothing(for: entry.text.string) : nil, records: records)
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

    /// The zones that a reference can point into, the record's own first. Long lists show the first zones and the
    /// chosen one.
    private static func zones(_ entry: FieldEntry, _ visit: Visit) -> [Choice] {
        let place = visit.place
        var choices = [Choice("", "this zone", isSelected: entry.zone.isEmpty)]
        let others = visit.zones.map(\.zoneID).filter { zoneID in place.zoneID.map { !place.isSame($0, zoneID) } ?? true
        }
        choices += others.prefix(Frame.zoneLimit).map { zoneID in
            Choice(
                place.zoneText(zoneID), visit.zoneName(zoneID), isSelected: Name(place.zoneText(zoneID)) == entry.zone)
        }
        if !choices.contains(where: \.isSelected) {
            choices.append(Choice(entry.zone.string, entry.zone.string, isSelected: true))
        }
        return choices
    }

    private static func target(_ entry: FieldEntry, _ place: Place) -> String? {
        let zone = entry.zone.isEmpty ? nil : Place.zone(entry.zone.string, owner: nil, in: place.address.scope)
        let name = Name(entry.text.string.trimmingSpaces)
        if case .one(let zoneID)? = zone { return place.link(toRecord: name, in: zoneID) }
        return place.zoneID.map { place.link(toRecord: name, in: $0) }
    }
}
