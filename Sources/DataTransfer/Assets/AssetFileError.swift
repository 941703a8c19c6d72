/// Why a file of an asset in the folder of an export can't be used.
public struct AssetFileError: Error, Sendable, CustomStringConvertible {
    public let path: String
    public let reason: String

    init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    public var description: String { "'\(path)': \(reason)" }
}
