internal import Crypto

/// What is held in memory of the administrator.
struct Administration {
    var password: AdministratorPassword?
    /// A keyed hash of the password that was right last, so that a program that sends it with each request need not wait for scrypt each time. The
    /// key is this process's.
    var remembered: [UInt8]?
    let key = SymmetricKey(size: .bits256)
    var tries = FailedTries()
    /// By the hashes of their tokens.
    var sessions: [[UInt8]: Session] = [:]

    struct Session {
        let made: ContinuousClock.Instant
        let csrf: String
        var expires: ContinuousClock.Instant
    }

    init(password: AdministratorPassword?) {
        self.password = password
    }

    func keyedHash(_ password: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(password.utf8), using: key))
    }

    /// Whether a password is the one that was right last.
    func isRemembered(_ password: String) -> Bool {
        remembered?.isSame(as: keyedHash(password)) ?? false
    }
}
