/// Why bytes are no binary property list, and where that shows.
public struct BinaryPropertyListError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, as a part of a sentence.
    public let problem: String
    /// The byte at which it was found, counted from 0.
    public let offset: Int

    init(_ problem: String, at offset: Int) {
        self.problem = problem
        self.offset = offset
    }

    public var description: String { "\(problem), at byte \(offset)" }
}
