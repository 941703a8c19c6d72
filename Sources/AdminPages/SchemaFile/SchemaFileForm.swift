internal import Console
internal import RecordStore
internal import Records

/// The form for a schema file, as text or upload.
struct SchemaFileForm: ViewModel {
    let action: String
    let text: String
    let isMerging: Bool
    let sizeLimit: String

    /// The size limit of the form, in bytes. A form can contain a file and a text, and URL encoding triples the size of the text.
    static let formLimit = 4 * SchemaText.serverLimit

    init(_ visit: Visit, text: String = "", isMerging: Bool = false) {
        action = visit.place.link("schema/import")
        self.text = text
        self.isMerging = isMerging
        sizeLimit = Digits.limit(Int64(SchemaText.serverLimit))
    }
}
