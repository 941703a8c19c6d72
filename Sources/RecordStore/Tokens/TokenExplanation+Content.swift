public import JSON
public import Records

extension TokenExplanation {
    /// Explains a token's content.
    /// - Parameters:
    /// - user: the owner of the token's database.
    /// - view: scope and number of the database being asked.
    /// - feed: the state of the feed; `nil` if the zone does not exist or is not visible.
    public init(
        _ opened: TokenCodec.Opened, about subject: Subject, user: Name?, view: (scope: DatabaseScope, number: Int64), feed: FeedState?,
        codec: TokenCodec, changesAfter: Int
    ) {
        let content = opened.content
        let standing: Standing
        if content.scope != view.scope || content.databaseNumber != view.number {
            standing = .foreign(why: "it belongs to the \(content.scope.rawValue) database of \(user.map(\.string) ?? "everyone")")
        } else if let feed {
            standing = codec.reasonExpired(opened, feed).map { .expired(why: $0) } ?? .good
        } else {
            standing = .expired(why: "its zone was deleted, or is no longer shared")
        }
        let progress: Progress =
            switch content.progress {
            case .complete: .complete
            case .firstPull: .firstPull
            case .pull(let since): .pull(since: since)
            case .reversePull: .reversePull
            }
        self.init(
            subject: subject, scope: content.scope, userRecordName: user, position: content.position,
            moment: content.position == 0 ? nil : content.moment, progress: progress, standing: standing,
            changesAfter: standing == .good ? changesAfter : nil)
    }
}
