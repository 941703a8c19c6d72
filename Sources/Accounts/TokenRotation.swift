internal import Records

/// Tracks the used tokens of a session. A replaced token stays valid for some time after the first use of its
/// successor.
///
/// Times are in milliseconds since 1970. Uses within the same second are merged, so that busy sessions need no more
/// memory. A replaced token may therefore be valid up to a second longer than necessary.
struct TokenRotation {
    private struct Use {
        /// Issue time of the newest of these tokens.
        var issue: Int64
        /// Time of its first use.
        var firstUse: Int64
        /// Time of the first use of the first token merged into this entry.
        var start: Int64
    }

    /// Ordered by both times.
    private var uses: [Use] = []

    init() {}

    init(newestIssue: Int64, firstUse: Int64) {
        uses = [Use(issue: newestIssue, firstUse: firstUse, start: firstUse)]
    }

    /// The part that must survive a restart.
    var newest: (issue: Int64, firstUse: Int64)? {
        uses.last.map { ($0.issue, $0.firstUse) }
    }

    /// Time when a token was replaced, which is the first use of a newer one; `nil` if there was none.
    func replaced(issue: Int64) -> Int64? {
        uses.first { $0.issue > issue }?.firstUse
    }

    /// Records the use of a token.
    /// - Parameter grace: milliseconds for which a replaced token stays valid.
    mutating func used(issue: Int64, at now: Int64, grace: Int64) {
        if let last = uses.last, last.issue >= issue { return }
        if let last = uses.last, now.subtractingSaturated(last.start) < 1000 {
            uses[uses.count - 1] = Use(issue: issue, firstUse: max(now, last.firstUse), start: last.start)
        } else {
            uses.append(Use(issue: issue, firstUse: now, start: now))
        }
        // Keep one entry past the grace period. It invalidates all older tokens.
        while uses.count > 1, uses[1].firstUse.addingSaturated(grace) < now { uses.removeFirst() }
    }
}
