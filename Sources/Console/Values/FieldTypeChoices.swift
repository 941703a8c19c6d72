package import Records

/// The available types for a new field.
package enum FieldTypeChoices {
    private static let valueTypes: [ValueType] = [.string, .int64, .double, .timestamp, .location, .reference, .asset, .bytes]
    private static let encryptable = valueTypes.filter { $0 != .reference && $0 != .asset }

    private static let all: [(label: String, types: [FieldType])] = [
        ("One value", valueTypes.map { FieldType($0) }),
        ("List", valueTypes.map { FieldType($0, isList: true) }),
        ("Encrypted", encryptable.map { FieldType($0, isEncrypted: true) }),
        ("Encrypted list", encryptable.map { FieldType($0, isList: true, isEncrypted: true) }),
    ]

    package static let groups = all.map { group in
        ChoiceGroup(
            label: group.label,
            choices: group.types.map { Choice($0.schemaName, $0.schemaName, isSelected: $0 == .string) })
    }

    /// The type with the given schema name.
    package static func type(named name: String) -> FieldType? {
        all.lazy.flatMap(\.types).first { $0.schemaName.utf8.elementsEqual(name.utf8) }
    }
}
