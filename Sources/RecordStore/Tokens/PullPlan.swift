public import Records

/// How one page of a zone's changes is read: from where, in which direction, what is shown, and what its token will be.
public struct PullPlan: Sendable {
    /// Positions to read: greater than the lower, at most the upper.
    public let after: Int64
    public let through: Int64
    public let descending: Bool
    /// Deletions up to here are skipped.
    public let skipsDeletionsThrough: Int64
    /// What the client knew when the pull began: created or modified is relative to it.
    public let base: Int64
    private let feed: FeedState
    private let began: Int64
    /// The moment of `began`: a reverse pull ends with its token.
    private let beganMoment: Timestamp
    private let isFirstPull: Bool

    /// Plans a page.
    /// - Parameter content: the token's content, already checked against the feed; `nil` without a token.
    public init(_ content: TokenContent?, reverse: Bool, feed: FeedState) {
        self.feed = feed
        if let content, case .reversePull = content.progress { beganMoment = content.moment } else { beganMoment = feed.moment }
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
            // A complete token before the first change is as good as none, but only an absent one skips deletions.
            let since = content?.position ?? 0
            (after, through, descending) = (since, feed.position, reverse)
            (base, isFirstPull) = (since, content == nil)
            began = reverse || content == nil ? feed.position : since
            skipsDeletionsThrough = content == nil ? feed.position : 0
        }
    }

    /// What happened to a record, seen from the client.
    /// - Parameters:
    ///   - position: of its latest change.
    ///   - born: the position at which the present record of this name was created.
    ///   - isRenewed: whether a record of the name was deleted before that.
    public func kind(isDeleted: Bool, born: Int64, isRenewed: Bool) -> RecordChange.Kind {
        if isDeleted { return .deleted }
        if born <= base { return .modified }
        return isRenewed && !isFirstPull ? .recreated : .created
    }

    /// The token of a page that ended at a position, with more to come.
    public func token(at position: Int64, moment: Timestamp, from office: TokenOffice) -> ChangeToken {
        if descending {
            return office.token(of: feed, at: position, moment: beganMoment, progress: .reversePull(began: began, since: base))
        }
        let progress: TokenContent.Progress = isFirstPull ? .firstPull(began: began) : .pull(since: base)
        return office.token(of: feed, at: position, moment: moment, progress: progress)
    }

    /// The token of the last page: everything up to the zone's latest change was seen; after a reverse pull, up to where it began.
    public func finalToken(from office: TokenOffice) -> ChangeToken {
        descending ? office.token(of: feed, at: began, moment: beganMoment, progress: .complete) : office.current(feed)
    }
}
