public import Records

/// An engine that can tell something of its containers without opening them: there may be thousands.
public protocol ContainerSummarizing: RecordEngine {
    /// One for each of some containers, in their order.
    func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary]
}

/// One container as it is seen from outside.
public struct ContainerSummary: Sendable, Hashable {
    public var container: ContainerID
    /// Bytes of the records of all environments on the disk, without the files of assets.
    public var bytes: Int64
    /// When something was last saved; `nil` where nothing was.
    public var lastSave: Timestamp?
    /// Why an environment can't be opened or read; `nil` where all can, as far as that is known.
    public var unreadableBecause: RecordError?

    public init(container: ContainerID, bytes: Int64 = 0, lastSave: Timestamp? = nil, unreadableBecause: RecordError? = nil) {
        self.container = container
        self.bytes = bytes
        self.lastSave = lastSave
        self.unreadableBecause = unreadableBecause
    }
}
