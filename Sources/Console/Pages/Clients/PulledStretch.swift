internal import RecordStore
internal import Traffic

/// The stretch of a zone's feed that the answer to one pull covered: positions greater than the lower, up to the upper.
struct PulledStretch: Sendable, Hashable {
    let after: Int64
    let through: Int64

    /// - Parameters:
    ///   - sent: what the client's token said; `nil` when it began anew.
    ///   - given: what the token said that it was given.
    init(sent: TokenExplanation?, given: TokenExplanation) {
        let isGoingDown = sent?.progress == .reversePull
        if given.progress == .reversePull {
            // From new to old: everything from the new token on was seen, down from where the page before ended.
            after = given.position - 1
            through = isGoingDown ? (sent?.position ?? .max) - 1 : .max
        } else if isGoingDown, let sent {
            after = 0
            through = sent.position - 1
        } else {
            after = sent?.position ?? 0
            through = given.position
        }
    }

    func contains(_ position: Int64) -> Bool { position > after && position <= through }
}
