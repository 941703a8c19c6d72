internal import Records

/// Limits the rate and number of users created by sign-ins, per address and per API token, so that strangers can't
/// exhaust the limit.
///
/// Administrators are not limited, and some places are reserved for them.
struct UserAdmission {
    /// Maximum number of users created by sign-ins without an API token, and by sign-ins with the same one.
    static let (strangerLimit, tokenLimit) = (1000, 2500)
    /// Number of users from which sign-ins create no more.
    static let signInLimit = 9000

    /// Per address without an API token: ten at once, then one every ten minutes.
    private var strangers = Budget<String>(atOnce: 10, interval: .seconds(600), keyLimit: 4096)
    /// Per address with API tokens: thirty at once, then one per minute.
    private var places = Budget<String>(atOnce: 30, interval: .seconds(60), keyLimit: 4096)
    /// Per API token: a hundred at once, then one every ten seconds.
    private var tokens = Budget<String>(atOnce: 100, interval: .seconds(10), keyLimit: APIToken.countLimit)

    /// Counts a user to be created.
    /// - Throws: `RecordError` BAD_REQUEST if there are too many users, THROTTLED with the time to wait if they are
    ///   created too fast.
    mutating func admit(_ signIn: UserSignIn, among users: KnownUsers, at now: ContinuousClock.Instant) throws(RecordError) {
        let remedy = "choose one of them, or ask the server's administrator to delete some"
        guard users.count < Self.signInLimit else {
            throw RecordError(.badRequest, "There are \(users.count) users, and sign-ins create users only up to \(Self.signInLimit): \(remedy)")
        }
        let place = PeerPlace.of(signIn.peer)
        guard let token = signIn.apiTokenID else {
            guard users.count(by: .stranger) < Self.strangerLimit else {
                throw RecordError(
                    .badRequest,
                    "Sign-ins without an API token created \(Self.strangerLimit) users, which is the limit: let the app send its API token, or ask the "
                        + "server's administrator to delete some")
            }
            return try Self.take(place, from: &strangers, "from your address without an API token", at: now)
        }
        guard users.count(by: .apiToken(token)) < Self.tokenLimit else {
            throw RecordError(.badRequest, "Sign-ins with the app's API token created \(Self.tokenLimit) users, which is the limit: \(remedy)")
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
        throw RecordError(.throttled, "Too many users were created \(words); wait, then try again", retryAfter: seconds)
    }
}
