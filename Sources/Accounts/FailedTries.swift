/// Bounds how fast passwords are tried, so that nobody can try many, and nobody who tries many keeps out who knows the right one.
///
/// Each place has a few tries at once. Then there is a line: one password a second is looked at, in the order in which they came, and only what
/// comes to a long line is sent away. So whoever knows the password gets in after some seconds, whoever else guesses from the same address.
/// All places together are bound in the same way: those that tried before, those that never did, each by themselves. Places that sent the right
/// password lately wait in their own line only.
///
/// A place counts as one that tried before for some minutes. The clock is one that nobody can set, and nothing of this outlives the process.
struct FailedTries {
    typealias Moment = ContinuousClock.Instant

    /// Passwords of a place that are looked at without a wait.
    static let free = 5
    /// The same of all places that tried before, and of all that did not.
    static let allFree = 60
    /// The time after which one more is looked at.
    static let interval = Duration.seconds(1)
    /// Longest wait in line.
    static let longestWait = Duration.seconds(16)
    /// Most places that are remembered.
    static let placeLimit = 1024
    /// How long a place counts as one that tried before, and for how long as one that sent the right password.
    private static let (memory, rightMemory) = (Duration.seconds(900), Duration.seconds(86_400))
    /// Most places that are known to have sent the right one.
    private static let rightLimit = 256

    /// Who is bound together besides the places alone.
    enum Group { case first, repeated }

    private var places = Budget<String>(atOnce: free, interval: interval, keyLimit: placeLimit)
    private var groups = Budget<Group>(atOnce: allFree, interval: interval, keyLimit: 2)
    /// Comparisons with the password that was right last, which cost nothing, for places that sent it and have to wait.
    private var comparisons = Budget<String>(atOnce: 20, interval: .milliseconds(500), keyLimit: rightLimit)
    /// When a place last tried.
    private var tried: [String: Moment] = [:]
    /// When the last right password came from where.
    private var right: [String: Moment] = [:]

    /// Whether a password may be compared with the one that was right last before its turn comes. A wrong one takes its turn next.
    mutating func mayCompare(_ place: String, at now: Moment) -> Bool {
        if places.wait(of: place, at: now) == .zero { return true }
        guard isRight(place, at: now), case .after = comparisons.take(place, at: now) else { return false }
        return true
    }

    /// Notes that the right password came from a place before its turn.
    mutating func compared(_ place: String, at now: Moment) {
        right[place] = now
        if right.count > Self.rightLimit, let oldest = right.min(by: { $0.value < $1.value }) { right[oldest.key] = nil }
    }

    /// Counts a try from a place, before it is looked at, so that many at a time are no way around the limit.
    /// - Returns: when it is looked at.
    mutating func turn(of place: String, at now: Moment) -> Turn {
        let own = places.take(place, at: now, waiting: Self.longestWait)
        guard case .after(let wait) = own else { return own }
        if isRight(place, at: now) { return own }
        let all = groups.take(group(of: place, at: now), at: now, waiting: Self.longestWait)
        guard case .after(let longer) = all else {
            places.giveBack(place)
            return all
        }
        tried[place] = now
        if tried.count > Self.placeLimit, let oldest = tried.min(by: { $0.value < $1.value }) { tried[oldest.key] = nil }
        return .after(max(wait, longer))
    }

    /// Takes back what was counted before a password was looked at that was right: the place begins anew.
    mutating func succeeded(_ place: String, at now: Moment) {
        places.forget(place)
        tried[place] = nil
        compared(place, at: now)
    }

    private func isRight(_ place: String, at now: Moment) -> Bool {
        right[place].map { $0.duration(to: now) < Self.rightMemory } ?? false
    }

    private func group(of place: String, at now: Moment) -> Group {
        tried[place].map { $0.duration(to: now) < Self.memory } ?? false ? .repeated : .first
    }
}
