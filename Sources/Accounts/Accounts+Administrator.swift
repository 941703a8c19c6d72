internal import Crypto
public import Foundation
internal import GRDB
internal import Records
internal import Synchronization

extension Accounts {
    /// Whether an administrator can sign in.
    public var hasAdministratorPassword: Bool { administration.withLock { $0.password != nil } }

    /// Sets the administrator's password. Whoever is signed in to the console is signed out, unless it is the one that was set before.
    /// - Throws: `RecordError` BAD_REQUEST when it has fewer than 8 characters (Unicode scalars) or more than 1024 bytes; TRY_AGAIN_LATER when many are being looked at; an
    ///   error of the file.
    public func setAdministratorPassword(_ password: String) async throws {
        try await setAdministratorPassword(password, cost: .standard)
    }

    func setAdministratorPassword(_ password: String, cost: PasswordHashing.Cost) async throws {
        guard password.unicodeScalars.count >= AdministratorPassword.shortest else {
            throw Records.RecordError(.badRequest, "The administrator's password has \(AdministratorPassword.shortest) characters at least; choose a longer one")
        }
        guard password.utf8.count <= AdministratorPassword.longest else {
            throw Records.RecordError(.badRequest, "The administrator's password has \(AdministratorPassword.longest) bytes at most; choose a shorter one")
        }
        let before = administration.withLock { $0.password }
        // Setting it anew at each start signs nobody out.
        if let before, before.cost == cost, try await isRight(password, before) == true { return }
        let salt = [UInt8].random(16)
        guard let hash = try await passwordHashing.hash(password, salt: salt, cost: cost) else {
            throw Records.RecordError(.tryAgainLater, "Many passwords are being looked at; try again in a moment", retryAfter: 1)
        }
        let kept = AdministratorPassword(salt: salt, hash: hash, cost: cost)
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

    /// Looks at an administrator's password.
    /// - Parameters:
    ///   - peer: from where it comes. Each place has a few wrong tries; then it has to wait, longer each time.
    /// - Returns: what came of it. The password that was right last is known again at once, also where others have to wait; any other takes some
    ///   tenths of a second.
    public func checkAdministrator(password: String, from peer: String, now: Date = Date()) async -> AdministratorVerdict {
        let now = now.timeIntervalSince1970
        let place = PeerPlace.of(peer)
        enum Start {
            case verdict(AdministratorVerdict)
            case compare(AdministratorPassword)
        }
        let start = administration.withLock { administration -> Start in
            guard let kept = administration.password else { return .verdict(.notSet) }
            // Before the limits, so that nobody who guesses keeps out who knows: where many come from one address, all of them count as one place.
            let remembered = administration.remembered
            if password.utf8.count <= AdministratorPassword.longest, let remembered, remembered.isSame(as: administration.keyedHash(password)) {
                return .verdict(.accepted)
            }
            if let wait = administration.tries.wait(of: place, now: now) { return .verdict(.tooMany(retryAfter: wait)) }
            // Counted before it is looked at, so that many at a time are no way around the limit.
            administration.tries.failed(place, now: now)
            return .compare(kept)
        }
        guard case .compare(let kept) = start else {
            if case .verdict(let verdict) = start { return verdict }
            return .refused
        }
        guard password.utf8.count <= AdministratorPassword.longest else { return .refused }
        guard let isRight = try? await isRight(password, kept) else { return .tooMany(retryAfter: 1) }
        guard isRight else { return .refused }
        administration.withLock { administration in
            administration.tries.succeeded(place, now: now)
            // Unless another was set meanwhile.
            if administration.password == kept { administration.remembered = administration.keyedHash(password) }
        }
        return .accepted
    }

    /// - Returns: `nil` when too many wait to be looked at.
    private func isRight(_ password: String, _ kept: AdministratorPassword) async throws -> Bool? {
        try await passwordHashing.hash(password, salt: kept.salt, cost: kept.cost).map { $0.isSame(as: kept.hash) }
    }

    // MARK: The console's sessions

    /// Signs an administrator in to the console.
    public func openConsoleSession(now: Date) -> ConsoleSession {
        let (now, token) = (Timestamp(now), [UInt8].random(32).hexadecimal)
        let session = Administration.Session(made: now, csrf: [UInt8].random(32).hexadecimal, expires: now.adding(seconds: ConsoleSession.life))
        administration.withLock { administration in
            administration.sessions = administration.sessions.filter { now < $0.value.expires }
            if administration.sessions.count >= ConsoleSession.countLimit,
                let oldest = administration.sessions.min(by: { $0.value.expires < $1.value.expires })
            {
                administration.sessions[oldest.key] = nil
            }
            administration.sessions[Self.hash(ofToken: token)] = session
        }
        return ConsoleSession(token: token, csrf: session.csrf, expires: session.expires)
    }

    /// The session of a cookie, which lasts longer for being used; `nil` when there is none, or it is over.
    public func consoleSession(token: String, now: Date) -> ConsoleSession? {
        let (now, hash) = (Timestamp(now), Self.hash(ofToken: token))
        return administration.withLock { administration in
            guard var session = administration.sessions[hash] else { return nil }
            guard now < session.expires else {
                administration.sessions[hash] = nil
                return nil
            }
            session.expires = min(now.adding(seconds: ConsoleSession.life), session.made.adding(seconds: ConsoleSession.longestLife))
            administration.sessions[hash] = session
            return ConsoleSession(token: token, csrf: session.csrf, expires: session.expires)
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
