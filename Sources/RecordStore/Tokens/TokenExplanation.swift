public import JSON
public import Records

/// The decoded contents of a token.
public struct TokenExplanation: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// The list of changed zones.
        case database
        /// The records of one zone; `nil` if the zone is no longer in the store.
        case zone(ZoneID?)
    }

    public enum Progress: Sendable, Hashable {
        /// The client has seen everything up to the position.
        case complete
        /// A page of a pull without a token.
        case firstPull
        /// A page of a pull that started at this position.
        case pull(since: Int64)
        /// A page of a pull from new to old.
        case reversePull
    }

    public enum Standing: Sendable, Hashable {
        case good
        /// The server no longer knows the changes since the token. The client must start without a token.
        case expired(why: String)
        /// The token belongs to another database, scope or zone.
        case foreign(why: String)
    }

    public var subject: Subject
    public var scope: DatabaseScope
    /// Owner of the database; `nil` for the public one.
    public var userRecordName: Name?
    public var position: Int64
    /// Commit time of the change at the position; `nil` if the token is before the first change.
    public var moment: Timestamp?
    public var progress: Progress
    public var standing: Standing
    /// Number of changes after the position; `nil` if the token is not valid.
    public var changesAfter: Int?

    public init(
        subject: Subject, scope: DatabaseScope, userRecordName: Name?, position: Int64, moment: Timestamp?, progress: Progress,
        standing: Standing, changesAfter: Int?
    ) {
        self.subject = subject
        self.scope = scope
        self.userRecordName = userRecordName
        self.position = position
        self.moment = moment
        self.progress = progress
        self.standing = standing
        self.changesAfter = changesAfter
    }
}
