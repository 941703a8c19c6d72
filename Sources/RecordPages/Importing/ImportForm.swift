internal import Console
internal import DataTransfer
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The options of an import.
struct ImportForm: Sendable {
    /// The option value for no column.
    static let noColumn = "-"

    var typeName: String
    /// `nil` if the user made no choice: then a column called recordName supplies the record names, or else one with a different value in each row.
    var nameField: String?
    var skipsBadRows: Bool
    var format: FileFormat?
    /// The ticked indexes.
    var indexes: [Name: Indexes]
    /// The chosen types, by column. Columns without one get a type from their values.
    var types: [Name: FieldType]
    /// The ``offer(of:)`` of the page that sent the form; `nil` if it offered no indexes.
    private let offer: String?

    /// The form field of ticked indexes: `title:QUERYABLE`.
    static let indexField = "index"
    private static let offerField = "offered"
    /// The form field of chosen types: `sku:STRING`.
    static let typeField = "column"
    /// The types that a column can be given.
    static let columnTypes: [FieldType] = ValueType.allCases.filter { $0 != .asset }.map { FieldType($0) }

    init(_ fields: FormFields, visit: Visit) {
        typeName = (fields["type"] ?? "").trimmingSpaces
        nameField = fields["nameField"]
        skipsBadRows = fields["skip"] != nil
        offer = fields[Self.offerField]
        format = fields["format"].flatMap { FileFormat(rawValue: $0) }
        types = fields.all(Self.typeField).reduce(into: [:]) { types, text in
            // A column's name may have colons, a type's has none.
            guard let colon = text.lastIndex(of: ":"), let type = FieldType(wireName: String(text[text.index(after: colon)...])) else { return }
            if Self.columnTypes.contains(type) { types[Name(text[..<colon])] = type }
        }
        indexes = fields.all(Self.indexField).reduce(into: [:]) { indexes, text in
            // Field names have no colon.
            let parts = text.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let index = Indexes(name: String(parts[1])) else { return }
            indexes[Name(String(parts[0])), default: []].formUnion(index)
        }
    }

    /// Identifies the file and the type for which a page offers indexes.
    func offer(of upload: ImportUploads.Upload) -> String { "\(upload.id) \(typeName)" }

    /// True if the user saw the ticks for this file and type, or sent some without a page.
    func hasChosenIndexes(for upload: ImportUploads.Upload) -> Bool {
        offer.map { Name($0) == Name(self.offer(of: upload)) } ?? !indexes.isEmpty
    }

    /// Identifies the previewed import: it differs for another file, type, zone,
    /// format, name column, column type or index, so the button can't start an import without a preview.
    /// - Parameter nameField: the submitted value of the form.
    func mark(_ upload: ImportUploads.Upload, nameField: String, at place: Place) -> String {
        var mark = FNV1a()
        let zone = place.zoneID.map(place.zoneText) ?? ""
        let ticked = indexes.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.rawValue)" }.joined(separator: " ")
        let typed = types.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.wireName)" }.joined(separator: " ")
        for text in [upload.id, typeName, zone, upload.format.rawValue, nameField, ticked, typed] { mark.add(text: text) }
        return mark.text
    }

    /// - Parameters:
    ///   - columns: the columns of the file.
    ///   - suggested: the column that supplies the record names if the user made no choice and none is called recordName.
    func options(_ zoneID: ZoneID, format: FileFormat, columns: [Name], suggested: Name? = nil) -> ImportOptions {
        let named = nameField.map { Name($0) }
        let usual = columns.first { SystemField(named: $0) == .recordID } ?? suggested
        let nameField = named == nil ? usual : columns.contains { $0 == named } ? named : nil
        return ImportOptions(
            recordType: Name(typeName), zoneID: zoneID, format: format, nameField: nameField, givesNewNames: nameField == nil, indexes: indexes,
            // The columns of an earlier file do not count.
            types: types.filter { columns.contains($0.key) }, skipsBadRows: skipsBadRows)
    }
}
