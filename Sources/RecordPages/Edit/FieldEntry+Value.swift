internal import Console
internal import JSON
internal import Records
internal import Text

// Conversion from inputs to a value.

extension FieldEntry {
    /// The value; `nil` if the inputs are blank.
    func value(as type: ValueType, in place: Place) throws(EntryProblem) -> FieldValue? {
        if isBlank(as: type) { return nil }
        let typed = text.string.trimmingSpaces
        switch type {
        case .string: return .string(text.string)
        case .int64:
            guard let integer = Int64(typed) else { throw wrong("not a whole number from −9,223,372,036,854,775,808 to 9,223,372,036,854,775,807", "42") }
            return .int64(integer)
        case .double:
            guard let double = Double(typed), double.isFinite else { throw wrong("not a number", "3.14") }
            return .double(double)
        case .timestamp:
            guard let timestamp = Timestamp(utcText: typed) else { throw wrong("not a time", "2026-11-01 18:00:00.250, in UTC") }
            return .timestamp(timestamp)
        case .bytes: return .bytes(try bytes(typed))
        case .reference: return .reference(try reference(typed, in: place))
        case .location: return .location(try location())
        case .asset: throw EntryProblem(reason: "Upload files on the record's page.")
        }
    }

    private func wrong(_ what: String, _ example: String) -> EntryProblem {
        let typed = text.string.trimmingSpaces
        return EntryProblem(reason: "‘\(typed.count > 60 ? typed.prefix(60) + "…" : typed)’ is \(what). Write it as \(example).")
    }

    private func bytes(_ typed: String) throws(EntryProblem) -> [UInt8] {
        let digits = String(decoding: typed.utf8.filter { $0 > 0x20 }, as: UTF8.self)
        switch notation {
        case .base64:
            guard let bytes = Base64.bytes(of: digits.utf8) else { throw wrong("not base64", "SGVsbG8=, or choose hex") }
            return bytes
        case .hex:
            let plain = digits.lowercased().hasPrefix("0x") ? String(digits.dropFirst(2)) : digits
            guard let bytes = Hexadecimal.bytes(of: plain.utf8) else { throw wrong("not pairs of hexadecimal digits", "48656c6c6f, or choose base64") }
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

    /// Converts unedited bytes to a newly chosen notation. Without this, their text would be read in the wrong notation.
    /// - Parameter shown: the hidden input.
    mutating func rewrite(shown: Name) {
        for other in Notation.allCases where other != notation {
            var before = self
            before.notation = other
            guard before.shownNotation == shown, let bytes = try? before.bytes(text.string.trimmingSpaces) else { continue }
            text = Name(Self.text(of: bytes, notation))
            return
        }
    }

    private func reference(_ typed: String, in place: Place) throws(EntryProblem) -> Reference {
        var reference = Reference(recordName: Name(typed), action: action)
        if case .one(let zoneID) = Place.zone(zone.isEmpty ? nil : zone.string, owner: nil, in: place.address.scope) {
            let isOwn = place.zoneID.map { place.isSame($0, zoneID) } ?? false
            if !isOwn, action != .none {
                throw EntryProblem(reason: "A reference into another zone can't have the action \(action.rawValue). Choose NONE, or a record of this zone.")
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
            throw EntryProblem(reason: "The \(part.words) must be from \(Int(range.lowerBound)) to \(Int(range.upperBound)) degrees.")
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
