public import Records

/// The share that a link leads to.
public struct ResolvedShare: Sendable, Hashable {
    public var shortGUID: String
    /// The record that holds the share.
    public var share: StoredRecord
    /// The record at the top of the hierarchy; `nil` if the whole zone is shared.
    public var root: StoredRecord?
    /// The caller's part or invitation; `nil` for a caller who may join by the link alone.
    public var participant: ShareParticipant?
    public var isOwner: Bool

    public init(shortGUID: String, share: StoredRecord, root: StoredRecord?, participant: ShareParticipant?, isOwner: Bool) {
        self.shortGUID = shortGUID
        self.share = share
        self.root = root
        self.participant = participant
        self.isOwner = isOwner
    }
}
