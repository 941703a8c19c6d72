/// A row that can't be imported.
public struct RowProblem: Error, Sendable, Hashable, CustomStringConvertible {
    public let file: String
    /// The line number, counted from 1 and including the header.
    public let line: Int
    public let reason: String

    public init(file: String, line: Int, reason: String) {
        self.file = file
        self.line = line
        self.reason = reason
    }

    public var description: String { "\(file):\(line): \(reason)" }
}
