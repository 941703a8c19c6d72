public import Records

extension SchemaText {
    /// Bytes that a text may have that a server reads; schemas of hundreds of types have less than a tenth of it.
    public static let serverLimit = 2 << 20

    /// - Throws: `RecordError` BAD_REQUEST when a text is longer than a server reads. The carriage returns that forms add don't count.
    public static func checkSize(of text: String) throws {
        let size = text.utf8.count
        guard size > serverLimit, size - text.utf8.count(where: { $0 == UInt8(ascii: "\r") }) > serverLimit else { return }
        throw RecordError(.badRequest, "A schema's text may have \(serverLimit >> 20) MiB here, and this one has \(size) bytes")
    }
}
