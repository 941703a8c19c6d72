/// Why a text is not JSON that Skylight accepts, and where.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Problem: Sendable, Hashable {
        /// The text ended before the value did.
        case unexpectedEnd
        /// A byte that can't stand where it stands.
        case unexpectedCharacter
        /// Text after the end of the value.
        case trailingText
        /// Bytes that are not UTF-8, or an escape of half a surrogate pair.
        case invalidString
        /// A number beyond the range of a 64-bit float, or written in a way JSON does not know.
        case invalidNumber
        /// Arrays and objects nested deeper than the limit.
        case tooDeep(limit: Int)
        /// An object that names a member twice: which of the two was meant can't be known.
        case duplicateName(Name)
    }

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
