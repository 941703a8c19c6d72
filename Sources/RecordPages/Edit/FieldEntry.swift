internal import Console
internal import JSON
internal import Records
internal import Text

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
    /// The entry that shows a value. It converts back to the same value, except for text with line ends or characters that forms can't carry.
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
            (.horizontalAccuracy, location.horizontalAccuracy), (.verticalAccuracy, location.verticalAccuracy), (.speed, location.speed),
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
