/// The result of parsing a pasted text.
public enum PastedReading: Sendable, Hashable {
    /// Only white space.
    case empty
    /// A single encoded value.
    case bytes(PastedBytes)
    /// A request, an answer or a part of one, with its tokens in text order. `leftOut` is the number of tokens beyond the limit.
    case json([FoundToken], leftOut: Int)
    case unreadable(UnreadableText)
}
