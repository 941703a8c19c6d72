/// A parsed text in the schema language.
public struct SchemaText: Sendable {
    /// Errors in text order. Parsing stops after ``errorLimit`` errors.
    public let errors: [SchemaTextError]
    /// Notes on parts that were accepted but deserve attention. Only the first ones are kept.
    public let notes: [SchemaTextNote]
    /// Number of notes beyond ``notes``.
    public let moreNotes: Int
    private let parsed: Schema

    /// Maximum number of ``errors``.
    public static let errorLimit = 20
    /// Maximum number of ``notes``.
    public static let noteLimit = 20

    /// Parses the text of a schema file.
    public init(_ text: String) {
        self.init(utf8: Array(text.utf8))
    }

    /// - Parameter utf8: the bytes of a file. Invalid UTF-8 is an error, except in comments.
    public init(utf8: [UInt8]) {
        var parser = SchemaParser(utf8)
        parsed = parser.parse()
        errors = parser.errors.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
        notes = parser.notes
        moreNotes = parser.moreNotes
    }

    /// The parsed schema.
    /// - Throws: the first ``SchemaTextError``.
    public func schema() throws -> Schema {
        if let error = errors.first { throw error }
        return parsed
    }
}
