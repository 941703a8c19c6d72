public import JSON
internal import Records

/// The columns of a CSV file that are no fields: those that Skylight's own export adds to the fields.
public struct ExportColumns {
    /// All these columns.
    private(set) var columns: Set<Name> = []
    private(set) var parentField: Name?
    private(set) var errorField: Name?
    private(set) var notes: [String] = []
    /// True if the file is an export of Skylight.
    let isExport: Bool

    /// The system fields that every import leaves out.
    private static let set: Set<SystemField> = [.etag, .createTime, .createdBy, .modTime, .modifiedBy]
    /// The columns that an export adds if its records have several types, zones or owners.
    private static let places: Set<Name> = ["recordType", "zoneName", "ownerRecordName"]
    private static let error: Name = "serverErrorCode"

    /// The prefix of a field's column if the export has a column of its own with the field's name. No field has a dot in its name.
    private static let fieldPrefix = "fields."

    /// The header of a field's column: its name, or `fields.parent` for a field that is called like a column of the export's own.
    public static func header(ofField name: Name) -> Name {
        SystemField(named: name) != nil || places.contains(name) || name == error ? Name(fieldPrefix + name.string) : name
    }

    /// The field of a column; the opposite of ``header(ofField:)``.
    static func field(ofHeader header: Name) -> Name {
        let field = Name(String(header.string.dropFirst(fieldPrefix.count)))
        return header.hasPrefix(Name(fieldPrefix)) && Self.header(ofField: field) == header ? field : header
    }

    /// True for the columns of an export of Skylight: no other program writes change tags.
    static func areOfExport(_ names: [Name]) -> Bool {
        let system = names.map { SystemField(named: $0) }
        return system.contains(.recordID) && system.contains(.etag)
    }

    init(_ names: [Name], nameField: Name?) {
        let system = names.map { SystemField(named: $0) }
        isExport = Self.areOfExport(names)
        var (set, places): ([Name], [Name]) = ([], [])
        for (name, field) in zip(names, system) {
            switch field {
            case .recordID?:
                columns.insert(name)
                if name != nameField { notes.append("left out: \(name), because the records get other names") }
            case .parent? where isExport:
                columns.insert(name)
                // With other names, the parents have other names, too.
                if nameField.flatMap({ SystemField(named: $0) }) == .recordID { parentField = name } else { set.append(name) }
            case let field? where Self.set.contains(field): set.append(name)
            case .some: break
            case nil where isExport:
                if Self.places.contains(name) { places.append(name) }
                if name == Self.error { errorField = name }
            case nil: break
            }
        }
        columns.formUnion(set + places + [errorField].compactMap(\.self))
        if !set.isEmpty { notes.append("left out: \(Self.list(set)): the server sets them") }
        if !places.isEmpty { notes.append("left out: \(Self.list(places)): all records get the chosen type and zone") }
    }

    private static func list(_ names: [Name]) -> String { names.map(\.string).joined(separator: ", ") }

    /// The part of a field's values that an export in CSV leaves out; `nil` for most types.
    static func note(on type: FieldType, column: Name) -> String? {
        switch type.valueType {
        case .reference where !type.isList: "references in '\(column)' get the action NONE, because the file has only their names"
        case .asset: "the file has no bytes for '\(column)': a record keeps the files that it has already, and with others it is refused"
        default: nil
        }
    }
}
