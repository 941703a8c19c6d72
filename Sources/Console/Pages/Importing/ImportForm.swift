internal import DataTransfer
internal import JSON
internal import RecordStore
internal import Records

/// What was chosen for an import.
struct ImportForm: Sendable {
    /// The name that stands for no column.
    static let noColumn = "-"

    var typeName: String
    /// `nil` until somebody chose: then a column called recordName names the records.
    var nameField: String?
    var skipsBadRows: Bool
    var format: FileFormat?

    init(_ fields: FormFields, visit: Visit) {
        typeName = (fields["type"] ?? "").trimmedSpaces
        nameField = fields["nameField"]
        skipsBadRows = fields["skip"] != nil
        format = fields["format"].flatMap { FileFormat(rawValue: $0) }
    }

    /// Tells what was previewed from what is sent with the button: another file, type, zone, format or other names would import something that
    /// nobody saw.
    /// - Parameter nameField: what the form says when it is sent.
    func mark(_ upload: ImportUploads.Upload, nameField: String, at place: Place) -> String {
        var mark = Fingerprint()
        let zone = place.zoneID.map(place.zoneText) ?? ""
        for text in [upload.id, typeName, zone, upload.format.rawValue, nameField] { mark.add(Name(text)) }
        return mark.text
    }

    /// - Parameter columns: of the file.
    func options(_ zoneID: ZoneID, format: FileFormat, columns: [Name]) -> ImportOptions {
        let named = nameField.map { Name($0) }
        let usual = columns.first { SystemField(named: $0) == .recordID }
        let nameField = named == nil ? usual : columns.contains { $0 == named } ? named : nil
        return ImportOptions(recordType: Name(typeName), zoneID: zoneID, format: format, nameField: nameField, skipsBadRows: skipsBadRows)
    }
}
