/// A database that reports commits, so that followers need not poll.
public protocol CommitSignalling: RecordDatabase {
    /// Yields after each commit to the container and environment by any caller. Signals that are not consumed are
    /// merged, so a slow follower uses no memory.
    func commits() -> AsyncStream<Void>
}
