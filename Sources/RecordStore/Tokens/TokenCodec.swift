public import Records

/// The token codec: issues and validates change tokens for all engines.
public struct TokenCodec: Sendable {
    private var seal: TokenSeal
    /// Earlier seals, latest first. Their tokens are recognized as expired.
    private var retiredSeals: [TokenSeal]
    private let epochs: [Epoch]

    public init(seal: TokenSeal, retired: [TokenSeal] = [], epochs: [Epoch]) {
        self.seal = seal
        retiredSeals = retired
        self.epochs = epochs
    }

    /// A token that was issued by this store.
    public struct Opened: Sendable, Hashable {
        public let content: TokenContent
        /// True if the token was sealed with an earlier key and has therefore expired.
        public let isRetired: Bool
    }

    /// Issues tokens with a new seal and expires all earlier ones.
    public mutating func retire(for seal: TokenSeal) {
        retiredSeals.insert(self.seal, at: 0)
        self.seal = seal
    }

    public static let foreign = RecordError(known: .unknownToken)
    public static let expired = RecordError(known: .expiredToken)

    /// The token of a feed's latest change.
    public func current(_ feed: FeedState) -> ChangeToken {
        token(of: feed, at: feed.position, moment: feed.moment, progress: .complete)
    }

    /// The token of a place in a feed.
    public func token(
        of feed: FeedState, at position: Int64, moment: Timestamp, progress: TokenContent.Progress
    ) -> ChangeToken {
        var content = TokenContent(
            scope: feed.scope, databaseNumber: feed.databaseNumber, subject: feed.subject, position: position,
            progress: progress,
            epoch: 0, moment: moment)
        content.epoch = epochs.number(of: content.latestPosition)
        return seal.seal(content)
    }

    /// The token of a client that has seen everything up to a place in a zone's feed.
    /// - Parameter last: the latest change up to there; `nil` if there is none.
    /// - Returns: `nil` if the store can't report the changes since then any more.
    public func token(after last: (position: Int64, moment: Timestamp)?, of feed: FeedState) -> ChangeToken? {
        let (position, moment) = last ?? (0, Timestamp(milliseconds: 0))
        return position < feed.floor ? nil : token(of: feed, at: position, moment: moment, progress: .complete)
    }

    /// The content of a token; `nil` if this store did not issue it.
    public func open(_ token: ChangeToken) -> Opened? {
        if let content = seal.open(token) { return Opened(content: content, isRetired: false) }
        for seal in retiredSeals {
            if let content = seal.open(token) { return Opened(content: content, isRetired: true) }
        }
        return nil
    }

    /// The content of a token for a given feed.
    /// - Throws: `RecordError` BAD_REQUEST: 'Unknown sync continuation type' if the token is malformed or belongs to
    ///   another feed, 'client knowledge differs from server knowledge' if the changes since can't be reported.
    public func content(of token: ChangeToken, for feed: FeedState, hasSameName: (Int64) throws -> Bool) throws
        -> TokenContent
    {
        guard let opened = open(token) else { throw Self.foreign }
        let content = opened.content
        guard content.scope == feed.scope, content.databaseNumber == feed.databaseNumber else { throw Self.foreign }
        switch (content.subject, feed.subject) {
        case (.database, .database), (.keyValues, .keyValues): break
        case (.zone(let left), .zone(let right)) where left == right: break
        case (.zone(let left), .zone):
            // The zone was deleted and recreated with the same name, so the token was valid before.
            throw try hasSameName(left) ? Self.expired : Self.foreign
        default: throw Self.foreign
        }
        if reasonExpired(opened, feed) != nil { throw Self.expired }
        return content
    }

    /// The reason why a token of this feed has expired; `nil` if it is valid.
    public func reasonExpired(_ opened: Opened, _ feed: FeedState) -> String? {
        if opened.isRetired { return "all earlier tokens were expired" }
        let content = opened.content
        guard let epoch = epochs.first(where: { $0.number == content.epoch }),
            epoch.contains(content.latestPosition), content.latestPosition <= feed.position
        else { return "it is newer than this store, which was restored from an older copy" }
        if content.deletionsKnownThrough < feed.floor { return "deletions after it were purged" }
        return nil
    }
}

extension TokenContent {
    /// The latest position in the token. If the store knows this position, it knows all others in the token.
    fileprivate var latestPosition: Int64 {
        switch progress {
        case .complete, .pull: position
        case .firstPull(let began), .reversePull(let began, _): max(position, began)
        }
    }

    /// Deletions up to this position were reported to the client or don't matter to it. A first pull does not need
    /// earlier ones, and a reverse pull reports the oldest deletions last.
    fileprivate var deletionsKnownThrough: Int64 {
        switch progress {
        case .complete, .pull: position
        case .firstPull(let began): max(position, began)
        case .reversePull(let began, let since): since == 0 ? began : since
        }
    }
}

// MARK: - Epochs

/// An epoch: one opening of a store for writing, with the range of positions committed in it.
///
/// A token is valid only within its epoch's range. So a restored copy of a store rejects tokens that were issued
/// after the copy was made.
public struct Epoch: Sendable, Hashable {
    public let number: UInt32
    /// The last position before the epoch.
    public let after: Int64
    /// The last position of the epoch; `nil` while it is current.
    public var through: Int64?

    public init(number: UInt32, after: Int64, through: Int64? = nil) {
        self.number = number
        self.after = after
        self.through = through
    }

    /// True if the position was committed in this epoch. Position 0 belongs to the first epoch.
    public func contains(_ position: Int64) -> Bool {
        (position > after || position == 0 && after == 0) && through.map { position <= $0 } ?? true
    }
}

extension [Epoch] {
    /// Number of the epoch in which a position was committed. It makes the token of a position unambiguous.
    public func number(of position: Int64) -> UInt32 {
        first { $0.contains(position) }?.number ?? first?.number ?? 0
    }
}
