import Foundation
import Records
import Testing

@testable import Accounts

@Suite("The administrator")
struct AdministratorTests {
    private let start = Date(timeIntervalSince1970: 1_795_348_800)
    private let password = "correct horse battery"
    /// What a hash costs is not what most of these are about.
    private let cheap = PasswordHashing.Cost(rounds: 1 << 10, blockSize: 8, parallelism: 1)

    @Test("A password is known again, also after a new start, and stands nowhere")
    func password() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        #expect(!accounts.hasAdministratorPassword)
        #expect(await accounts.checkAdministrator(password: "", from: "a", now: start) == .notSet)
        for short in ["", "1234567", "ääää", "🙂🙂🙂🙂🙂🙂🙂", String(repeating: "x", count: 1025)] {
            await #expect(throws: RecordError.self) { try await accounts.setAdministratorPassword(short) }
        }
        try await accounts.setAdministratorPassword(password)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.hasAdministratorPassword)
            #expect(await accounts.checkAdministrator(password: password, from: "a", now: start) == .accepted)
            #expect(await accounts.checkAdministrator(password: password, from: "a", now: start) == .accepted)
            for wrong in ["", password + " ", String(password.dropLast()), String(repeating: "x", count: 100_000)] {
                #expect(await accounts.checkAdministrator(password: wrong, from: "b", now: start) == .refused)
            }
        }
        #expect(try Data(contentsOf: file).range(of: Data(password.utf8)) == nil)
        let session = accounts.openConsoleSession(now: start)
        // The same one again signs nobody out, another does.
        try await accounts.setAdministratorPassword(password)
        #expect(accounts.consoleSession(token: session.token, now: start) != nil)
        try await accounts.setAdministratorPassword("another password")
        #expect(accounts.consoleSession(token: session.token, now: start) == nil)
        #expect(await accounts.checkAdministrator(password: password, from: "a", now: start) == .refused)
        #expect(await accounts.checkAdministrator(password: "another password", from: "a", now: start) == .accepted)
    }

    @Test("After a few wrong ones each further one waits longer, for the place that sent them")
    func tries() async throws {
        let accounts = try Accounts(file: nil)
        try await accounts.setAdministratorPassword(password, cost: cheap)
        var now = start
        // Too long to be hashed, so that this doesn't take long.
        let wrong = String(repeating: "x", count: 2000)
        for _ in 0..<5 { #expect(await accounts.checkAdministrator(password: wrong, from: "a", now: now) == .refused) }
        var waits: [Int] = []
        for _ in 0..<4 {
            guard case .tooMany(let wait) = await accounts.checkAdministrator(password: wrong, from: "a", now: now) else { break }
            waits.append(wait)
            // Another place need not wait.
            #expect(await accounts.checkAdministrator(password: wrong, from: "b\(waits.count)", now: now) == .refused)
            now += Double(wait)
            #expect(await accounts.checkAdministrator(password: wrong, from: "a", now: now) == .refused)
        }
        #expect(waits == [1, 2, 4, 8])
        // Before it was right once, even the right one has to wait.
        #expect(await accounts.checkAdministrator(password: password, from: "a", now: now) == .tooMany(retryAfter: 16))
        now += 16
        #expect(await accounts.checkAdministrator(password: password, from: "a", now: now) == .accepted)
        // A right one begins anew.
        #expect(await accounts.checkAdministrator(password: wrong, from: "a", now: now) == .refused)
        #expect(await accounts.checkAdministrator(password: wrong, from: "a", now: now) == .refused)
    }

    @Test("Who knows the password gets in while others guess, from the same place and from others")
    func rightAmongWrong() async throws {
        let accounts = try Accounts(file: nil)
        try await accounts.setAdministratorPassword(password, cost: cheap)
        let wrong = String(repeating: "x", count: 2000)
        #expect(await accounts.checkAdministrator(password: password, from: "proxy", now: start) == .accepted)
        for _ in 0..<5 { #expect(await accounts.checkAdministrator(password: wrong, from: "proxy", now: start) == .refused) }
        #expect(await accounts.checkAdministrator(password: wrong, from: "proxy", now: start) == .tooMany(retryAfter: 1))
        for place in ["proxy", "elsewhere"] { #expect(await accounts.checkAdministrator(password: password, from: place, now: start) == .accepted) }
        // The right one gives those who guess from there no more tries.
        #expect(await accounts.checkAdministrator(password: wrong, from: "proxy", now: start) == .tooMany(retryAfter: 1))
    }

    @Test("A dozen places that guess don't keep out one that never did")
    func dozen() async throws {
        let accounts = try Accounts(file: nil)
        try await accounts.setAdministratorPassword(password, cost: cheap)
        let wrong = String(repeating: "x", count: 2000)
        var refused = 0
        for place in 0..<20 {
            for _ in 0..<5 where await accounts.checkAdministrator(password: wrong, from: "place \(place)", now: start) == .refused { refused += 1 }
        }
        #expect(refused > 60 && refused < 100, "those that guess again have a limit together")
        #expect(await accounts.checkAdministrator(password: password, from: "another", now: start) == .accepted)
    }

    @Test("Of IPv6 a host's whole network is one place", arguments: [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true), ("2001:db8:1:2::1", "2001:db8:1:3::1", false), ("::ffff:10.0.0.1", "10.0.0.1", true),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false), ("fe80::1%eth0", "fe80::2", true), ("10.0.0.1", "10.0.0.2", false), (":", "::", false),
    ])
    func places(left: String, right: String, areSame: Bool) {
        #expect((PeerPlace.of(left) == PeerPlace.of(right)) == areSame)
    }

    @Test("Two that set the password at once leave the same in the file and in memory")
    func setAtOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        for round in 0..<10 {
            try await withThrowingTaskGroup { group in
                for name in ["first", "second"] { group.addTask { try await accounts.setAdministratorPassword("the \(name) \(round)", cost: cheap) } }
                try await group.waitForAll()
            }
            let password = "the first \(round)"
            let now = start + Double(round) * 1000
            let inMemory = await accounts.checkAdministrator(password: password, from: "a", now: now)
            #expect(try await Accounts(file: file).checkAdministrator(password: password, from: "a", now: now) == inMemory)
        }
    }

    @Test("All places together have a limit, too")
    func allTries() async throws {
        let accounts = try Accounts(file: nil)
        try await accounts.setAdministratorPassword(password, cost: cheap)
        // Too long to be hashed, so that this doesn't take long.
        let wrong = String(repeating: "x", count: 2000)
        for place in 0..<60 { #expect(await accounts.checkAdministrator(password: wrong, from: "place \(place)", now: start) == .refused) }
        #expect(await accounts.checkAdministrator(password: password, from: "another", now: start + 1) == .tooMany(retryAfter: 59))
        #expect(await accounts.checkAdministrator(password: password, from: "another", now: start + 60) == .accepted)
    }

    @Test("Many at a time are no way around the limit")
    func atOnce() async throws {
        let accounts = try Accounts(file: nil)
        try await accounts.setAdministratorPassword(password, cost: cheap)
        let verdicts = await withTaskGroup(of: AdministratorVerdict.self) { group in
            for number in 0..<40 { group.addTask { await accounts.checkAdministrator(password: "wrong \(number)", from: "a", now: start) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.count(where: { $0 == .refused }) <= 5)
        #expect(!verdicts.contains(.accepted))
    }

    @Test("A console session lasts for being used, a week at most, and can be ended")
    func sessions() throws {
        let accounts = try Accounts(file: nil)
        let session = accounts.openConsoleSession(now: start)
        #expect(session.token.utf8.count == 64 && session.csrf.utf8.count == 64 && session.token != session.csrf)
        var now = start
        var count = 0
        while let found = accounts.consoleSession(token: session.token, now: now + 43_199) {
            #expect(found.csrf == session.csrf && found.token == session.token)
            now += 43_199
            count += 1
        }
        #expect(count == 14)
        let idle = accounts.openConsoleSession(now: start)
        #expect(accounts.consoleSession(token: idle.token, now: start + 43_200) == nil)
        #expect(accounts.consoleSession(token: idle.token, now: start) == nil)
        let ended = accounts.openConsoleSession(now: start)
        accounts.endConsoleSession(token: ended.token)
        #expect(accounts.consoleSession(token: ended.token, now: start) == nil && accounts.consoleSession(token: "", now: start) == nil)
        let first = accounts.openConsoleSession(now: start)
        for second in 1...1000 { _ = accounts.openConsoleSession(now: start + Double(second)) }
        #expect(accounts.consoleSession(token: first.token, now: start + 1001) == nil)
    }
}
