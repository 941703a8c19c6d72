/// Keeps strangers from signing in without end: each place has a few sign-ins at once, and then one after the other.
///
/// Moments are seconds since 1970.
struct SignInBudget {
    /// Sign-ins that may come at once from a place.
    static let atOnce = 30.0
    /// How many are added in a second.
    static let perSecond = 1.0
    /// Most places that are remembered; those that come while there are more wait together.
    static let placeLimit = 4096

    /// When each place may do as much as one that was never here.
    private var fullAt: [String: Double] = [:]
    private static let others = ""

    /// Counts a sign-in.
    /// - Returns: whole seconds to wait, when there were too many.
    mutating func take(_ place: String, now: Double) -> Int? {
        if fullAt.count >= Self.placeLimit, fullAt[place] == nil { fullAt = fullAt.filter { $0.value > now } }
        let place = fullAt[place] != nil || fullAt.count < Self.placeLimit ? place : Self.others
        let full = max(fullAt[place] ?? now, now) + 1 / Self.perSecond
        let wait = full - now - Self.atOnce / Self.perSecond
        guard wait <= 0 else { return max(1, Int(wait.rounded(.up))) }
        fullAt[place] = full
        return nil
    }
}
