internal import RecordStore
public import Records

/// The plan of an import, made after all rows are read and before anything changes.
struct ImportPlan: Sendable {
    let fields: [FieldSource]
    /// The column with the record names; `nil` gives each record a new random name.
    let nameField: Name?
    /// The column with the names of the records' parents, in an export of Skylight.
    let parentField: Name?
    /// The column that contains the reason why a row of an export has no record.
    let errorField: Name?
    var notes: [String]
    /// The type with the new fields and indexes of the import; `nil` if the schema is sufficient.
    let addedType: RecordType?
    let indexesMade: [ImportReport.MadeIndex]
    let madeType: Bool

    /// - Parameter profiles: the columns in the order of their first occurrence.
    /// - Throws: `ImportError` if columns, options and schema do not match; `CancellationError` if the task is
    ///   cancelled.
    init(_ profiles: [ColumnProfile], options: ImportOptions, schema: Schema) throws {
        if options.recordType == Schema.usersType {
            throw ImportError.invalid("'Users' is CloudKit's own record type; choose another --type")
        }
        let existing = schema.types[options.recordType]
        if existing == nil {
            do { try NameRules.checkTypeName(options.recordType) } catch let error as RecordError {
                throw ImportError.invalid(error.reason)
            }
        }
        var draft = Draft(options: options, existing: existing)
        try draft.take(profiles)
        fields = draft.fields
        nameField = draft.nameField
        parentField = draft.parentField
        errorField = draft.errorField
        notes = draft.notes
        madeType = existing == nil

        let type = existing ?? RecordType(name: options.recordType)
        var added = RecordType(name: options.recordType)
        for source in fields where type.fields[source.name] == nil {
            added.fields[source.name] = FieldDefinition(type: source.type)
        }
        let asked = try Self.indexes(options, type: type, added: added)
        var made: [ImportReport.MadeIndex] = []
        for (key, indexes) in asked {
            let missing = indexes.subtracting(type.definition(of: key)?.indexes ?? [])
            if missing.isEmpty { continue }
            switch key {
            case .system(let field):
                added.systemIndexes[field] = missing
                made.append(.init(fieldName: field.alias, indexes: missing))
            case .custom(let name):
                // Declaring an existing field again adds the index to it.
                var definition = added.fields[name] ?? type.fields[name] ?? FieldDefinition(type: .string)
                definition.indexes = missing
                added.fields[name] = definition
                made.append(.init(fieldName: name, indexes: missing))
            }
        }
        indexesMade = made.sorted { left, right in
            (left.fieldName == "recordName") != (right.fieldName == "recordName")
                ? left.fieldName == "recordName" : left.fieldName < right.fieldName
        }
        addedType = madeType || !added.fields.isEmpty || !added.systemIndexes.isEmpty ? added : nil
    }

    /// The indexes of the import, each checked against the type of its field.
    private static func indexes(_ options: ImportOptions, type: RecordType, added: RecordType) throws -> [FieldKey:
        Indexes]
    {
        var combined = type
        combined.fields.merge(added.fields) { old, _ in old }
        var asked: [FieldKey: Indexes] = [.system(.recordID): .queryable]
        for (name, indexes) in options.indexes {
            let key = combined.key(named: name)
            guard let definition = combined.definition(of: key) else {
                let known = combined.fields.keys.sorted().map(\.string).joined(separator: ", ")
                throw ImportError.invalid("There is no field '\(name)' for the index; choose one of \(known)")
            }
            let allowed =
                if case .system(let field) = key { field.allowedIndexes } else { definition.type.allowedIndexes }
            let refused = indexes.subtracting(allowed)
            if !refused.isEmpty {
                let remedy =
                    allowed.isEmpty
                    ? "such a field can't have an index"
                    : "such a field can be \(allowed.names.joined(separator: ", "))"
                throw ImportError.invalid(
                    "Field '\(name)' is \(definition.type.schemaName) and can't be \(refused.names.joined(separator: " or ")): \(remedy)"
                )
            }
            asked[key, default: []].formUnion(indexes)
        }
        return asked
    }
}

/// The fields of the plan under construction.
private struct Draft {
    let options: ImportOptions
    let existing: RecordType?
    var fields: [FieldSource] = []
    var nameField: Name?
    var parentField: Name?
    var errorField: Name?
    var notes: [String] = []
    /// The column that each field comes from.
    private var columns: [Name: Name] = [:]

    init(options: ImportOptions, existing: RecordType?) {
        self.options = options
        self.existing = existing
    }

    mutating func take(_ profiles: [ColumnProfile]) throws {
        if let name = options.nameField, !profiles.contains(where: { $0.name == name }) {
            let known = profiles.map(\.name.string).joined(separator: ", ")
            throw ImportError.invalid("There is no column '\(name)' for the record names; choose one of \(known)")
        }
        let names = profiles.first { SystemField(named: $0.name) == .recordID }?.name
        nameField = options.givesNewNames ? nil : options.nameField ?? names
        let unknown = options.types.keys.filter { name in !profiles.contains { $0.name == name } }
        if let name = unknown.min() {
            let known = profiles.map(\.name.string).joined(separator: ", ")
            throw ImportError.invalid("There is no column '\(name)' for the type; choose one of \(known)")
        }
        let export = ExportColumns(profiles.map(\.name), nameField: nameField)
        (parentField, errorField) = (export.parentField, export.errorField)
        notes += export.notes
        let coordinates = coordinates(among: profiles)
        for profile in profiles {
            try Task.checkCancellation()
            if let coordinates, coordinates.contains(profile.name) { continue }
            if export.columns.contains(profile.name) { continue }
            let asked = options.types[profile.name]
            if asked == nil, let problem = profile.problem { throw ImportError.invalid("The column \(problem)") }
            let name = try fieldName(of: profile.name, in: export)
            if let asked, let type = existing?.fields[name]?.type, !type.holdsSameValues(as: asked) {
                throw ImportError.invalid(
                    "The field '\(name)' has the type \(type.schemaName) already, so its column can't be \(asked.schemaName)"
                )
            }
            guard let type = existing?.fields[name]?.type ?? asked ?? profile.type else {
                notes.append("column '\(profile.name)' has no values and creates no field")
                continue
            }
            if name != profile.name { notes.append("column '\(profile.name)' became field '\(name)'") }
            if let other = columns.updateValue(profile.name, forKey: name) {
                throw ImportError.invalid(
                    "Two columns would become the field '\(name)': '\(other)' and '\(profile.name)'; rename one")
            }
            let reason = existing?.fields[name] == nil && asked == nil ? profile.textReason : nil
            fields.append(FieldSource(name: name, type: type, origin: .column(profile.name), reason: reason))
            if export.isExport, profile.hasValue,
                let note = ExportColumns.note(on: type, column: profile.name, keepsFields: options.keepsFields)
            {
                notes.append(note)
            }
        }
        if let coordinates {
            let (latitude, longitude) = (coordinates[0], coordinates[1])
            fields.append(
                FieldSource(
                    name: "location", type: .location, origin: .coordinates(latitude: latitude, longitude: longitude)))
            notes.append("columns '\(latitude)' and '\(longitude)' became field 'location'")
        }
    }

    /// The name of a column's field. An existing field keeps its name, even if the rules for new fields forbid it; so
    /// does a field of an export.
    private func fieldName(of column: Name, in export: ExportColumns) throws -> Name {
        if existing?.fields[column] != nil { return column }
        let field = export.isExport ? ExportColumns.field(ofHeader: column) : column
        return field == column ? try FieldNaming.fieldName(for: column) : field
    }

    /// The columns of latitude and longitude, if there is exactly one of each,
    /// both hold numbers within range, and no other column is named `location`.
    private mutating func coordinates(among profiles: [ColumnProfile]) -> [Name]? {
        func columns(_ names: Set<String>) -> [ColumnProfile] {
            profiles.filter { names.contains($0.name.string.lowercased()) }
        }
        let latitudes = columns(["latitude", "lat"])
        let longitudes = columns(["longitude", "long", "lon", "lng"])
        guard latitudes.count == 1, longitudes.count == 1, latitudes[0].isNumeric, longitudes[0].isNumeric else {
            return nil
        }
        let names = [latitudes[0].name, longitudes[0].name]
        // If an option sets the type of one of the columns, both stay separate fields.
        if names.contains(where: { options.types[$0] != nil }) { return nil }
        if let type = existing {
            // An existing type with other definitions stays unchanged.
            if names.contains(where: { type.fields[$0] != nil }) { return nil }
            if let location = type.fields["location"], location.type != .location { return nil }
        }
        let pair = "columns '\(names[0])' and '\(names[1])' stay numbers"
        if profiles.contains(where: { $0.name == "location" }) {
            notes.append("\(pair): a column 'location' already exists")
            return nil
        }
        if !latitudes[0].fitsLatitude || !longitudes[0].fitsLongitude {
            notes.append("\(pair): some are beyond ±90 and ±180 degrees")
            return nil
        }
        return names
    }
}

/// The source of a field of imported records.
struct FieldSource: Sendable {
    enum Origin: Sendable, Hashable {
        case column(Name)
        /// A location from two columns.
        case coordinates(latitude: Name, longitude: Name)
    }

    let name: Name
    let type: FieldType
    let origin: Origin
    /// The value because of which a column of numbers or dates is a STRING.
    var reason: String?
}

// MARK: - Columns of Skylight's export

/// The columns of a CSV file that are not fields, but were added by Skylight's export.
public struct ExportColumns {
    /// All columns that are not fields.
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

    /// The prefix of a field's column if its name is also the name of another column of the export. Field names contain
    /// no dots.
    private static let fieldPrefix = "fields."

    /// The header of a field's column: the field's name, or for example `fields.parent` if the export has another
    /// column of that name.
    public static func header(ofField name: Name) -> Name {
        SystemField(named: name) != nil || places.contains(name) || name == error
            ? Name(fieldPrefix + name.string) : name
    }

    /// The field of a column, as the inverse of ``header(ofField:)``.
    static func field(ofHeader header: Name) -> Name {
        let field = Name(String(header.string.dropFirst(fieldPrefix.count)))
        return header.hasPrefix(Name(fieldPrefix)) && Self.header(ofField: field) == header ? field : header
    }

    /// True if the columns are those of a Skylight export: no other program writes change tags.
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
                // If records get other names, so do their parents.
                if nameField.flatMap({ SystemField(named: $0) }) == .recordID {
                    parentField = name
                } else {
                    set.append(name)
                }
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

    /// A note on the part of a field's values that a CSV export omits; `nil` for most types.
    static func note(on type: FieldType, column: Name, keepsFields: Bool) -> String? {
        switch type.valueType {
        case .reference where !type.isList:
            keepsFields
                ? "references in '\(column)' keep their action, and those to another record get NONE: the file has only their names"
                : "references in '\(column)' get the action NONE, because the file has only their names"
        case .asset:
            "the file has no bytes for '\(column)': a record keeps the files that it has already, and with others it is refused"
        default: nil
        }
    }
}
