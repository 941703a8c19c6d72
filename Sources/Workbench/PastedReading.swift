/// What a pasted text turned out to be.
public enum PastedReading: Sendable, Hashable {
    /// Nothing but white space.
    case empty
    /// One value, in a form that spells out its bytes.
    case bytes(PastedBytes)
    /// A request, an answer or a part of one, with the tokens in it in the order they stand; `leftOut` are more than are read.
    case json([FoundToken], leftOut: Int)
    case unreadable(UnreadableText)
}
