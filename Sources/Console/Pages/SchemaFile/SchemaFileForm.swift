internal import Records

/// The form that takes a schema file, pasted or chosen.
struct SchemaFileForm: ViewModel {
    let action: String
    let text: String
    let isMerging: Bool
    let sizeLimit: String

    /// Bytes that a schema file may have.
    static let limit = 16 << 20

    init(_ visit: Visit, text: String = "", isMerging: Bool = false) {
        action = visit.place.link("schema/import")
        self.text = text
        self.isMerging = isMerging
        sizeLimit = Digits.limit(Int64(Self.limit))
    }
}
