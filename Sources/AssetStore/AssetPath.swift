public import Records
internal import Text

/// A path below `/assets`: `/assets/{container}/{environment}/upload/{ticket}` or `/assets/{container}/{environment}/download/{ticket}/{name}`.
public struct AssetPath: Sendable, Hashable {
    public enum Purpose: Sendable, Hashable {
        case upload(ticket: String)
        /// The ticket, and the name of the downloaded file.
        case download(ticket: String, fileName: String)
    }

    public static let root = "/assets/"

    public let container: ContainerID
    public let environment: Environment
    public let purpose: Purpose

    /// - Returns: `nil` if the path is not a valid asset path.
    public init?(_ path: String) {
        guard path.hasPrefix(Self.root) else { return nil }
        let parts = path.dropFirst(Self.root.count).split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, let container = ContainerID(parts[0]), let environment = Environment(rawValue: parts[1]) else { return nil }
        self.container = container
        self.environment = environment
        switch (parts[2], parts.count) {
        case ("upload", 4): purpose = .upload(ticket: parts[3])
        case ("download", 5):
            guard let name = PercentEncoding.decoded(parts[4]) else { return nil }
            purpose = .download(ticket: parts[3], fileName: name)
        default: return nil
        }
    }
}
