internal import Crypto
internal import Foundation
internal import GRDB
internal import Records
internal import Synchronization
internal import Text

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
            throw Records.RecordError(.badRequest, "The administrator's password must have at least \(StoredPassword.shortest) characters; choose a longer one")
        }
        guard password.utf8.count <= StoredPassword.longest else {
            throw Records.RecordError(.badRequest, "The administrator's password must have at most \(StoredPassword.longest) bytes; choose a shorter one")
        }
        let before = administration.withLock { $0.password }
        // Setting the same password at each start must not end sessions.
        if let before, before.cost == cost, try await isRight(password, before) == true { return }
        let salt = [UInt8].random(16)
        guard let hash = try await passwordHashing.hash(password, salt: salt, cost: cost) else {
            throw Records.RecordError(.tryAgainLater, "Too many passwords are being checked; try again in a moment", retryAfter: 1)
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
    /// - Parameter peer: address of the client. Each place has a few attempts at once; further ones are checked one
    ///   per second.
    /// - Returns: the result, when it is the password's turn. The last correct password is recognized at once, within
    ///   limits even if others must wait. Other passwords take some tenths of a second.
    /// - Throws: an error of the hashing, such as a lack of memory.
    public func checkAdministrator(password: String, from peer: String) async throws -> AdministratorVerdict {
        try await checkAdministrator(password: password, from: peer, at: .now)
    }

    /// - Parameter now: time on the monotonic clock.
    func checkAdministrator(password: String, from peer: String, at now: ContinuousClock.Instant) async throws -> AdministratorVerdict {
        let place = PeerPlace.of(peer)
        let isShort = password.utf8.count <= StoredPassword.longest
        let turn = administration.withLock { administration -> Turn? in
            guard administration.password != nil else { return .after(.zero) }
            // Before queueing, for programs that send the correct password with each request.
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
        let session = Administration.Session(made: now, csrf: Hexadecimal.text(of: [UInt8].random(32)), expires: now + ConsoleSession.life)
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
    /// The token in each form that protects against cross-site request forgery.
    public let csrf: String
}
