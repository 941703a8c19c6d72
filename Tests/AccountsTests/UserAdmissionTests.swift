import Foundation
import GRDB
import Records
import Synchronization
import Testing

@testable import Accounts

@Suite("Users come, are written, and go")
struct UserAdmissionTests {
    private func temporaryFile() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("skylight-accounts-\(UUID().uuidString)")
            .appendingPathComponent("accounts.sqlite")
    }

    private func code(_ work: () async throws -> Void) async throws -> ServerErrorCode? {
        do {
            try await work()
            return nil
        } catch let error as Records.RecordError {
            return error.code
        }
    }

    // MARK: Limits of sign-ins

    @Test("Strangers of an address make some users, and the next has to wait")
    func strangers() async throws {
        let accounts = try Accounts(file: nil)
        let here = UserSignIn(apiTokenID: nil, peer: "2001:db8::1")
        for number in 0..<10 {
            _ = try await accounts.makeUser(displayName: "Stranger \(number)", emailAddress: nil, for: here)
        }
        let neighbour = UserSignIn(apiTokenID: nil, peer: "2001:db8::2")
        for signIn in [here, neighbour] {
            #expect(
                try await code {
                    _ = try await accounts.makeUser(displayName: "One more", emailAddress: nil, for: signIn)
                } == .throttled)
            #expect(
                try await code { _ = try await accounts.existingOrNewUser(named: "one-more", for: signIn) }
                    == .throttled)
        }
        // Other clients are not limited: another address, an app with its token, the administrator, and existing users.
        _ = try await accounts.makeUser(
            displayName: "Elsewhere", emailAddress: nil, for: UserSignIn(apiTokenID: nil, peer: "10.0.0.1"))
        _ = try await accounts.makeUser(
            displayName: "App", emailAddress: nil, for: UserSignIn(apiTokenID: "0123abcd", peer: "2001:db8::1"))
        _ = try await accounts.makeUser(displayName: "Admin", emailAddress: nil)
        #expect(try await accounts.existingOrNewUser(named: "admin", for: here).handle == "admin")
        #expect(
            accounts.user(handle: "stranger-0")?.maker == .stranger
                && accounts.user(handle: "app")?.maker == .apiToken("0123abcd"))
        #expect(accounts.user(handle: "admin")?.maker == .server)
    }

    @Test("Refused requests use no allowance")
    func refusedCostsNothing() async throws {
        let accounts = try Accounts(file: nil)
        let here = UserSignIn(apiTokenID: nil, peer: "10.0.0.1")
        for _ in 0..<50 {
            #expect(
                try await code { _ = try await accounts.makeUser(displayName: "A", emailAddress: "none", for: here) }
                    == .badRequest)
        }
        _ = try await accounts.makeUser(displayName: "Anna", emailAddress: nil, for: here)
    }

    @Test("Budgets bound users by address and by API token, how fast and how many")
    func budgets() throws {
        var admission = UserAdmission()
        let start = ContinuousClock.now
        var users = KnownUsers()
        func made(_ count: Int, _ signIn: UserSignIn, at seconds: Int) -> Int {
            (0..<count).count { _ in (try? admission.admit(signIn, among: users, at: start + .seconds(seconds))) != nil
            }
        }
        let stranger = UserSignIn(apiTokenID: nil, peer: "10.0.0.1")
        #expect(
            made(100, stranger, at: 0) == 10 && made(100, stranger, at: 600) == 1 && made(100, stranger, at: 1200) == 1)
        #expect(made(100, UserSignIn(apiTokenID: "a", peer: "10.0.0.1"), at: 0) == 30)
        // The token has a limit over all addresses, and requests it refuses do not count for the address.
        let byToken = (2..<20).reduce(0) { $0 + made(30, UserSignIn(apiTokenID: "a", peer: "10.0.0.\($1)"), at: 0) }
        #expect(byToken == 70)
        #expect(made(100, UserSignIn(apiTokenID: "b", peer: "10.0.0.19"), at: 0) == 30)
        // The total number of users is limited as well.
        for number in 0..<UserAdmission.strangerLimit { users.insert(User(handle: "s\(number)", maker: .stranger)) }
        #expect(
            made(1, UserSignIn(apiTokenID: nil, peer: "10.1.0.1"), at: 0) == 0
                && made(1, UserSignIn(apiTokenID: "c", peer: "10.1.0.1"), at: 0) == 1)
        for number in 0..<UserAdmission.tokenLimit { users.insert(User(handle: "t\(number)", maker: .apiToken("c"))) }
        #expect(
            made(1, UserSignIn(apiTokenID: "c", peer: "10.1.0.2"), at: 0) == 0
                && made(1, UserSignIn(apiTokenID: "d", peer: "10.1.0.2"), at: 0) == 1)
        for number in users.count..<UserAdmission.signInLimit { users.insert(User(handle: "u\(number)")) }
        #expect(made(1, UserSignIn(apiTokenID: "d", peer: "10.1.0.3"), at: 0) == 0)
    }

    // MARK: Removing

    @Test(
        "A removed user is gone with sessions and address, the place is free, and nobody who signs in takes over the name"
    )
    func removal() async throws {
        let file = temporaryFile()
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        let accounts = try Accounts(file: file)
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let anna = try await accounts.makeUser(displayName: "Anna", emailAddress: "anna@example.com")
        let bert = try await accounts.existingOrNewUser(named: "bert")
        let request = SignInRequest(container: container, environment: .development)
        let now = Date()
        let (_, token) = try await accounts.signIn(anna.userRecordName, with: request, keepSignedIn: true, now: now)
        let (_, other) = try await accounts.signIn(bert.userRecordName, with: request, keepSignedIn: true, now: now)
        let removed = try await accounts.removeUser(anna.userRecordName)
        #expect(removed.user == anna && removed.endedSessions == 1)
        try await accounts.writeUses()
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(
                accounts.users().map(\.handle) == ["developer", "bert"]
                    && accounts.user(emailAddress: "anna@example.com") == nil)
            #expect(accounts.wasRemoved(anna.userRecordName) && !accounts.wasRemoved(bert.userRecordName))
            #expect(accounts.webAuth(token, container: container, environment: .development, now: now) == .unknown)
            #expect(accounts.webAuthSessions().map(\.user) == [bert.userRecordName])
            if case .valid = accounts.webAuth(other, container: container, environment: .development, now: now) {
            } else {
                Issue.record("bert is signed out")
            }
        }
        #expect(try await code { _ = try await accounts.removeUser(anna.userRecordName) } == .notFound)
        // A new user with the same name is a different user, and may take the address that is free again.
        let stranger = UserSignIn(apiTokenID: nil, peer: "10.0.0.1")
        let new = try await accounts.makeUser(displayName: "Anna", emailAddress: "anna@example.com", for: stranger)
        #expect(new.userRecordName != anna.userRecordName && new.handle == "anna-2")
        #expect(
            try await code { _ = try await accounts.existingOrNewUser(named: "anna", for: stranger) } == .badRequest)
        // The administrator restores the user, with the remaining data.
        #expect(try accounts.caller(named: "anna", deviceID: nil).userRecordName == anna.userRecordName)
        #expect(!accounts.wasRemoved(anna.userRecordName))
        try await accounts.writeUses()
        let again = try Accounts(file: file)
        #expect(again.user(handle: "anna") != nil && !again.wasRemoved(anna.userRecordName))
    }

    @Test("Deleting a user makes room for a new one")
    func room() async throws {
        let accounts = try Accounts(file: nil)
        let anna = try await accounts.existingOrNewUser(named: "anna")
        accounts.known.withLock { users in
            for number in users.count..<User.countLimit { users.insert(User(handle: "user \(number)")) }
        }
        #expect(try await code { _ = try await accounts.existingOrNewUser(named: "bert") } == .badRequest)
        _ = try await accounts.removeUser(anna.userRecordName)
        _ = try await accounts.existingOrNewUser(named: "bert")
    }

    @Test("The developer stays, and so does the user of a server key until the key is revoked")
    func staying() async throws {
        let signer = try await TestSigner()
        let accounts = signer.accounts
        #expect(
            try await code { _ = try await accounts.removeUser(User.recordName(ofHandle: User.developerHandle)) }
                == .badRequest)
        #expect(try await code { _ = try await accounts.removeUser(signer.key.userRecordName) } == .badRequest)
        _ = try await accounts.revokeServerKey(signer.key.keyID)
        _ = try await accounts.removeUser(signer.key.userRecordName)
        #expect(accounts.user(recordName: signer.key.userRecordName) == nil)
    }

    // MARK: Writing

    @Test("Users whom requests name are in memory at once, and in the file with one transaction later")
    func batches() async throws {
        let file = temporaryFile()
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        let accounts = try Accounts(file: file)
        let commits = Commits()
        accounts.queue.add(transactionObserver: commits, extent: .databaseLifetime)
        for _ in 0..<3 {
            for number in 0..<500 { _ = try accounts.caller(named: "user-\(number)", deviceID: nil) }
        }
        // The delayed writer may have run already.
        #expect(accounts.userCount == 501 && commits.count <= 1)
        try await accounts.writeUses()
        #expect(commits.count <= 2)
        #expect(try Accounts(file: file).users() == accounts.users())
    }

    @Test("With a read-only file, known users work, and new users are refused")
    func fullDisk() async throws {
        let file = temporaryFile()
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        let accounts = try Accounts(file: file)
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let (token, secret) = try await accounts.makeAPIToken(
            named: "", container: container, environment: .development, allowedOrigins: [], callback: nil)
        try await accounts.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 1") }
        let caller = try accounts.caller(named: "anna", deviceID: nil)
        #expect(caller.userRecordName == User.recordName(ofHandle: "anna") && accounts.user(handle: "anna") != nil)
        accounts.noteUse(of: try #require(accounts.apiToken(secret: secret)))
        await #expect(throws: DatabaseError.self) { try await accounts.writeUses() }
        await #expect(throws: DatabaseError.self) {
            _ = try await accounts.makeUser(displayName: "Bert", emailAddress: nil)
        }
        await #expect(throws: DatabaseError.self) { _ = try await accounts.existingOrNewUser(named: "anna") }
        await #expect(throws: DatabaseError.self) { _ = try await accounts.removeUser(caller.userRecordName) }
        #expect(accounts.user(handle: "anna") != nil && accounts.users().count == 2)
        // The pending changes are written once there is room again.
        try await accounts.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 0") }
        try await accounts.writeUses()
        let again = try Accounts(file: file)
        #expect(again.user(handle: "anna") != nil && again.lastSeen(caller.userRecordName) != nil)
        #expect(again.apiTokens().first { $0.id == token.id }?.lastUsed != nil)
    }

    @Test("A server that starts changes nothing in its file")
    func startWithoutWriting() async throws {
        let file = temporaryFile()
        defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
        do { _ = try await Accounts(file: file).existingOrNewUser(named: "anna") }
        let before = try Data(contentsOf: file)
        let accounts = try Accounts(file: file)
        #expect(accounts.user(handle: "anna") != nil && accounts.user(handle: User.developerHandle) != nil)
        #expect(try Data(contentsOf: file) == before)
    }

    @Test("Users are listed by their last request")
    func recent() async throws {
        let accounts = try Accounts(file: nil)
        for name in ["anna", "bert", "cleo", "dora"] { _ = try await accounts.existingOrNewUser(named: name) }
        for (offset, name) in ["cleo", "anna", "cleo", "bert"].enumerated() {
            accounts.saw(User.recordName(ofHandle: name), at: Timestamp(milliseconds: Int64(offset + 1) * 1000))
        }
        #expect(accounts.recentUsers(3).map(\.handle) == ["bert", "cleo", "anna"])
        #expect(Set(accounts.recentUsers(100).map(\.handle)) == ["anna", "bert", "cleo", "dora", "developer"])
    }
}

/// Counts transactions that were written.
private final class Commits: TransactionObserver, Sendable {
    private let commits = Mutex(0)

    var count: Int { commits.withLock { $0 } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { commits.withLock { $0 += 1 } }
    func databaseDidRollback(_ db: Database) {}
}
