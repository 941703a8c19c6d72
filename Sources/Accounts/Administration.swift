internal import Crypto

/// The administrator's state in memory.
struct Administration {
    var password: StoredPassword?
    /// A keyed hash of the last correct password, so that a program that sends it with each request does not wait for
    /// scrypt each time. The key is known only to this process.
    var remembered: [UInt8]?
    let key = SymmetricKey(size: .bits256)
    var tries = FailedTries()
    /// Keyed by the hashes of their tokens.
    var sessions: [[UInt8]: Session] = [:]

    struct Session {
        let made: ContinuousClock.Instant
        let csrf: String
        var expires: ContinuousClock.Instant
    }

    init(password: StoredPassword?) {
        self.password = password
    }

    func keyedHash(_ password: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(password.utf8), using: key))
    }

    /// True if the password equals the last correct one.
    func isRemembered(_ password: String) -> Bool {
        remembered?.isSame(as: keyedHash(password)) ?? false
    }
}
