public import Records

/// Summary of a container, taken without opening it.
public struct ContainerSummary: Sendable, Hashable {
    public var container: ContainerID
    /// Total size of the record stores of all environments on disk in bytes, without asset files.
    public var bytes: Int64
    /// Time of the last save; `nil` if nothing was saved.
    public var lastSave: Timestamp?
    /// The reason why an environment can't be opened or read; `nil` if no problem is known.
    public var unreadableBecause: RecordError?

    public init(container: ContainerID, bytes: Int64 = 0, lastSave: Timestamp? = nil, unreadableBecause: RecordError? = nil) {
        self.container = container
        self.bytes = bytes
        self.lastSave = lastSave
        self.unreadableBecause = unreadableBecause
    }
}
