internal import RecordStore
internal import Records

/// The form that takes a schema file, pasted or chosen.
struct SchemaFileForm: ViewModel {
    let action: String
    let text: String
    let isMerging: Bool
    let sizeLimit: String

    /// Bytes that a form may have: a file and a text may come in one, and a text takes up to three times its size in a form that is not
    /// multipart.
    static let formLimit = 4 * SchemaText.serverLimit

    init(_ visit: Visit, text: String = "", isMerging: Bool = false) {
        action = visit.place.link("schema/import")
        self.text = text
        self.isMerging = isMerging
        sizeLimit = Digits.limit(Int64(SchemaText.serverLimit))
    }
}
