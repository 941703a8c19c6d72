/// Something in a schema's text that was read, but is worth a word: what Apple's tools may refuse, or what has no use here.
public struct SchemaTextNote: Sendable, Hashable, CustomStringConvertible {
    /// From 1.
    public let line: Int
    /// In characters, from 1.
    public let column: Int
    /// One sentence.
    public let text: String

    public var description: String { "line \(line), column \(column): \(text)" }

    init(_ text: String, at place: SchemaTextError) {
        line = place.line
        column = place.column
        self.text = text
    }
}
