public import Records

extension SchemaText {
    /// Maximum size in bytes of schema text that a server parses. Schemas of hundreds of types are less than a tenth
    /// of it.
    public static let serverLimit = 2 << 20

    /// - Throws: `RecordError` BAD_REQUEST if the text is longer than ``serverLimit``. Carriage returns, which forms
    ///   add, don't count.
    public static func checkSize(of text: String) throws {
        let size = text.utf8.count
        guard size > serverLimit, size - text.utf8.count(where: { $0 == UInt8(ascii: "\r") }) > serverLimit else { return }
        throw RecordError(.badRequest, "The limit of a schema's text is \(serverLimit >> 20) MiB here, and this one has \(size) bytes")
    }
}
