internal import Records

/// Bounds how many users sign-ins make, so that strangers can't use up the places: by address and by API token, how fast and how many.
///
/// Whoever administers the server is held to none of this: some places are left that no sign-in takes.
struct UserAdmission {
    /// Most users that came by sign-ins without an API token, and most by sign-ins with the same one.
    static let (strangerLimit, tokenLimit) = (1000, 2500)
    /// Users beyond which no sign-in makes one.
    static let signInLimit = 9000

    /// From an address without an API token: ten, and then one every ten minutes.
    private var strangers = Budget<String>(atOnce: 10, interval: .seconds(600), keyLimit: 4096)
    /// From an address with API tokens: thirty, and then one a minute.
    private var places = Budget<String>(atOnce: 30, interval: .seconds(60), keyLimit: 4096)
    /// With an API token, from wherever: a hundred, and then one every ten seconds.
    private var tokens = Budget<String>(atOnce: 100, interval: .seconds(10), keyLimit: APIToken.countLimit)

    /// Counts a user who is to be made.
    /// - Throws: `RecordError` BAD_REQUEST when there are too many, THROTTLED with the time to wait when they come too fast.
    mutating func admit(_ signIn: UserSignIn, among users: KnownUsers, at now: ContinuousClock.Instant) throws(RecordError) {
        let remedy = "choose one of them, or let whoever administers the server remove some"
        guard users.count < Self.signInLimit else {
            throw RecordError(.badRequest, "There are \(users.count) users, and sign-ins make no more from \(Self.signInLimit) on: \(remedy)")
        }
        let place = PeerPlace.of(signIn.peer)
        guard let token = signIn.apiTokenID else {
            guard users.count(by: .stranger) < Self.strangerLimit else {
                throw RecordError(
                    .badRequest,
                    "Sign-ins without an API token made \(Self.strangerLimit) users, which is the most: let the app send its API token, or let whoever "
                        + "administers the server remove some")
            }
            return try Self.take(place, from: &strangers, "from your address without an API token", at: now)
        }
        guard users.count(by: .apiToken(token)) < Self.tokenLimit else {
            throw RecordError(.badRequest, "Sign-ins with the app's API token made \(Self.tokenLimit) users, which is the most: \(remedy)")
        }
        try Self.take(place, from: &places, "from your address", at: now)
        do throws(RecordError) {
            try Self.take(token, from: &tokens, "with the app's API token", at: now)
        } catch {
            places.giveBack(place)
            throw error
        }
    }

    private static func take(
        _ key: String, from budget: inout Budget<String>, _ words: String, at now: ContinuousClock.Instant
    ) throws(RecordError) {
        guard case .refused(let seconds) = budget.take(key, at: now) else { return }
        throw RecordError(.throttled, "Too many users were made \(words); wait, then try again", retryAfter: seconds)
    }
}
