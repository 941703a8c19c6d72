public import Records

/// Where a feed stands, as far as its tokens are concerned: a zone's, or that of a whole database.
public struct FeedState: Sendable {
    public var scope: DatabaseScope
    public var databaseNumber: Int64
    public var subject: TokenContent.Subject
    /// The latest change; 0 when there was none.
    public var position: Int64
    /// When the latest change was committed.
    public var moment: Timestamp
    /// Deletions up to here were purged: what a client that stands before does not know can't be told.
    public var floor: Int64

    public init(
        scope: DatabaseScope, databaseNumber: Int64, subject: TokenContent.Subject, position: Int64, moment: Timestamp, floor: Int64 = 0
    ) {
        self.scope = scope
        self.databaseNumber = databaseNumber
        self.subject = subject
        self.position = position
        self.moment = moment
        self.floor = floor
    }
}
