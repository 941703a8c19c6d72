/// Why a file of an asset in the folder of an export can't be used.
public struct AssetFileError: Error, Sendable, CustomStringConvertible {
    public let path: String
    public let reason: String
    /// Whether the system does not let the file be read: nothing is known of what is in it.
    let isUnreadable: Bool

    init(_ path: String, _ reason: String, isUnreadable: Bool = false) {
        self.path = path
        self.reason = reason
        self.isUnreadable = isUnreadable
    }

    public var description: String { "'\(path)': \(reason)" }
}
