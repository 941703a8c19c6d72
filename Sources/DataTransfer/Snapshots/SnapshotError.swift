/// The reason why a snapshot can't be saved, read or restored.
public struct SnapshotError: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// The name or the request is not valid.
        case invalid
        /// There is no such snapshot.
        case missing
        /// A snapshot has the name already.
        case exists
        /// A file can't be written.
        case unwritable
        /// A file of the snapshot is damaged or missing.
        case damaged
        /// The environment does not take what the snapshot has.
        case refused
    }

    public let kind: Kind
    public let description: String

    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
