/// The reason why Skylight does not accept a text as JSON, and the position of the error.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// An error in a text.
    public enum Problem: Sendable, Hashable {
        /// The text ended before the value did.
        case unexpectedEnd
        /// A byte that is invalid at its position.
        case unexpectedCharacter
        /// Text after the end of the value.
        case trailingText
        /// Bytes that are not UTF-8, or an escape of half a surrogate pair.
        case invalidString
        /// A number outside the range of a 64-bit float, or with invalid syntax.
        case invalidNumber
        /// Arrays and objects nested deeper than the limit.
        case tooDeep(limit: Int)
        /// An object with a duplicate member name, which would be ambiguous.
        case duplicateName(Name)
    }

    /// The error at ``offset``.
    public let problem: Problem
    /// The byte at which reading stopped, counted from 0.
    public let offset: Int

    public var description: String {
        let what =
            switch problem {
            case .unexpectedEnd: "the text ends in the middle of a value"
            case .unexpectedCharacter: "unexpected character"
            case .trailingText: "text after the end of the value"
            case .invalidString: "a string that is not valid Unicode"
            case .invalidNumber: "a number that is malformed or out of range"
            case .tooDeep(let limit): "nested more than \(limit) levels deep"
            case .duplicateName(let name): "the member '\(name)' appears twice in one object"
            }
        return "\(what), at byte \(offset)"
    }
}
