import Foundation
import Records
import Synchronization
import Testing

@testable import Accounts

@Suite("The administrator")
struct AdministratorTests {
    private let start = ContinuousClock.now
    private let password = "correct horse battery"
    /// A cheap hash, because most of these tests are not about its cost.
    private let cheap = PasswordHashing.Cost(rounds: 1 << 10, blockSize: 8, parallelism: 1)

    @Test("A password works after a restart, and is stored nowhere")
    func password() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        #expect(!accounts.hasAdministratorPassword)
        #expect(try await accounts.checkAdministrator(password: "", from: "a", at: start) == .notSet)
        for short in ["", "1234567", "ääää", "🙂🙂🙂🙂🙂🙂🙂", String(repeating: "x", count: 1025)] {
            await #expect(throws: RecordError.self) { try await accounts.setAdministratorPassword(short) }
        }
        try await accounts.setAdministratorPassword(password)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.hasAdministratorPassword)
            #expect(try await accounts.checkAdministrator(password: password, from: "a", at: start) == .accepted)
            #expect(try await accounts.checkAdministrator(password: password, from: "a", at: start) == .accepted)
            for wrong in ["", password + " ", String(password.dropLast()), String(repeating: "x", count: 100_000)] {
                #expect(try await accounts.checkAdministrator(password: wrong, from: "b", at: start) == .refused)
            }
        }
        #expect(try Data(contentsOf: file).range(of: Data(password.utf8)) == nil)
        let session = accounts.openConsoleSession(at: start)
        // Setting the same password again keeps all sessions; another password ends them.
        try await accounts.setAdministratorPassword(password)
        #expect(accounts.consoleSession(token: session.token, at: start) != nil)
        try await accounts.setAdministratorPassword("another password")
        #expect(accounts.consoleSession(token: session.token, at: start) == nil)
        #expect(try await accounts.checkAdministrator(password: password, from: "a", at: start) == .refused)
        #expect(try await accounts.checkAdministrator(password: "another password", from: "a", at: start) == .accepted)
    }

    /// Too long to be hashed, so that the check is fast.
    private let wrong = String(repeating: "x", count: 2000)

    @Test("After a few wrong ones a place's passwords are looked at one after the other, and a long line takes no more")
    func tries() async throws {
        let waits = Waits()
        let accounts = try Accounts(file: nil) { waits.note($0) }
        try await accounts.setAdministratorPassword(password, cost: cheap)
        for _ in 0..<5 {
            #expect(try await accounts.checkAdministrator(password: wrong, from: "a", at: start) == .refused)
        }
        #expect(waits.all.isEmpty)
        for _ in 0..<16 {
            #expect(try await accounts.checkAdministrator(password: wrong, from: "a", at: start) == .refused)
        }
        #expect(waits.all == (1...16).map { .seconds($0) })
        #expect(try await accounts.checkAdministrator(password: wrong, from: "a", at: start) == .tooMany(retryAfter: 1))
        // Another place need not wait.
        #expect(try await accounts.checkAdministrator(password: wrong, from: "b", at: start) == .refused)
        #expect(waits.all.count == 16)
        // The right password waits its turn like the wrong ones, and then resets the count.
        #expect(
            try await accounts.checkAdministrator(password: password, from: "a", at: start + .seconds(1)) == .accepted)
        #expect(waits.all.last == .seconds(16))
        #expect(try await accounts.checkAdministrator(password: wrong, from: "a", at: start + .seconds(1)) == .refused)
        #expect(waits.all.count == 17)
    }

    @Test("However long somebody guesses from the same address, the right password is looked at within seconds")
    func guessesForHours() async throws {
        let waits = Waits()
        let accounts = try Accounts(file: nil) { waits.note($0) }
        try await accounts.setAdministratorPassword(password, cost: cheap)
        // As many tries at a time as guessing programs send, again and again.
        for second in 0..<600 {
            for _ in 0..<(second == 0 ? 16 : 1) {
                _ = try await accounts.checkAdministrator(password: wrong, from: "proxy", at: start + .seconds(second))
            }
        }
        waits.clear()
        #expect(
            try await accounts.checkAdministrator(password: password, from: "proxy", at: start + .seconds(600))
                == .accepted)
        #expect(waits.all.allSatisfy { $0 <= .seconds(16) } && waits.all.count == 1)
    }

    @Test("Password guesses are checked once a second, with few more checks of the last right password")
    func guessesAreBounded() {
        var tries = FailedTries()
        tries.compared("proxy", at: start)
        /// Tells if a password that arrives at a millisecond is checked at once, and if it gets its turn.
        func comes(from place: String, at milliseconds: Int) -> [Bool] {
            let moment = start.advanced(by: .milliseconds(milliseconds))
            let isCompared = tries.mayCompare(place, at: moment)
            return [isCompared, tries.turn(of: place, at: moment).isTaken]
        }
        let known = (0..<60_000).map { comes(from: "proxy", at: $0) }
        let looks = known.count { $0[1] }
        let comparisons = known.count { $0[0] }
        #expect(looks <= 5 + 16 + 60 && comparisons <= 5 + 20 + 120)
        // A client address that never sent the right password only gets checks in its turns.
        let others = (0..<60_000).count { comes(from: "elsewhere", at: $0)[0] }
        #expect(others <= 5 + 60)
    }

    @Test("The right password works while others guess, from the same address and from others")
    func rightAmongWrong() async throws {
        let waits = Waits()
        let accounts = try Accounts(file: nil) { waits.note($0) }
        try await accounts.setAdministratorPassword(password, cost: cheap)
        #expect(try await accounts.checkAdministrator(password: password, from: "proxy", at: start) == .accepted)
        for _ in 0..<21 {
            #expect(try await accounts.checkAdministrator(password: wrong, from: "proxy", at: start) == .refused)
        }
        #expect(
            try await accounts.checkAdministrator(password: wrong, from: "proxy", at: start) == .tooMany(retryAfter: 1))
        waits.clear()
        for place in ["proxy", "elsewhere"] {
            #expect(try await accounts.checkAdministrator(password: password, from: place, at: start) == .accepted)
        }
        #expect(waits.all.isEmpty, "the right one of before is known at once")
        // The right password gives guessers from the same address no additional tries.
        #expect(
            try await accounts.checkAdministrator(password: wrong, from: "proxy", at: start) == .tooMany(retryAfter: 1))
    }

    @Test("A dozen places that guess don't keep out one that never did")
    func dozen() async throws {
        let accounts = try Accounts(file: nil) { _ in }
        try await accounts.setAdministratorPassword(password, cost: cheap)
        var refused = 0
        for place in 0..<20 {
            for _ in 0..<5 {
                let verdict = try await accounts.checkAdministrator(password: wrong, from: "place \(place)", at: start)
                if verdict == .refused { refused += 1 }
            }
        }
        #expect(refused == 20 + 60 + 16, "those that guess again have a limit together")
        #expect(try await accounts.checkAdministrator(password: password, from: "another", at: start) == .accepted)
    }

    @Test(
        "An IPv6 network counts as one address",
        arguments: [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false), ("::ffff:10.0.0.1", "10.0.0.1", true),
            ("::ffff:10.0.0.1", "::ffff:10.0.0.2", false), ("fe80::1%eth0", "fe80::2", true),
            ("10.0.0.1", "10.0.0.2", false), (":", "::", false),
        ])
    func places(left: String, right: String, areSame: Bool) {
        #expect((ClientNetwork.of(left) == ClientNetwork.of(right)) == areSame)
    }

    @Test("Two that set the password at once leave the same in the file and in memory")
    func setAtOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        for round in 0..<10 {
            try await withThrowingTaskGroup { group in
                for name in ["first", "second"] {
                    group.addTask { try await accounts.setAdministratorPassword("the \(name) \(round)", cost: cheap) }
                }
                try await group.waitForAll()
            }
            let password = "the first \(round)"
            let now = start + .seconds(round * 1000)
            let inMemory = try await accounts.checkAdministrator(password: password, from: "a", at: now)
            #expect(
                try await Accounts(file: file).checkAdministrator(password: password, from: "a", at: now) == inMemory)
        }
    }

    @Test("All places together have a limit, too")
    func allTries() async throws {
        let accounts = try Accounts(file: nil) { _ in }
        try await accounts.setAdministratorPassword(password, cost: cheap)
        for place in 0..<76 {
            #expect(
                try await accounts.checkAdministrator(password: wrong, from: "place \(place)", at: start) == .refused)
        }
        #expect(
            try await accounts.checkAdministrator(password: password, from: "another", at: start)
                == .tooMany(retryAfter: 1))
        #expect(
            try await accounts.checkAdministrator(password: password, from: "another", at: start + .seconds(1))
                == .accepted)
    }

    @Test("Many at a time are no way around the limit")
    func atOnce() async throws {
        let accounts = try Accounts(file: nil) { _ in }
        try await accounts.setAdministratorPassword(password, cost: cheap)
        let verdicts = try await withThrowingTaskGroup(of: AdministratorVerdict.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await accounts.checkAdministrator(password: "wrong \(number)", from: "a", at: start)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.count(where: { $0 == .refused }) <= 5 + 16)
        #expect(!verdicts.contains(.accepted))
    }

    @Test("A console session lasts for being used, a week at most, and can be ended")
    func sessions() throws {
        let accounts = try Accounts(file: nil) { _ in }
        let session = accounts.openConsoleSession(at: start)
        #expect(session.token.utf8.count == 64 && session.csrf.utf8.count == 64 && session.token != session.csrf)
        var now = start
        var count = 0
        while let found = accounts.consoleSession(token: session.token, at: now + .seconds(43_199)) {
            #expect(found.csrf == session.csrf && found.token == session.token)
            now += .seconds(43_199)
            count += 1
        }
        #expect(count == 14)
        let idle = accounts.openConsoleSession(at: start)
        #expect(accounts.consoleSession(token: idle.token, at: start + .seconds(43_200)) == nil)
        #expect(accounts.consoleSession(token: idle.token, at: start) == nil)
        let ended = accounts.openConsoleSession(at: start)
        accounts.endConsoleSession(token: ended.token)
        #expect(
            accounts.consoleSession(token: ended.token, at: start) == nil
                && accounts.consoleSession(token: "", at: start) == nil)
        let first = accounts.openConsoleSession(at: start)
        for second in 1...1000 { _ = accounts.openConsoleSession(at: start + .seconds(second)) }
        #expect(accounts.consoleSession(token: first.token, at: start + .seconds(1001)) == nil)
    }
}

/// Records how long password checks had to wait.
private final class Waits: Sendable {
    private let noted = Mutex<[Duration]>([])

    var all: [Duration] { noted.withLock { $0 } }

    func note(_ wait: Duration) { noted.withLock { $0.append(wait) } }

    func clear() { noted.withLock { $0 = [] } }
}

extension BudgetDecision {
    fileprivate var isTaken: Bool { if case .after = self { true } else { false } }
}
