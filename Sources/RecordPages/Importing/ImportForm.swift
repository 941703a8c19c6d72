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
    /// `nil` if the user made no choice: then a column called recordName supplies the record names.
    var nameField: String?
    var skipsBadRows: Bool
    var format: FileFormat?

    init(_ fields: FormFields, visit: Visit) {
        typeName = (fields["type"] ?? "").trimmingSpaces
        nameField = fields["nameField"]
        skipsBadRows = fields["skip"] != nil
        format = fields["format"].flatMap { FileFormat(rawValue: $0) }
    }

    /// Identifies the previewed import: it differs for another file, type, zone,
    /// format or name column, so the button can't start an import without a preview.
    /// - Parameter nameField: the submitted value of the form.
    func mark(_ upload: ImportUploads.Upload, nameField: String, at place: Place) -> String {
        var mark = FNV1a()
        let zone = place.zoneID.map(place.zoneText) ?? ""
        for text in [upload.id, typeName, zone, upload.format.rawValue, nameField] { mark.add(text: text) }
        return mark.text
    }

    /// - Parameter columns: the columns of the file.
    func options(_ zoneID: ZoneID, format: FileFormat, columns: [Name]) -> ImportOptions {
        let named = nameField.map { Name($0) }
        let usual = columns.first { SystemField(named: $0) == .recordID }
        let nameField = named == nil ? usual : columns.contains { $0 == named } ? named : nil
        return ImportOptions(recordType: Name(typeName), zoneID: zoneID, format: format, nameField: nameField, skipsBadRows: skipsBadRows)
    }
}
