internal import Accounts
internal import CloudKitRecordStore
internal import JSON
internal import Records
internal import Synchronization

/// The sign-ins to iCloud that browsers have begun. Their API tokens are in memory only.
final class SignInsUnderWay: Sendable {
    /// iCloud's page is good for 14 minutes.
    static let lifetime: Duration = .seconds(840)
    private static let limit = 50

    enum Ending: Sendable, Hashable {
        case connected
        /// The reason.
        case failed(String)
    }

    struct SignIn: Sendable {
        /// Names the sign-in in addresses.
        let id: String
        /// Known to the browser that began it, which proves by it that it is the one that comes back.
        let secret: String
        let attempt: ConnectionAttempt
        let apiToken: String
        /// Scheme, host and port of the console's page.
        let origin: String
        /// The page of iCloud.
        let signInURL: String
        let began: ContinuousClock.Instant
        var isAnswered = false
        var ending: Ending?
    }

    private let signIns = Mutex<[SignIn]>([])

    func begin(_ attempt: ConnectionAttempt, apiToken: String, origin: String, signInURL: String) -> SignIn {
        let signIn = SignIn(
            id: Self.random(), secret: Self.random(), attempt: attempt, apiToken: apiToken, origin: origin, signInURL: signInURL, began: .now)
        signIns.withLock { signIns in
            signIns.removeAll { $0.began + Self.lifetime < .now }
            signIns.append(signIn)
            if signIns.count > Self.limit { signIns.removeFirst() }
        }
        return signIn
    }

    /// - Returns: `nil` for a sign-in that has run out, or was before the server started.
    func signIn(_ id: String) -> SignIn? {
        signIns.withLock { $0.first { Name($0.id) == Name(id) && $0.began + Self.lifetime > .now } }
    }

    func signIn(withSecret secrets: [String]) -> SignIn? {
        signIns.withLock { signIns in
            signIns.last { signIn in signIn.began + Self.lifetime > .now && secrets.contains { Array($0.utf8).isSame(as: Array(signIn.secret.utf8)) } }
        }
    }

    /// Takes the one answer that a sign-in has.
    /// - Returns: `false` if it has one already.
    func answer(_ id: String) -> Bool {
        change(id) { signIn in
            defer { signIn.isAnswered = true }
            return !signIn.isAnswered
        } ?? false
    }

    func end(_ id: String, _ ending: Ending) {
        _ = change(id) { $0.ending = ending }
    }

    private func change<Value: Sendable>(_ id: String, _ body: (inout SignIn) -> Value) -> Value? {
        signIns.withLock { signIns in
            guard let index = signIns.firstIndex(where: { Name($0.id) == Name(id) }) else { return nil }
            return body(&signIns[index])
        }
    }

    private static func random() -> String {
        (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }
}
