internal import Records

/// Which of a session's tokens were used, as far as it matters: a token that was replaced stays good for a time after its successor's first use.
///
/// Moments are milliseconds since 1970. Uses within the same second are held together, so that a busy session takes no more memory than a quiet
/// one: a replaced token may be good for a second longer than it must be.
struct TokenRotation {
    private struct Use {
        /// When the newest of the tokens was given out.
        var issue: Int64
        /// When it was first used.
        var firstUse: Int64
        /// When the first of those held together with it was.
        var start: Int64
    }

    /// In the order of both moments.
    private var uses: [Use] = []

    init() {}

    init(newestIssue: Int64, firstUse: Int64) {
        uses = [Use(issue: newestIssue, firstUse: firstUse, start: firstUse)]
    }

    /// What a later start of the server has to know.
    var newest: (issue: Int64, firstUse: Int64)? {
        uses.last.map { ($0.issue, $0.firstUse) }
    }

    /// When a token was replaced: the first use of one that is newer. `nil` when there was none.
    func replaced(issue: Int64) -> Int64? {
        uses.first { $0.issue > issue }?.firstUse
    }

    /// Notes the use of a token.
    /// - Parameter grace: milliseconds for which a replaced token stays good.
    mutating func used(issue: Int64, at now: Int64, grace: Int64) {
        if let last = uses.last, last.issue >= issue { return }
        if let last = uses.last, now.subtractingSaturated(last.start) < 1000 {
            uses[uses.count - 1] = Use(issue: issue, firstUse: max(now, last.firstUse), start: last.start)
        } else {
            uses.append(Use(issue: issue, firstUse: now, start: now))
        }
        // Of those whose time of grace is over one is enough: everything before it is dead.
        while uses.count > 1, uses[1].firstUse.addingSaturated(grace) < now { uses.removeFirst() }
    }
}
