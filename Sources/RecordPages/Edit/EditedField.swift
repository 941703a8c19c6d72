internal import Console
internal import JSON
internal import Records
internal import Text

/// A field in the form of a record: the value when the form was opened, and the current text of its inputs.
struct EditedField: Sendable {
    /// The maximum number of list elements with separate inputs. Longer lists are edited as JSON.
    static let elementLimit = 100

    let name: Name
    let type: FieldType
    /// The value when the form was opened; for a copy, the value in the original record. `nil` for no value.
    var was: FieldValue?
    /// One entry, or one per list element.
    var entries: [FieldEntry]
    /// True if the value is an empty list, rather than no value.
    var isEmptyList = false
    /// True if the form removes the files of an asset field.
    var isCleared = false
    /// The text of the single input of a long list.
    var json: Name?
    /// True if the record type does not have the field yet.
    var isNew = false
    /// A chosen value that replaces the inputs, which may not show it exactly; `nil` if the inputs hold the value.
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

    /// Shows a value in the inputs.
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

    /// Sets an exact value of the field, and shows as much of it in the inputs as they can hold.
    mutating func settle(on value: FieldValue?, place: Place) {
        show(value, place: place)
        settled = Settled(value: value)
    }

    // MARK: Values of the form

    /// The value of the inputs; `nil` for none. Unchanged inputs give exactly the original value. The same holds for each list element.
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

    /// The original list elements, by the text of their inputs. Elements with the same text are in reverse order.
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
        if text.string.trimmingSpaces.isEmpty { return nil }
        do {
            let tagged: JSONValue = ["value": try JSONReader.value(of: text.string), "type": .string(FieldType(type.valueType, isList: true).wireName)]
            guard case .tagged(let value, _, _) = try FieldInput(tagged, field: name) else { return nil }
            return value
        } catch let error as RecordError {
            throw EntryProblem(reason: error.reason)
        } catch {
            throw EntryProblem(reason: "This is not a JSON array: \(error). Write it as [1, 2, 3].")
        }
    }

    /// True if a value differs from the original in its bytes. Swift compares
    /// strings by canonical equivalence, which ignores how accents are composed.
    func isChanged(to now: FieldValue?) -> Bool {
        Self.text(of: now, type) != Self.text(of: was, type)
    }

    static func input(_ value: FieldValue?, _ type: FieldType) -> FieldInput {
        guard let value else { return .cleared }
        return .tagged(value, FieldType(type.valueType, isList: type.isList), isEncrypted: type.isEncrypted)
    }
}

// MARK: Values in hidden inputs

extension EditedField {
    /// A value with its type as JSON for a hidden input; empty for none.
    static func text(of value: FieldValue?, _ type: FieldType) -> Name {
        guard let value else { return "" }
        var writer = JSONWriter()
        writer.value(Field(name: "", value: value, isEncrypted: type.isEncrypted))
        return Name(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// - Throws: `RecordError` BAD_REQUEST if the text is malformed.
    static func value(of text: String, field: Name) throws -> FieldValue? {
        if text.isEmpty { return nil }
        do {
            guard case .tagged(let value, _, _) = try FieldInput(try JSONReader.value(of: text), field: field) else { return nil }
            return value
        } catch {
            throw RecordError(.badRequest, "The form's earlier value of the field '\(field)' can't be read. Open the form again")
        }
    }
}
