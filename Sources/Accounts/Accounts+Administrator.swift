internal import Crypto
internal import CryptoExtras
internal import Dispatch
internal import Foundation
internal import GRDB
internal import Records
internal import Synchronization

extension Accounts {
    /// True if an administrator can sign in.
    public var hasAdministratorPassword: Bool { administration.withLock { $0.password != nil } }

    /// Sets the administrator's password. All console sessions end, unless the password is the same as before.
    /// - Throws: `RecordError` BAD_REQUEST if it has fewer than 8 characters (Unicode scalars) or more than 1024
    ///   bytes; TRY_AGAIN_LATER if many passwords are being checked; a file error.
    public func setAdministratorPassword(_ password: String) async throws {
        try await setAdministratorPassword(password, cost: .standard)
    }

    func setAdministratorPassword(_ password: String, cost: PasswordHashing.Cost) async throws {
        guard password.unicodeScalars.count >= StoredPassword.shortest else {
            throw Records.RecordError(
                .badRequest,
                "The administrator's password must have at least \(StoredPassword.shortest) characters; choose a longer one"
            )
        }
        guard password.utf8.count <= StoredPassword.longest else {
            throw Records.RecordError(
                .badRequest,
                "The administrator's password must have at most \(StoredPassword.longest) bytes; choose a shorter one")
        }
        let before = administration.withLock { $0.password }
        // Setting the same password at each start must not end sessions.
        if let before, before.cost == cost, try await isRight(password, before) == true { return }
        let salt = [UInt8].random(16)
        guard let hash = try await passwordHashing.hash(password, salt: salt, cost: cost) else {
            throw Records.RecordError(
                .tryAgainLater, "Too many passwords are being checked; try again in a moment", retryAfter: 1)
        }
        let kept = StoredPassword(salt: salt, hash: hash, cost: cost)
        try await queue.write { [self] database in
            try kept.write(database)
            database.afterNextTransaction { [self] _ in
                administration.withLock { administration in
                    administration.password = kept
                    administration.remembered = nil
                    administration.sessions = [:]
                }
            }
        }
    }

    /// Checks an administrator's password.
    /// - Parameter peer: address of the client. Each address, or IPv6 network, has a few attempts without waiting;
    ///   further ones are checked one per second.
    /// - Returns: the result, when the password has been checked. The last correct password is recognized without
    ///   waiting, within limits, even if other attempts must wait. Other passwords take some tenths of a second.
    /// - Throws: an error of the hashing, such as a lack of memory.
    public func checkAdministrator(password: String, from peer: String) async throws -> AdministratorVerdict {
        try await checkAdministrator(password: password, from: peer, at: .now)
    }

    /// - Parameter now: time on the monotonic clock.
    func checkAdministrator(password: String, from peer: String, at now: ContinuousClock.Instant) async throws
        -> AdministratorVerdict
    {
        let place = ClientNetwork.of(peer)
        let isShort = password.utf8.count <= StoredPassword.longest
        let turn = administration.withLock { administration -> BudgetDecision? in
            guard administration.password != nil else { return .after(.zero) }
            // Tested before queueing, for programs that send the correct password with each request.
            if isShort, administration.tries.mayCompare(place, at: now), administration.isRemembered(password) {
                administration.tries.compared(place, at: now)
                return nil
            }
            return administration.tries.turn(of: place, at: now)
        }
        switch turn {
        case nil: return .accepted
        case .refused(let seconds): return .tooMany(retryAfter: seconds)
        case .after(let wait): if wait > .zero { try await pause(wait) }
        }
        let (kept, isRemembered) = administration.withLock { ($0.password, isShort && $0.isRemembered(password)) }
        guard let kept else { return .notSet }
        guard isShort else { return .refused }
        if !isRemembered {
            guard let isRight = try await isRight(password, kept) else { return .tooMany(retryAfter: 1) }
            guard isRight else { return .refused }
        }
        administration.withLock { administration in
            administration.tries.succeeded(place, at: now)
            // Unless another password was set in the meantime.
            if administration.password == kept { administration.remembered = administration.keyedHash(password) }
        }
        return .accepted
    }

    /// - Returns: `nil` if too many passwords are waiting.
    private func isRight(_ password: String, _ kept: StoredPassword) async throws -> Bool? {
        try await passwordHashing.hash(password, salt: kept.salt, cost: kept.cost).map { $0.isSame(as: kept.hash) }
    }

    // MARK: The console's sessions

    /// Signs an administrator in to the console.
    public func openConsoleSession() -> ConsoleSession { openConsoleSession(at: .now) }

    /// The session with a cookie value, extended by this use; `nil` if it does not exist or has expired.
    public func consoleSession(token: String) -> ConsoleSession? { consoleSession(token: token, at: .now) }

    func openConsoleSession(at now: ContinuousClock.Instant) -> ConsoleSession {
        let token = Hexadecimal.text(of: [UInt8].random(32))
        let session = Administration.Session(
            made: now, csrf: Hexadecimal.text(of: [UInt8].random(32)), expires: now + ConsoleSession.life)
        administration.withLock { administration in
            administration.sessions = administration.sessions.filter { now < $0.value.expires }
            if administration.sessions.count >= ConsoleSession.countLimit,
                let oldest = administration.sessions.min(by: { $0.value.expires < $1.value.expires })
            {
                administration.sessions[oldest.key] = nil
            }
            administration.sessions[Self.hash(ofToken: token)] = session
        }
        return ConsoleSession(token: token, csrf: session.csrf)
    }

    func consoleSession(token: String, at now: ContinuousClock.Instant) -> ConsoleSession? {
        let hash = Self.hash(ofToken: token)
        return administration.withLock { administration in
            guard var session = administration.sessions[hash] else { return nil }
            guard now < session.expires else {
                administration.sessions[hash] = nil
                return nil
            }
            session.expires = min(now + ConsoleSession.life, session.made + ConsoleSession.longestLife)
            administration.sessions[hash] = session
            return ConsoleSession(token: token, csrf: session.csrf)
        }
    }

    /// Signs out.
    public func endConsoleSession(token: String) {
        administration.withLock { $0.sessions[Self.hash(ofToken: token)] = nil }
    }

    private static func hash(ofToken token: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(token.utf8)))
    }
}

/// The result of checking an administrator's password.
public enum AdministratorVerdict: Sendable, Hashable {
    case accepted
    case refused
    /// Too many wrong attempts. Contains the seconds until the next attempt is checked.
    case tooMany(retryAfter: Int)
    /// No password is set.
    case notSet
}

/// A console session of an administrator. Sessions are kept in memory and end with a restart.
///
/// Lifetimes are measured with the monotonic clock.
public struct ConsoleSession: Sendable, Hashable {
    /// Idle time after which a session ends.
    public static let life = Duration.seconds(12 * 3600)
    /// Time after which a session ends in any case.
    public static let longestLife = Duration.seconds(7 * 86_400)
    /// Maximum number of sessions. The least recently used one is dropped first.
    public static let countLimit = 1000

    /// The cookie value.
    public let token: String
    /// The token against cross-site request forgery that each form contains.
    public let csrf: String
}

// MARK: - State in memory

/// The administrator's state in memory.
struct Administration {
    var password: StoredPassword?
    /// A keyed hash of the last correct password, so that a program that sends it with each request does not wait for
    /// scrypt each time. The key is known only to this process.
    var remembered: [UInt8]?
    let key = SymmetricKey(size: .bits256)
    var tries = FailedTries()
    /// Sessions by the hashes of their tokens.
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

// MARK: - Stored password

/// The stored form of the administrator's password.
struct StoredPassword: Sendable, Hashable {
    /// Minimum length in Unicode scalars.
    static let shortest = 8
    /// Maximum length in bytes.
    static let longest = 1024

    let salt: [UInt8]
    let hash: [UInt8]
    let cost: PasswordHashing.Cost

    init(salt: [UInt8], hash: [UInt8], cost: PasswordHashing.Cost) {
        self.salt = salt
        self.hash = hash
        self.cost = cost
    }

    init?(_ database: Database) throws {
        guard let row = try Row.fetchOne(database, sql: "SELECT * FROM administrator") else { return nil }
        salt = Array(try row.value("salt") as Data)
        hash = Array(try row.value("hash") as Data)
        cost = PasswordHashing.Cost(
            rounds: try row.value("rounds"), blockSize: try row.value("blockSize"),
            parallelism: try row.value("parallelism"))
    }

    func write(_ database: Database) throws {
        try database.execute(
            sql:
                "INSERT OR REPLACE INTO administrator (number, salt, hash, rounds, blockSize, parallelism) VALUES (1, ?, ?, ?, ?, ?)",
            arguments: [Data(salt), Data(hash), cost.rounds, cost.blockSize, cost.parallelism])
    }
}

// MARK: - Hashing

/// Hashes passwords with scrypt (RFC 7914), one at a time on a separate thread, because each takes much time and
/// memory.
final class PasswordHashing: Sendable {
    /// The cost parameters of a hash.
    struct Cost: Sendable, Hashable {
        var rounds: Int
        var blockSize: Int
        var parallelism: Int

        /// Takes 32 MiB and some tenths of a second.
        static let standard = Cost(rounds: 1 << 15, blockSize: 8, parallelism: 1)
    }

    /// Maximum number of waiting passwords. Further ones are refused.
    private static let waitingLimit = 8

    private let queue = DispatchQueue(label: "skylight.accounts.passwords", qos: .utility)
    private let waiting = Mutex(0)

    /// - Returns: `nil` if too many passwords are waiting.
    func hash(_ password: String, salt: [UInt8], cost: Cost) async throws -> [UInt8]? {
        let hasRoom = waiting.withLock { waiting in
            if waiting >= Self.waitingLimit { return false }
            waiting += 1
            return true
        }
        guard hasRoom else { return nil }
        defer { waiting.withLock { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try Self.hash(password, salt, cost) }) }
        }
    }

    private static func hash(_ password: String, _ salt: [UInt8], _ cost: Cost) throws -> [UInt8] {
        let key = try KDF.Scrypt.deriveKey(
            from: Array(password.utf8), salt: salt, outputByteCount: 32, rounds: cost.rounds, blockSize: cost.blockSize,
            parallelism: cost.parallelism)
        return key.withUnsafeBytes { Array($0) }
    }
}
