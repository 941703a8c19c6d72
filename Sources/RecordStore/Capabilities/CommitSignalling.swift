/// A database that tells when something was committed, so that those who follow it need not ask again and again.
public protocol CommitSignalling: RecordDatabase {
    /// A signal after each commit to the container's environment, whoever made it. Signals that come while nobody takes them are one:
    /// a follower that is slow takes no memory.
    func commits() -> AsyncStream<Void>
}
