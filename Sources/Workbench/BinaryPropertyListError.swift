/// The reason why bytes are not a binary property list, and the position of the error.
public struct BinaryPropertyListError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem, as a part of a sentence.
    public let problem: String
    /// The offset of the byte with the error, counted from 0.
    public let offset: Int

    init(_ problem: String, at offset: Int) {
        self.problem = problem
        self.offset = offset
    }

    public var description: String { "\(problem), at byte \(offset)" }
}
