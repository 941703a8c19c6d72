public import Records

/// The state of the change feed of a zone or database, as needed for tokens.
public struct FeedState: Sendable {
    public var scope: DatabaseScope
    public var databaseNumber: Int64
    public var subject: TokenContent.Subject
    /// Position of the latest change; 0 if there is none.
    public var position: Int64
    /// Commit time of the latest change.
    public var moment: Timestamp
    /// Deletions up to this position were removed, so clients with older tokens can't learn of them.
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
