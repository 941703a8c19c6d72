package import Records

/// An option of a selection.
package struct Choice: ViewModel {
    package let value: String
    package let text: String
    package let isSelected: Bool
    let isDisabled: Bool

    package init(_ value: String, _ text: String, isSelected: Bool, isDisabled: Bool = false) {
        self.value = value
        self.text = text
        self.isSelected = isSelected
        self.isDisabled = isDisabled
    }

    package func child(named name: String) -> Any? {
        switch name {
        case "value": value
        case "text": text
        case "isSelected": isSelected
        case "isDisabled": isDisabled
        default: nil
        }
    }
}

/// A group of options.
package struct ChoiceGroup: ViewModel {
    package let label: String
    package let choices: [Choice]

    package init(label: String, choices: [Choice]) {
        (self.label, self.choices) = (label, choices)
    }
}

// MARK: - Types of fields

/// The available types for a new field.
package enum FieldTypeChoices {
    private static let valueTypes: [ValueType] = [
        .string, .int64, .double, .timestamp, .location, .reference, .asset, .bytes,
    ]
    private static let encryptable = valueTypes.filter { $0 != .reference && $0 != .asset }

    private static let all: [(label: String, types: [FieldType])] = [
        ("One value", valueTypes.map { FieldType($0) }),
        ("List", valueTypes.map { FieldType($0, isList: true) }),
        ("Encrypted", encryptable.map { FieldType($0, isEncrypted: true) }),
        ("Encrypted list", encryptable.map { FieldType($0, isList: true, isEncrypted: true) }),
    ]

    package static let groups = groups(nil)

    /// - Parameter chosen: the schema name of the selected type; `nil` for STRING.
    package static func groups(_ chosen: String?) -> [ChoiceGroup] {
        all.map { group in
            ChoiceGroup(
                label: group.label,
                choices: group.types.map(\.schemaName).map {
                    Choice($0, $0, isSelected: $0 == chosen ?? FieldType.string.schemaName)
                })
        }
    }

    /// The type with the given schema name.
    package static func type(named name: String) -> FieldType? {
        all.lazy.flatMap(\.types).first { $0.schemaName.utf8.elementsEqual(name.utf8) }
    }
}

// MARK: - Folded form

/// A part of what a page asks for, which goes with one click.
package struct Chip: ViewModel {
    /// `room is`, or `sorted by`.
    package let lead: String
    /// `General`, or `sentAt newest first`.
    package let value: String
    /// The page with the form.
    package let edit: String
    /// The same request without it.
    package let removal: String
    /// True if no index serves it.
    package let lacksIndex: Bool

    package init(_ lead: String, _ value: String, edit: String, removal: String, lacksIndex: Bool = false) {
        (self.lead, self.value, self.edit, self.removal) = (lead, value, edit, removal)
        self.lacksIndex = lacksIndex
    }
}

/// What a page that reads records asks for, and the result. The form is behind it.
package struct FoldedForm: ViewModel {
    /// The request of the page Explain, such as `Message in Chats where room is general`.
    package let words: String
    /// `50 of 1,185`, or the reason why there is no result.
    package let outcome: String
    /// More about the result, such as `in Chats`, or `positions 4 to 211`.
    package let facts: [String]
    package let chips: [Chip]
    /// True if the form is open, because the request has no result yet or the user is changing it.
    package let isOpen: Bool

    /// A button that changes the form adds this to the URL, so that the form stays open.
    package static let editing: (name: String, value: String) = ("edit", "1")

    /// - Parameter isAnswered: true if the page shows a result.
    package init(
        _ words: String = "", outcome: String, facts: [String] = [], chips: [Chip] = [], isAnswered: Bool,
        visit: Visit
    ) {
        (self.words, self.outcome, self.facts, self.chips) = (words, outcome, facts, chips)
        isOpen = !isAnswered || visit.fields[Self.editing.name] != nil
    }
}
