/// A text of the schema language, read.
public struct SchemaText: Sendable {
    /// What is wrong, in the order of the text. Beyond ``errorLimit`` the text is not read on.
    public let errors: [SchemaTextError]
    /// What was read, but is worth a word: the first of it.
    public let notes: [SchemaTextNote]
    /// How much more there is than ``notes`` tell.
    public let moreNotes: Int
    private let parsed: Schema

    public static let errorLimit = 20
    public static let noteLimit = 20

    public init(_ text: String) {
        self.init(utf8: Array(text.utf8))
    }

    /// - Parameter utf8: the bytes of a file; what is not UTF-8 is an error, except in comments.
    public init(utf8: [UInt8]) {
        var parser = SchemaParser(utf8)
        parsed = parser.parse()
        errors = parser.errors.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
        notes = parser.notes
        moreNotes = parser.moreNotes
    }

    /// - Throws: ``SchemaTextError``, the first one.
    public func schema() throws -> Schema {
        if let error = errors.first { throw error }
        return parsed
    }
}
