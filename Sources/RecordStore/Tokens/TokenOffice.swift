public import Records

/// Gives out tokens and judges those that come back; the same on every engine.
public struct TokenOffice: Sendable {
    private let seal: TokenSeal
    private let incarnations: [Incarnation]

    public init(seal: TokenSeal, incarnations: [Incarnation]) {
        self.seal = seal
        self.incarnations = incarnations
    }

    public static let foreign = RecordError(.badRequest, "Unknown sync continuation type")
    public static let expired = RecordError(.badRequest, "client knowledge differs from server knowledge")

    /// The token of a feed's latest change.
    public func current(_ feed: FeedState) -> ChangeToken {
        token(of: feed, at: feed.position, moment: feed.moment, progress: .complete)
    }

    /// The token of a place in a feed.
    public func token(
        of feed: FeedState, at position: Int64, moment: Timestamp, progress: TokenContent.Progress
    ) -> ChangeToken {
        var content = TokenContent(
            scope: feed.scope, databaseNumber: feed.databaseNumber, subject: feed.subject, position: position, progress: progress,
            incarnation: 0, moment: moment)
        content.incarnation = incarnations.number(of: content.latestPosition)
        return seal.seal(content)
    }

    /// What a token says, `nil` when this store did not make it.
    public func open(_ token: ChangeToken) -> TokenContent? {
        seal.open(token)
    }

    /// What a token says about a feed that it must fit.
    /// - Throws: `RecordError` BAD_REQUEST: 'Unknown sync continuation type' when the token is malformed or of another feed,
    ///   'client knowledge differs from server knowledge' when what changed since can't be told.
    public func content(of token: ChangeToken, for feed: FeedState, hasSameName: (Int64) throws -> Bool) throws -> TokenContent {
        guard let content = open(token), content.scope == feed.scope, content.databaseNumber == feed.databaseNumber else { throw Self.foreign }
        switch (content.subject, feed.subject) {
        case (.database, .database): break
        case (.zone(let left), .zone(let right)) where left == right: break
        case (.zone(let left), .zone):
            // The zone was deleted and made anew under its old name: the token was good once.
            throw try hasSameName(left) ? Self.expired : Self.foreign
        default: throw Self.foreign
        }
        if reasonExpired(content, feed) != nil { throw Self.expired }
        return content
    }

    /// Why a token of this feed is expired, `nil` when it is good.
    public func reasonExpired(_ content: TokenContent, _ feed: FeedState) -> String? {
        guard let incarnation = incarnations.first(where: { $0.number == content.incarnation }),
            incarnation.contains(content.latestPosition), content.latestPosition <= feed.position
        else { return "it is from a time that this store does not know: the store was restored from an older copy" }
        if max(content.position, content.floorFrom) < feed.floor { return "deletions after it were purged" }
        return nil
    }
}

extension TokenContent {
    /// The latest position that the token speaks of. A store that knows it knows all the others.
    fileprivate var latestPosition: Int64 {
        switch progress {
        case .complete, .pull: position
        case .firstPull(let began), .reversePull(let began, _): max(position, began)
        }
    }

    /// From where on deletions matter to the client: a first pull needs none before it began.
    fileprivate var floorFrom: Int64 {
        if case .firstPull(let began) = progress { began } else { 0 }
    }
}
