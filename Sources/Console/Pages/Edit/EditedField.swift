internal import JSON
internal import Records

/// A field in the form of a record: what it held when the form was opened, and what stands in its inputs.
struct EditedField: Sendable {
    /// Elements of a list that have inputs of their own; longer lists are edited as JSON.
    static let elementLimit = 100

    let name: Name
    let type: FieldType
    /// What the record held when the form was opened, of a copy the record that is copied; `nil` for no value.
    var was: FieldValue?
    /// One, or for a list one for each element.
    var entries: [FieldEntry]
    /// Whether a list without elements is meant, rather than no value.
    var isEmptyList = false
    /// Whether the files of an asset field are to go.
    var isCleared = false
    /// What stands in the one input of a long list.
    var json: Name?
    /// Whether the record type has no such field yet.
    var isNew = false
    /// What was chosen as it is, whatever inputs can show of it; `nil` when the inputs say the value.
    private var settled: Settled?

    private struct Settled {
        let value: FieldValue?
    }

    init(_ name: Name, _ type: FieldType, was: FieldValue?, showing value: FieldValue?, isNew: Bool = false, place: Place) {
        self.name = name
        self.type = type
        self.was = was
        self.isNew = isNew
        entries = []
        show(value, place: place)
    }

    /// Puts a value into the inputs.
    mutating func show(_ value: FieldValue?, place: Place) {
        isEmptyList = false
        settled = nil
        isCleared = type.valueType == .asset && value == nil && was != nil
        json = nil
        switch value {
        case nil: entries = type.isList ? [] : [FieldEntry()]
        case .list(let elements, _)? where elements.count > Self.elementLimit && type.valueType != .asset:
            entries = []
            var writer = JSONWriter()
            writer.value(.list(elements, of: type.valueType))
            json = Name(String(decoding: writer.bytes, as: UTF8.self))
        case .list(let elements, _)?:
            entries = elements.map { FieldEntry($0, place: place) }
            isEmptyList = elements.isEmpty
        case let value?: entries = [FieldEntry(value, place: place)]
        }
    }

    /// Gives the field a value as it is, to the byte, and puts what can be shown of it into the inputs.
    mutating func settle(on value: FieldValue?, place: Place) {
        show(value, place: place)
        settled = Settled(value: value)
    }

    // MARK: What the form says

    /// The value that stands in the inputs; `nil` for none. What was left as it was shown is what it was, to the byte, and so is each value of
    /// a list.
    func value(in place: Place) throws(EntryProblem) -> FieldValue? {
        if type.valueType == .asset { return isCleared ? nil : was }
        if let settled { return settled.value }
        if isAsShown(place) { return was }
        if let json { return try list(json) }
        guard type.isList else { return try entries.first?.value(as: type.valueType, in: place) }
        var elements: [FieldValue] = []
        var held = heldElements(place)
        for (index, entry) in entries.enumerated() {
            if let element = held[entry]?.popLast() {
                elements.append(element)
                continue
            }
            do {
                if let element = try entry.value(as: type.valueType, in: place) { elements.append(element) }
            } catch {
                throw EntryProblem(reason: "Value \(index + 1): \(error.reason)")
            }
        }
        if elements.isEmpty { return isEmptyList ? .list([], of: type.valueType) : nil }
        return .list(elements, of: type.valueType)
    }

    /// The values that the list held, by what stood in their inputs; of those that look alike the first comes last.
    private func heldElements(_ place: Place) -> [FieldEntry: [FieldValue]] {
        guard case .list(let elements, _)? = was, elements.count <= Self.elementLimit else { return [:] }
        return Dictionary(grouping: elements.reversed()) { FieldEntry($0, place: place) }
    }

    private func isAsShown(_ place: Place) -> Bool {
        let shown = EditedField(name, type, was: was, showing: was, place: place)
        if json != nil || shown.json != nil { return json == shown.json }
        if type.isList, entries.allSatisfy({ $0.isBlank(as: type.valueType) }), shown.entries.isEmpty { return isEmptyList == shown.isEmptyList }
        return entries == shown.entries
    }

    private func list(_ text: Name) throws(EntryProblem) -> FieldValue? {
        if text.string.trimmedSpaces.isEmpty { return nil }
        do {
            let tagged: JSONValue = ["value": try JSONReader.value(of: text.string), "type": .string(FieldType(type.valueType, isList: true).wireName)]
            guard case .tagged(let value, _, _) = try FieldInput(tagged, field: name) else { return nil }
            return value
        } catch let error as RecordError {
            throw EntryProblem(reason: error.reason)
        } catch {
            throw EntryProblem(reason: "This is no JSON array: \(error). Write it as [1, 2, 3].")
        }
    }

    /// Whether a value is another one than the field held, to the byte: strings compare equal in Swift however their accents are composed.
    func isChanged(to now: FieldValue?) -> Bool {
        Self.text(of: now, type) != Self.text(of: was, type)
    }

    static func input(_ value: FieldValue?, _ type: FieldType) -> FieldInput {
        guard let value else { return .cleared }
        return .tagged(value, FieldType(type.valueType, isList: type.isList), isEncrypted: type.isEncrypted)
    }
}

// MARK: Values that forms carry along

extension EditedField {
    /// A value with its type as JSON, empty for none: what a form carries along in a hidden input.
    static func text(of value: FieldValue?, _ type: FieldType) -> Name {
        guard let value else { return "" }
        var writer = JSONWriter()
        writer.value(Field(name: "", value: value, isEncrypted: type.isEncrypted))
        return Name(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// - Throws: `RecordError` BAD_REQUEST for a text that no form of ours wrote.
    static func value(of text: String, field: Name) throws -> FieldValue? {
        if text.isEmpty { return nil }
        do {
            guard case .tagged(let value, _, _) = try FieldInput(try JSONReader.value(of: text), field: field) else { return nil }
            return value
        } catch {
            throw RecordError(.badRequest, "The form was altered on its way: what field '\(field)' held can't be read. Open the form again")
        }
    }
}
