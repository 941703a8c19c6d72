import Crypto
import Foundation
import Records
import Testing

@testable import Accounts

@Suite("Web auth tokens and sign-in tickets")
struct WebAuthTests {
    private let container: ContainerID
    private let accounts: Accounts
    private let anna: User
    private let start = Date(timeIntervalSince1970: 1_795_348_800)

    init() async throws {
        container = try #require(ContainerID("iCloud.com.example.App"))
        accounts = try Accounts(file: nil)
        anna = try await accounts.makeUser(displayName: "Anna", emailAddress: "anna@example.com")
    }

    private var request: SignInRequest { SignInRequest(container: container, environment: .development) }

    private func verdict(_ token: String, after seconds: Double, in accounts: Accounts? = nil) -> WebAuthVerdict {
        (accounts ?? self.accounts).webAuth(
            token, container: container, environment: .development, now: start + seconds)
    }

    private func name(_ verdict: WebAuthVerdict) -> String {
        switch verdict {
        case .valid: "valid"
        case .unknown: "unknown"
        case .expired: "expired"
        case .revoked: "revoked"
        case .elsewhere: "elsewhere"
        }
    }

    @Test(
        "A token is good for half an hour, or for two weeks",
        arguments: [(false, 1800.0), (true, 14 * 86_400)] as [(Bool, Double)])
    func lives(keepsSignedIn: Bool, life: Double) async throws {
        let (session, token) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: keepsSignedIn, now: start)
        #expect(
            session.user == anna.userRecordName && session.keepsSignedIn == keepsSignedIn && session.lastUsed == nil)
        #expect(token.utf8.count == 72 && token.hasSuffix("="))
        #expect(name(verdict(token, after: life)) == "expired")
        #expect(name(verdict(token, after: life - 0.001)) == "valid")
        // Use does not extend the lifetime of a token; only a new token does.
        #expect(name(verdict(token, after: life + 1)) == "expired")
        let next = accounts.nextToken(of: session, now: start + life - 1)
        #expect(name(verdict(next, after: 2 * life - 2)) == "valid")
        #expect(name(verdict(next, after: 2 * life)) == "expired")
    }

    @Test("A token stays good for five minutes after a newer one was first used, and no longer")
    func rotation() async throws {
        let (session, first) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: false, now: start)
        #expect(name(verdict(first, after: 1)) == "valid")
        let second = accounts.nextToken(of: session, now: start + 1)
        let third = accounts.nextToken(of: session, now: start + 2)
        #expect(Set([first, second, third]).count == 3)
        // Newer tokens do not invalidate the older one, because the client may never have received them.
        #expect(name(verdict(first, after: 1000)) == "valid")
        #expect(name(verdict(third, after: 1001)) == "valid")
        #expect(name(verdict(first, after: 1300)) == "valid" && name(verdict(second, after: 1300)) == "valid")
        #expect(name(verdict(first, after: 1301)) == "expired" && name(verdict(second, after: 1301)) == "expired")
        #expect(name(verdict(third, after: 1301)) == "valid")
        // An older token within its grace time replaces no newer one.
        let fourth = accounts.nextToken(of: session, now: start + 1301)
        #expect(name(verdict(fourth, after: 1302)) == "valid" && name(verdict(third, after: 1400)) == "valid")
        #expect(name(verdict(fourth, after: 1650)) == "valid" && name(verdict(third, after: 1650)) == "expired")
    }

    @Test("In a busy session each token goes five minutes after the next one's first use")
    func busy() async throws {
        let (session, first) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: false, now: start)
        var tokens = [first]
        // Ten requests a second, each with the token of the answer before.
        for step in 0..<3600 {
            #expect(name(verdict(tokens[step], after: Double(step) / 10)) == "valid")
            tokens.append(accounts.nextToken(of: session, now: start + Double(step) / 10 + 0.01))
        }
        let end = 359.9
        for (index, token) in tokens.enumerated() where index % 7 == 0 && index < 3590 {
            // Uses within the same second are stored together.
            let replaced = Double(index + 1) / 10
            let verdict = name(verdict(token, after: end))
            if replaced + 300 > end { #expect(verdict == "valid") }
            if replaced + 301 < end { #expect(verdict == "expired") }
        }
    }

    @Test("Every bit of a token counts, and it is written in one way only")
    func sealed() async throws {
        let (_, token) = try await accounts.signIn(anna.userRecordName, with: request, keepSignedIn: false, now: start)
        let bytes = Array(try #require(Data(base64Encoded: token)))
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(verdict(Data(changed).base64EncodedString(), after: 1) == .unknown)
        }
        let text = Array(token.utf8)
        for bit in 0..<text.count * 8 {
            var changed = text
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(verdict(String(decoding: changed, as: UTF8.self), after: 1) == .unknown)
        }
        for text in [
            "", "=", token + "=", token + "\n", " " + token, String(token.dropLast()),
            String(repeating: "A", count: 5000), "ü",
        ] {
            #expect(verdict(text, after: 1) == .unknown)
        }
        // A token of another server, even with the same session id.
        #expect(verdict(token, after: 1, in: try Accounts(file: nil)) == .unknown)
        #expect(name(verdict(token, after: 1)) == "valid")
    }

    @Test("A session is good in its own container and environment, and until it is revoked")
    func places() async throws {
        let (session, token) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: true, now: start)
        let other = try #require(ContainerID("iCloud.com.example.Other"))
        #expect(name(accounts.webAuth(token, container: other, environment: .development, now: start)) == "elsewhere")
        #expect(
            name(accounts.webAuth(token, container: container, environment: .production, now: start)) == "elsewhere")
        #expect(accounts.webAuthSessions().map(\.id) == [session.id])
        let revoked = try await accounts.revokeWebAuthSession(session.id)
        #expect(!revoked.isLive(at: revoked.made))
        #expect(name(verdict(token, after: 1)) == "revoked")
        #expect(name(verdict(accounts.nextToken(of: session, now: start), after: 1)) == "revoked")
        await #expect(throws: RecordError.self) { _ = try await accounts.revokeWebAuthSession("0") }
    }

    @Test("Only a known user signs in, under a token that is in force")
    func refused() async throws {
        await #expect(throws: RecordError.self) {
            _ = try await accounts.signIn("_nobody", with: request, keepSignedIn: false, now: start)
        }
        let (token, _) = try await accounts.makeAPIToken(
            named: "", container: container, environment: .development, allowedOrigins: [], callback: nil)
        var under = request
        under.apiTokenID = token.id
        let (session, _) = try await accounts.signIn(anna.userRecordName, with: under, keepSignedIn: false, now: start)
        #expect(session.apiTokenID == token.id)
        under.environment = .production
        await #expect(throws: RecordError.self) {
            _ = try await accounts.signIn(anna.userRecordName, with: under, keepSignedIn: false, now: start)
        }
        under.environment = .development
        _ = try await accounts.revokeAPIToken(token.id)
        await #expect(throws: RecordError.self) {
            _ = try await accounts.signIn(anna.userRecordName, with: under, keepSignedIn: false, now: start)
        }
    }

    @Test("Nobody signs in as a server key, nor stays signed in as one")
    func serverKeys() async throws {
        let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
        // The user record name of a key is not secret.
        let userRecordName = try await Accounts(file: nil).registerServerKey(
            pem: pem, named: "", container: container, environment: .development
        ).userRecordName
        let early = try await accounts.existingOrNewUser(named: userRecordName.string)
        let (_, token) = try await accounts.signIn(early.userRecordName, with: request, keepSignedIn: false, now: start)
        #expect(name(verdict(token, after: 1)) == "valid")
        let key = try await accounts.registerServerKey(
            pem: pem, named: "", container: container, environment: .development)
        #expect(key.userRecordName == userRecordName && accounts.isServerKey(userRecordName))
        #expect(name(verdict(token, after: 2)) == "revoked")
        await #expect(throws: RecordError.self) {
            _ = try await accounts.signIn(userRecordName, with: request, keepSignedIn: false, now: start)
        }
        _ = try await accounts.revokeServerKey(key.keyID)
        await #expect(throws: RecordError.self) {
            _ = try await accounts.signIn(userRecordName, with: request, keepSignedIn: false, now: start)
        }
        try await accounts.removeCredentials(of: container)
        await #expect(throws: RecordError.self) {
            _ = try await accounts.signIn(userRecordName, with: request, keepSignedIn: false, now: start)
        }
    }

    @Test("Revoking an API token ends only its own sessions")
    func revokedToken() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        var tokens: [String] = []
        var ids: [String?] = [nil]
        for _ in 0..<2 {
            ids.append(
                try await accounts.makeAPIToken(
                    named: "", container: container, environment: .development, allowedOrigins: [], callback: nil
                ).token.id)
        }
        for id in ids {
            let request = SignInRequest(container: container, environment: .development, apiTokenID: id)
            tokens.append(
                try await accounts.signIn(
                    User.recordName(ofHandle: "developer"), with: request, keepSignedIn: true, now: start
                ).token)
        }
        #expect(tokens.map { name(verdict($0, after: 1, in: accounts)) } == ["valid", "valid", "valid"])
        _ = try await accounts.revokeAPIToken(try #require(ids[1]))
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(tokens.map { name(verdict($0, after: 2, in: accounts)) } == ["valid", "revoked", "valid"])
        }
    }

    @Test("A user's least recently used session makes room for a new one")
    func manySessions() async throws {
        let limit = Accounts.sessionLimitOfUser
        let bert = try await accounts.makeUser(displayName: "Bert", emailAddress: nil)
        let (bertsSession, _) = try await accounts.signIn(
            bert.userRecordName, with: request, keepSignedIn: false, now: start)
        let (busy, token) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: false, now: start)
        let (quiet, _) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: true, now: start + 1)
        #expect(name(verdict(token, after: 600)) == "valid")
        for second in 0..<limit - 1 {
            _ = try await accounts.signIn(
                anna.userRecordName, with: request, keepSignedIn: true, now: start + 2 + Double(second))
        }
        let sessions = accounts.webAuthSessions()
        #expect(
            sessions.count == limit + 1 && sessions.contains { $0.id == busy.id }
                && sessions.contains { $0.id == bertsSession.id })
        #expect(!sessions.contains { $0.id == quiet.id })
    }

    @Test("Each address has some sign-ins at once, and then one after the other")
    func signInsOfAddress() {
        let start = ContinuousClock.now
        func taken(_ count: Int, from peer: String, at seconds: Int) -> Int {
            (0..<count).count { _ in (try? accounts.admitSignIn(from: peer, at: start + .seconds(seconds))) != nil }
        }
        #expect(
            taken(100, from: "10.0.0.1", at: 0) == 30 && taken(100, from: "2001:db8::1", at: 0) == 30
                && taken(100, from: "2001:db8::2", at: 0) == 0)
        #expect(throws: RecordError.self) { try accounts.admitSignIn(from: "10.0.0.1", at: start) }
        #expect(taken(100, from: "10.0.0.1", at: 5) == 5 && taken(100, from: "10.0.0.1", at: 100) == 30)
    }

    @Test("Sessions outlast the server, and so does what was replaced")
    func remembered() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        var accounts = try Accounts(file: file)
        let anna = try await accounts.makeUser(displayName: "Anna", emailAddress: nil)
        let (session, first) = try await accounts.signIn(
            anna.userRecordName, with: request, keepSignedIn: true, now: start)
        let second = accounts.nextToken(of: session, now: start + 10)
        #expect(name(verdict(second, after: 20, in: accounts)) == "valid")
        try await accounts.writeUses()
        let ticket = accounts.signInTicket(for: request, now: start)
        accounts = try Accounts(file: file)
        #expect(accounts.webAuthSessions().first?.lastUsed == Timestamp(milliseconds: 1_795_348_820_000))
        #expect(accounts.signInRequest(ticket: ticket, now: start) == request)
        #expect(name(verdict(first, after: 319, in: accounts)) == "valid")
        #expect(name(verdict(first, after: 320, in: accounts)) == "expired")
        #expect(name(verdict(second, after: 320, in: accounts)) == "valid")
        // Long after it ended, a session is forgotten.
        _ = try await accounts.signIn(anna.userRecordName, with: request, keepSignedIn: false, now: start + 60 * 86_400)
        #expect(accounts.webAuthSessions().count == 1)
        #expect(try Accounts(file: file).webAuthSessions().map(\.id) == accounts.webAuthSessions().map(\.id))
        #expect(name(verdict(second, after: 320, in: accounts)) == "unknown")
    }

    @Test("A ticket is good for an hour, and says what it was made of")
    func tickets() throws {
        let requests = [
            request,
            SignInRequest(
                container: container, environment: .production, apiTokenID: "0123abcd",
                origin: "https://example.com:8443"),
        ]
        for request in requests {
            let ticket = accounts.signInTicket(for: request, now: start)
            #expect(
                ticket.utf8.allSatisfy {
                    Unicode.Scalar($0).properties.isAlphabetic || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F
                })
            #expect(accounts.signInRequest(ticket: ticket, now: start + 3599) == request)
            #expect(accounts.signInRequest(ticket: ticket, now: start + 3600) == nil)
            let text = Array(ticket.utf8)
            for bit in 0..<text.count * 8 {
                var changed = text
                changed[bit / 8] ^= 1 << (bit % 8)
                #expect(accounts.signInRequest(ticket: String(decoding: changed, as: UTF8.self), now: start) == nil)
            }
        }
        // An invalid origin is dropped.
        let odd = SignInRequest(container: container, environment: .development, origin: "https://a.example\nx\ny")
        #expect(accounts.signInRequest(ticket: accounts.signInTicket(for: odd, now: start), now: start)?.origin == nil)
        for text in ["", "x", String(repeating: "A", count: 10_000), "ü=+/"] {
            #expect(accounts.signInRequest(ticket: text, now: start) == nil)
        }
    }

    @Test("A web auth token is no ticket, and a ticket no token")
    func purposes() async throws {
        let (_, token) = try await accounts.signIn(anna.userRecordName, with: request, keepSignedIn: false, now: start)
        let bare = token.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
        #expect(accounts.signInRequest(ticket: bare, now: start) == nil)
        #expect(verdict(accounts.signInTicket(for: request, now: start), after: 0) == .unknown)
    }
}
