public import Records

/// What a change token says, before it is sealed.
public struct TokenContent: Sendable, Hashable {
    /// Whose changes. Numbers, not names: a zone made anew under the same name has another number.
    public enum Subject: Sendable, Hashable {
        case database
        case zone(Int64)
    }

    /// How far a pull has come.
    public enum Progress: Sendable, Hashable {
        /// Everything up to the position was seen.
        case complete
        /// In the middle of a pull without a token, which began when the zone stood here: deletions up to there are of no interest.
        case firstPull(began: Int64)
        /// In the middle of a pull since this position: created or modified is relative to it.
        case pull(since: Int64)
        /// In the middle of a pull from new to old. It began here, goes down to `since`, and ends as a complete token for where it began.
        case reversePull(began: Int64, since: Int64)
    }

    public var scope: DatabaseScope
    /// The number of the user whose database it is; 0 for the public one.
    public var databaseNumber: Int64
    public var subject: Subject
    /// Everything up to here was seen; in a reverse pull, everything from here on.
    public var position: Int64
    public var progress: Progress
    /// The opening of the store in which the latest position that the token speaks of was committed.
    public var incarnation: UInt32
    /// When the position was committed.
    public var moment: Timestamp

    public init(
        scope: DatabaseScope, databaseNumber: Int64, subject: Subject, position: Int64, progress: Progress = .complete, incarnation: UInt32,
        moment: Timestamp
    ) {
        self.scope = scope
        self.databaseNumber = databaseNumber
        self.subject = subject
        self.position = position
        self.progress = progress
        self.incarnation = incarnation
        self.moment = moment
    }
}
