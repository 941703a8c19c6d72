internal import Console
internal import RecordStore
internal import Records

/// The form for a schema file, as text or upload.
struct SchemaFileForm: ViewModel {
    let action: String
    let text: String
    let isMerging: Bool
    let sizeLimit: String

    init(_ visit: Visit, text: String = "", isMerging: Bool = false) {
        action = visit.place.link("schema/import")
        self.text = text
        self.isMerging = isMerging
        sizeLimit = Digits.bytes(Int64(SchemaText.serverLimit))
    }
}

extension FormLimit {
    /// The text of a schema file, or such a file, and a text beside it.
    static let schemaFile = texts(of: SchemaText.serverLimit)
}
