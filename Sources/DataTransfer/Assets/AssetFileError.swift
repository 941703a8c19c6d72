/// The reason why a file in the asset folder of an export can't be used.
public struct AssetFileError: Error, Sendable, CustomStringConvertible {
    public let path: String
    public let reason: String
    /// True if the operating system refuses to read the file, so that its content is unknown.
    let isUnreadable: Bool

    init(_ path: String, _ reason: String, isUnreadable: Bool = false) {
        self.path = path
        self.reason = reason
        self.isUnreadable = isUnreadable
    }

    public var description: String { "'\(path)': \(reason)" }
}
