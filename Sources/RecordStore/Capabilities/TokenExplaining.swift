public import JSON
public import Records

/// A database that can say what its tokens mean.
public protocol TokenExplaining: RecordDatabase {
    /// The database token for now, which a pull to its end would give; without reading what lies before. A zone's stands in `fetchZones`.
    /// - Throws: `RecordError` BAD_REQUEST for the public database, which has no feed.
    func currentToken() async throws -> ChangeToken

    /// - Throws: `RecordError` BAD_REQUEST when the token was not made by this store, or was damaged.
    func explain(_ token: ChangeToken) async throws -> TokenExplanation
}

/// What a token says.
public struct TokenExplanation: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// Which zones to ask.
        case database
        /// The records of one zone; `nil` when the zone is not in the store any more.
        case zone(ZoneID?)
    }

    public enum Progress: Sendable, Hashable {
        /// Everything up to the position was seen.
        case complete
        /// A page of a first pull.
        case firstPull
        /// A page of a pull that began at this position.
        case pull(since: Int64)
        /// A page of a pull that goes from new to old.
        case reversePull
    }

    public enum Standing: Sendable, Hashable {
        case good
        /// The server no longer knows what changed since; the client must start without a token.
        case expired(why: String)
        /// Made for another database, scope or zone than the one that was asked.
        case foreign(why: String)
    }

    public var subject: Subject
    public var scope: DatabaseScope
    /// Whose database; `nil` for the public one.
    public var userRecordName: Name?
    public var position: Int64
    /// When the change at the position was committed; `nil` when the token stands before the first change.
    public var moment: Timestamp?
    public var progress: Progress
    public var standing: Standing
    /// Changes after the position; `nil` when the token is not good.
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
