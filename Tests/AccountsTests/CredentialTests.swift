import Accounts
import Crypto
import Foundation
import Records
import Testing

@Suite("API tokens and server keys")
struct CredentialTests {
    private let container: ContainerID
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "skylight-accounts-\(UUID().uuidString)")
    private var file: URL { folder.appendingPathComponent("accounts.sqlite") }

    init() throws {
        container = try #require(ContainerID("iCloud.com.example.App"))
    }

    private func removeFolder() { try? FileManager.default.removeItem(at: folder) }

    @Test("A token is known by its secret, keeps what it was made with, and is over when it is revoked")
    func tokens() async throws {
        defer { removeFolder() }
        let accounts = try Accounts(file: file)
        let (token, secret) = try await accounts.makeAPIToken(
            named: " Web app ", container: container, environment: .production,
            allowedOrigins: ["https://Example.com/", "http://localhost:3000", "https://example.com:443"],
            callback: "https://example.com/in?a=1")
        #expect(token.id.utf8.count == 8 && secret.utf8.count == 64 && (token.id + secret).allSatisfy(\.isHexDigit))
        #expect(token.name == "Web app" && token.allowedOrigins == ["https://example.com", "http://localhost:3000"])
        #expect(accounts.apiToken(secret: secret.uppercased()) == nil && accounts.apiToken(secret: "") == nil)
        #expect(accounts.isOriginOfToken("https://example.com") && accounts.isOriginOfToken("HTTPS://EXAMPLE.COM:443"))
        #expect(
            !accounts.isOriginOfToken("http://example.com") && !accounts.isOriginOfToken("https://example.com.evil.org")
                && !accounts.isOriginOfToken("null"))
        #expect(
            token.allows(origin: "http://localhost:3000") && !token.allows(origin: "http://localhost:3001")
                && !token.allows(origin: "null"))
        #expect(accounts.apiToken(secret: secret)?.id == token.id)
        // A lookup does not count as use, because pages that are refused are looked up too.
        #expect(accounts.apiTokens().first?.lastUsed == nil)
        accounts.noteUse(of: token)
        #expect(accounts.apiTokens().first?.lastUsed != nil)
        let (plain, _) = try await accounts.makeAPIToken(
            named: "", container: container, environment: .development, allowedOrigins: [], callback: nil)
        #expect(
            plain.name == "API token" && plain.allows(origin: "https://anything.example")
                && !plain.lists(origin: "https://anything.example"))
        try await accounts.writeUses()
        let again = try Accounts(file: file)
        #expect(again.apiTokens() == accounts.apiTokens() && again.apiTokens().count == 2)
        #expect(again.isOriginOfToken("https://example.com"))
        let revoked = try await accounts.revokeAPIToken(token.id)
        #expect(revoked.revoked != nil && !revoked.isLive)
        #expect(try await accounts.revokeAPIToken(token.id) == revoked)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.apiToken(secret: secret)?.revoked == revoked.revoked)
            #expect(!accounts.isOriginOfToken("https://example.com"))
        }
        await #expect(throws: RecordError.self) { _ = try await accounts.revokeAPIToken("00000000") }
        // The file contains no part of the secret.
        let bytes = try Data(contentsOf: file)
        #expect(bytes.range(of: Data(secret.utf8)) == nil)
    }

    @Test("A token may be for the pages of every site, and says so after a restart")
    func anyOrigin() async throws {
        defer { removeFolder() }
        let accounts = try Accounts(file: file)
        let origins = [["*"], [" * "], ["https://example.com", "*"]]
        for origins in origins {
            let (token, _) = try await accounts.makeAPIToken(
                named: "", container: container, environment: .development, allowedOrigins: origins, callback: nil)
            #expect(token.allowedOrigins == [APIToken.anyOrigin])
        }
        for accounts in [accounts, try Accounts(file: file)] {
            for token in accounts.apiTokens() {
                #expect(
                    ["https://example.com", "capacitor://localhost", "null"].allSatisfy {
                        token.allows(origin: $0) && token.lists(origin: $0)
                    })
                #expect(token.allows(origin: nil))
            }
            #expect(accounts.isOriginOfToken("https://anything.example"))
        }
        for token in accounts.apiTokens() { _ = try await accounts.revokeAPIToken(token.id) }
        #expect(!accounts.isOriginOfToken("https://anything.example"))
    }

    @Test(
        "The refusal of an origin says what may be written",
        arguments: [
            ("https://*.example.com", "a * stands only alone; list each site"),
            ("example.com", "use scheme, host and a non-default port"),
        ])
    func refusedOrigin(origin: String, rule: String) async throws {
        let accounts = try Accounts(file: nil)
        let error = await #expect(throws: RecordError.self) {
            _ = try await accounts.makeAPIToken(
                named: "", container: container, environment: .development, allowedOrigins: [origin], callback: nil)
        }
        #expect(
            error?.reason
                == "'\(origin)' is not an origin: \(rule), as in https://example.com or http://localhost:3000, or use * for the pages of every site"
        )
    }

    @Test("The file is its owner's alone")
    func permissions() throws {
        defer { removeFolder() }
        _ = try Accounts(file: file)
        let path = file.path(percentEncoded: false)
        func permissions() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try permissions() == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        _ = try Accounts(file: file)
        #expect(try permissions() == 0o600)
    }

    @Test(
        "Origins and callbacks that can't be used are refused",
        arguments: [
            (["example.com"], nil), (["https://example.com/path"], nil), (["**"], nil), (["https://*"], nil),
            (["https://*.example.com"], nil), (["ftp://example.com"], nil),
            (["https://a:b@example.com"], nil), (["https://"], nil),
            (Array(repeating: "https://example.com", count: 51), nil),
            ([], "example"), ([], "javascript:alert(1)"), ([], "data:text/html,x"), ([], "https://"),
            ([], "https://a:b@example.com/"),
            ([], "https://example.com/#part"), ([], "https://example.com/a b"), ([], "https://example.com/\nx"),
            ([], "FILE:///etc/passwd"),
        ] as [([String], String?)])
    func refusedTokens(origins: [String], callback: String?) async throws {
        let accounts = try Accounts(file: nil)
        await #expect(throws: RecordError.self) {
            _ = try await accounts.makeAPIToken(
                named: "x", container: container, environment: .development, allowedOrigins: origins, callback: callback
            )
        }
        #expect(accounts.apiTokens().isEmpty)
    }

    @Test(
        "A callback may be an app's own scheme",
        arguments: [
            "cloudkit-icloud.com.example.app://done", "http://localhost:3000/", "https://example.com/in?x=1&y=%20",
        ])
    func callbacks(callback: String) async throws {
        let (token, _) = try await Accounts(file: nil).makeAPIToken(
            named: "x", container: container, environment: .development, allowedOrigins: [], callback: callback)
        #expect(token.callback == callback)
    }

    @Test("A server key is the same wherever it is registered, and another in each environment")
    func keys() async throws {
        defer { removeFolder() }
        let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
        let accounts = try Accounts(file: file)
        let key = try await accounts.registerServerKey(
            pem: "\n " + pem.replacingOccurrences(of: "\n", with: "\r\n"), named: "", container: container,
            environment: .development)
        #expect(
            key.keyID.utf8.count == 64 && User.isRecordName(key.userRecordName.string)
                && key.name.hasPrefix("Server key "))
        #expect(accounts.user(recordName: key.userRecordName) != nil)
        #expect(
            try await accounts.registerServerKey(
                pem: "Here it is:\n\(pem)\nBye", named: "Other", container: container, environment: .development) == key
        )
        let production = try await accounts.registerServerKey(
            pem: pem, named: "P", container: container, environment: .production)
        #expect(production.keyID != key.keyID && production.userRecordName != key.userRecordName)
        let elsewhere = try await Accounts(file: nil).registerServerKey(
            pem: pem, named: "", container: container, environment: .development)
        #expect(elsewhere.keyID == key.keyID && elsewhere.userRecordName == key.userRecordName)
        #expect(try Accounts(file: file).serverKeys() == accounts.serverKeys() && accounts.serverKeys().count == 2)
        let revoked = try await accounts.revokeServerKey(key.keyID.uppercased())
        #expect(!revoked.isLive)
        #expect(try Accounts(file: file).serverKey(key.keyID)?.isLive == false)
        await #expect(throws: RecordError.self) {
            _ = try await accounts.registerServerKey(
                pem: pem, named: "", container: container, environment: .development)
        }
        await #expect(throws: RecordError.self) { _ = try await accounts.revokeServerKey("0") }
    }

    @Test("A key of a container with another name doesn't stand in the way of one under the old name")
    func renamed() async throws {
        let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
        let accounts = try Accounts(file: nil)
        let name = try #require(ContainerID("iCloud.com.example.New"))
        let moved = try await accounts.registerServerKey(
            pem: pem, named: "", container: container, environment: .development)
        try await accounts.moveCredentials(of: container, to: name)
        let again = try await accounts.registerServerKey(
            pem: pem, named: "", container: container, environment: .development)
        #expect(
            again.container == container && again.keyID != moved.keyID && again.userRecordName != moved.userRecordName)
        #expect(accounts.serverKey(moved.keyID)?.container == name)
        #expect(
            try await accounts.registerServerKey(pem: pem, named: "", container: name, environment: .development).keyID
                == moved.keyID)
        #expect(
            try await accounts.registerServerKey(pem: pem, named: "", container: container, environment: .development)
                .keyID == again.keyID)
        #expect(accounts.serverKeys().count == 2)
    }

    @Test("A wrong key is refused with its actual kind")
    func wrongKeys() async throws {
        let accounts = try Accounts(file: nil)
        let p256 = P256.Signing.PrivateKey()
        let pem = p256.publicKey.pemRepresentation
        func block(_ label: String, _ data: Data) -> String {
            "-----BEGIN \(label)-----\n\(data.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed]))\n-----END \(label)-----"
        }
        let rsa = Data(
            [
                0x30, 0x1A, 0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
                0x03, 0x09,
            ] + Array(repeating: 0, count: 9))
        let ed25519 = Data(
            [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00] + Array(repeating: 9, count: 32))
        let cases: [(String, String)] = [
            ("", "The key is empty"), ("hello", "not PEM"), (String(repeating: "x", count: 20_000), "16384 bytes"),
            (p256.pemRepresentation, "private key"),
            ("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----", "name of a curve"),
            (
                "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n\(block("EC PRIVATE KEY", p256.x963Representation))",
                "private key"
            ),
            (block("CERTIFICATE", rsa), "certificate"), (block("CERTIFICATE REQUEST", rsa), "certificate request"),
            (block("RSA PUBLIC KEY", rsa), "RSA"),
            (block("PUBLIC KEY", rsa), "RSA"), (block("PUBLIC KEY", ed25519), "Ed25519"),
            (P384.Signing.PrivateKey().publicKey.pemRepresentation, "P-384"),
            (P521.Signing.PrivateKey().publicKey.pemRepresentation, "P-521"),
            ("-----BEGIN PUBLIC KEY-----\n???\n-----END PUBLIC KEY-----", "not base64"),
            (block("PUBLIC KEY", Data([1, 2, 3])), "no public key of the curve"),
            (block("SSH2 PUBLIC KEY", rsa), "not a public key"),
            (pem.replacingOccurrences(of: "END PUBLIC", with: "END"), "not PEM"),
        ]
        for (text, says) in cases {
            await #expect(
                performing: {
                    _ = try await accounts.registerServerKey(
                        pem: text, named: "", container: container, environment: .development)
                },
                throws: { error in
                    (error as? RecordError)?.code == .badRequest
                        && (error as? RecordError)?.reason.contains(says) == true
                })
        }
        // A damaged key is parsed as the same key or another one, or is refused.
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var bytes = Array(pem.utf8)
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            do {
                let key = try await accounts.registerServerKey(
                    pem: String(decoding: bytes, as: UTF8.self), named: "", container: container,
                    environment: .development)
                #expect(throws: Never.self) { try P256.Signing.PublicKey(pemRepresentation: key.publicKeyPEM) }
            } catch {
                #expect(error is RecordError)
            }
        }
    }

    @Test("Tokens and keys are deleted and renamed with their container")
    func containers() async throws {
        defer { removeFolder() }
        let accounts = try Accounts(file: file)
        let other = try #require(ContainerID("iCloud.com.example.Other"))
        let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
        let (token, secret) = try await accounts.makeAPIToken(
            named: "t", container: container, environment: .development, allowedOrigins: ["https://a.example"],
            callback: nil)
        let key = try await accounts.registerServerKey(
            pem: pem, named: "k", container: container, environment: .development)
        let user = try await accounts.makeUser(displayName: "Anna", emailAddress: nil)
        let request = SignInRequest(container: container, environment: .development, apiTokenID: token.id)
        let (_, webAuth) = try await accounts.signIn(
            user.userRecordName, with: request, keepSignedIn: false, now: Date())
        try await accounts.moveCredentials(of: container, to: other)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.apiToken(secret: secret)?.container == other)
            #expect(accounts.serverKey(key.keyID)?.container == other)
            guard case .valid = accounts.webAuth(webAuth, container: other, environment: .development, now: Date())
            else {
                Issue.record("The session did not move")
                continue
            }
        }
        try await accounts.removeCredentials(of: other)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(
                accounts.apiToken(secret: secret) == nil && accounts.apiTokens().isEmpty
                    && accounts.serverKeys().isEmpty)
            #expect(accounts.webAuthSessions().isEmpty && !accounts.isOriginOfToken("https://a.example"))
            #expect(accounts.webAuth(webAuth, container: other, environment: .development, now: Date()) == .unknown)
        }
    }
}
