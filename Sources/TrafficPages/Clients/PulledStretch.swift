internal import RecordStore
internal import Traffic

/// The stretch of a zone's feed that the answer to one pull covered: positions greater than the lower bound, up to the upper one.
struct PulledStretch: Sendable, Hashable {
    let after: Int64
    let through: Int64

    /// - Parameters:
    ///   - sent: the meaning of the client's token; `nil` if it started anew.
    ///   - given: the meaning of the token in the answer.
    init(sent: TokenExplanation?, given: TokenExplanation) {
        let isGoingDown = sent?.progress == .reversePull
        if given.progress == .reversePull {
            // A reverse pull covers everything from the new token up to the end of the previous page.
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
