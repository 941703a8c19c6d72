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
        scope: DatabaseScope, databaseNumber: Int64, subject: TokenContent.Subject, position: Int64, moment: Timestamp,
        floor: Int64 = 0
    ) {
        self.scope = scope
        self.databaseNumber = databaseNumber
        self.subject = subject
        self.position = position
        self.moment = moment
        self.floor = floor
    }
}

// MARK: - Pages

/// Describes one page of a zone's changes: its range, direction, contents and token.
public struct PullPlan: Sendable {
    /// Range of positions to read: `after` is exclusive, `through` inclusive.
    public let after: Int64
    public let through: Int64
    public let descending: Bool
    /// Deletions up to this position are skipped.
    public let skipsDeletionsThrough: Int64
    /// Position that the client knew when the pull began. Decides whether a record counts as created or modified.
    public let base: Int64
    private let feed: FeedState
    private let began: Int64
    /// Time of `began`, for the final token of a reverse pull.
    private let beganMoment: Timestamp
    private let isFirstPull: Bool

    /// Plans a page.
    /// - Parameter content: the token's content, already validated for the feed; `nil` without a token.
    public init(_ content: TokenContent?, reverse: Bool, feed: FeedState) {
        self.feed = feed
        if let content, case .reversePull = content.progress {
            beganMoment = content.moment
        } else {
            beganMoment = feed.moment
        }
        switch content?.progress {
        case .reversePull(let began, let since)?:
            (after, through, descending) = (since, (content?.position ?? 1) - 1, true)
            (self.began, base, isFirstPull) = (began, since, since == 0)
            skipsDeletionsThrough = since == 0 ? began : 0
        case .firstPull(let began)?:
            (after, through, descending) = (content?.position ?? 0, feed.position, false)
            (self.began, base, isFirstPull) = (began, 0, true)
            skipsDeletionsThrough = began
        case .pull(let since)?:
            (after, through, descending) = (content?.position ?? 0, feed.position, false)
            (self.began, base, isFirstPull) = (since, since, false)
            skipsDeletionsThrough = 0
        case .complete?, nil:
            // A token before the first change reads the same range as no token, but only a missing token skips
            // deletions.
            let since = content?.position ?? 0
            (after, through, descending) = (since, feed.position, reverse)
            (base, isFirstPull) = (since, content == nil)
            began = reverse || content == nil ? feed.position : since
            skipsDeletionsThrough = content == nil ? feed.position : 0
        }
    }

    /// The kind of a change from the client's point of view.
    /// - Parameters:
    ///   - born: position at which the present record of this name was created.
    ///   - isRenewed: `true` if a record of this name was deleted before.
    public func kind(isDeleted: Bool, born: Int64, isRenewed: Bool) -> RecordChange.Kind {
        if isDeleted { return .deleted }
        if born <= base { return .modified }
        return isRenewed && !isFirstPull ? .recreated : .created
    }

    /// The token of a page that is not the last one.
    public func token(at position: Int64, moment: Timestamp, from codec: TokenCodec) -> ChangeToken {
        if descending {
            return codec.token(
                of: feed, at: position, moment: beganMoment, progress: .reversePull(began: began, since: base))
        }
        let progress: TokenContent.Progress = isFirstPull ? .firstPull(began: began) : .pull(since: base)
        return codec.token(of: feed, at: position, moment: moment, progress: progress)
    }

    /// The token of the last page. It covers everything up to the latest change, or for a reverse pull up to its
    /// start.
    public func finalToken(from codec: TokenCodec) -> ChangeToken {
        descending ? codec.token(of: feed, at: began, moment: beganMoment, progress: .complete) : codec.current(feed)
    }
}
