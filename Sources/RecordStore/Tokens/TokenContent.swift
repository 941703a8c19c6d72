public import Records

/// The content of a change token before sealing.
public struct TokenContent: Sendable, Hashable {
    /// The feed of the token. Identified by number, because a recreated zone has the same name but another number.
    public enum Subject: Sendable, Hashable {
        case database
        case zone(Int64)
        /// A user's key-value store.
        case keyValues
    }

    /// The progress of a pull.
    public enum Progress: Sendable, Hashable {
        /// The client has seen everything up to the position.
        case complete
        /// Within a pull without a token that began at this position. Earlier deletions are not reported.
        case firstPull(began: Int64)
        /// Within a pull since this position, which decides whether records count as created or modified.
        case pull(since: Int64)
        /// Within a pull from new to old, from `began` down to `since`. It ends with a complete token for `began`.
        case reversePull(began: Int64, since: Int64)
    }

    public var scope: DatabaseScope
    /// User number of the database's owner; 0 for the public database.
    public var databaseNumber: Int64
    public var subject: Subject
    /// The client has seen everything up to this position; in a reverse pull, everything from it on.
    public var position: Int64
    public var progress: Progress
    /// Number of the epoch in which the latest position of the token was committed.
    public var epoch: UInt32
    /// Commit time of the position.
    public var moment: Timestamp

    public init(
        scope: DatabaseScope, databaseNumber: Int64, subject: Subject, position: Int64, progress: Progress = .complete, epoch: UInt32,
        moment: Timestamp
    ) {
        self.scope = scope
        self.databaseNumber = databaseNumber
        self.subject = subject
        self.position = position
        self.progress = progress
        self.epoch = epoch
        self.moment = moment
    }
}
