/// A note on schema text that was accepted, but that Apple's tools may refuse or that has no effect here.
public struct SchemaTextNote: Sendable, Hashable, CustomStringConvertible {
    /// Line number, starting at 1.
    public let line: Int
    /// Column in characters, starting at 1.
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
