import Accounts
import Crypto
import Foundation
import HTTPServing
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Records
import Testing

@testable import Console

/// The page Keys, and the one that checks signatures.
@Suite struct KeyPageTests {
    static func pem(_ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey()) -> String {
        key.publicKey.pemRepresentation
    }

    @Test func anAPITokenIsMadeShownOnceAndRevoked() async throws {
        try await KeyStage.run { stage in
            let empty = try await stage.page("keys")
            #expect(
                empty.contains("None yet") && empty.contains("This server is open")
                    && empty.contains("Nobody has signed in yet"))
            let id = try #require(empty.firstMatch(of: /name="token" value="([0-9a-f]{8})"/)).output.1
            let form: [(String, String)] = [
                ("name", "Web <app>"), ("origins", "https://app.example.com\r\nhttp://localhost:3000"),
                ("callback", "https://app.example.com/back"), ("token", String(id)),
            ]
            let made = try await stage.post("keys/token", form)
            let page = EditStage.text(made)
            #expect(made.status == .ok && made.headers[.cacheControl] == "no-store")
            let secret = String(
                try #require(page.firstMatch(of: /<code data-copy-source>([0-9a-f]{64})<\/code>/)).output.1)
            let token = try #require(stage.accounts.apiToken(secret: secret))
            #expect(
                token.allowedOrigins == ["https://app.example.com", "http://localhost:3000"]
                    && token.callback == "https://app.example.com/back")
            #expect(page.contains("ckAPIToken=\(secret)") && page.contains("Web &lt;app&gt;"))
            #expect(page.contains("<span data-origin>http://localhost</span>"), "the address that the browser used")
            #expect(page.contains("answers this request without a token too") && !page.contains("Both mean"))
            let again = EditStage.text(try await stage.post("keys/token", form))
            #expect(again.contains("Its value was shown once") && !again.contains("ckAPIToken="))
            #expect(stage.accounts.apiTokens().map(\.id) == [token.id] && token.id == id)
            let list = try await stage.page("keys")
            #expect(
                !list.contains(secret) && list.contains(token.id) && list.contains("http://localhost:3000")
                    && list.contains("Web &lt;app&gt;"))
            // It belongs to one environment of one container.
            #expect(
                try await !stage.page(KeyStage.there.replacing("development", with: "production") + "/keys").contains(
                    token.id))
            let question = try await stage.page("keys/revoke?token=\(token.id)")
            #expect(
                question.contains("Revoke the API token") && stage.accounts.apiTokens().allSatisfy { $0.revoked == nil }
            )
            let revoked = try await stage.post("keys/revoke", [("token", token.id)])
            #expect(revoked.status == .seeOther)
            #expect(try await stage.page(try #require(revoked.headers[.location])).contains("The API token is revoked"))
            #expect(stage.accounts.apiTokens().first?.revoked != nil)
        }
    }

    @Test func anInvalidTokenIsRefusedBesideTheInput() async throws {
        try await KeyStage.run { stage in
            for (origins, callback) in [
                ("not an origin", ""), ("", "javascript:alert(1)"), ("https://a.example/path", ""),
            ] {
                let answer = try await stage.post(
                    "keys/token", [("name", "App"), ("origins", origins), ("callback", callback)])
                let page = EditStage.text(answer)
                #expect(
                    answer.status == .badRequest && page.contains("role=\"alert\"") && page.contains("value=\"App\""),
                    "\(origins) \(callback)")
            }
            #expect(stage.accounts.apiTokens().isEmpty)
        }
    }

    @Test func noZoneIsSharedWithTheUserOfAKey() async throws {
        try await KeyStage.run { stage in
            #expect(try await stage.post("zones/create", [("zoneName", "Notes")]).status == .seeOther)
            _ = try await stage.post("keys/key", [("name", "Nightly"), ("pem", Self.pem())])
            let registered = try #require(stage.accounts.serverKeys().first)
            let user = try #require(stage.accounts.user(recordName: registered.userRecordName))
            #expect(try await !stage.page("zone?zone=Notes").contains("name=\"with\""), "nobody else is there")
            _ = try stage.accounts.caller(named: "grace", deviceID: nil)
            let page = try await stage.page("zone?zone=Notes")
            #expect(page.contains("<option value=\"grace\"") && !page.contains("<option value=\"\(user.handle)\""))
            let refused = try await stage.post(
                "zone/share?zone=Notes", [("with", user.handle), ("permission", "READ_ONLY")])
            #expect(
                refused.status == .badRequest
                    && EditStage.text(refused).contains("which has no shared database; choose another user"))
            #expect(
                try await stage.post("zone/share?zone=Notes", [("with", "grace"), ("permission", "READ_ONLY")]).status
                    == .seeOther)
        }
    }

    @Test func aKeyIsRegisteredAndRevoked() async throws {
        try await KeyStage.run { stage in
            let key = P256.Signing.PrivateKey()
            let answer = try await stage.post("keys/key", [("name", "Nightly"), ("pem", Self.pem(key))])
            let page = EditStage.text(answer)
            let registered = try #require(stage.accounts.serverKeys().first)
            #expect(
                answer.status == .ok && page.contains(registered.keyID)
                    && page.contains(registered.userRecordName.string))
            let list = try await stage.page("keys")
            #expect(list.contains(registered.keyID) && list.contains("Nightly"))
            // The key can also be sent as a file, which takes precedence over the text.
            let other = P256.Signing.PrivateKey()
            let body =
                "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nFile\r\n--x\r\nContent-Disposition: form-data; name=\"pem\"\r\n\r\n\r\n--x\r\n"
                + "Content-Disposition: form-data; name=\"file\"; filename=\"k.pem\"\r\n\r\n\(Self.pem(other))\r\n--x--\r\n"
            let sent = try await stage.client.execute(
                uri: "\(KeyStage.there)/keys/key", method: .post,
                headers: [.contentType: "multipart/form-data; boundary=x"], body: .init(string: body)
            ) { $0 }
            #expect(sent.status == .ok && stage.accounts.serverKeys().count == 2)
            let refused = try await stage.post("keys/key", [("name", "Wrong"), ("pem", key.pemRepresentation)])
            #expect(refused.status == .badRequest && EditStage.text(refused).contains("private"))
            // A rejected private key is not sent back; other text is.
            let lines = key.pemRepresentation.split(separator: "\n")
            #expect(lines.count > 2 && !lines.dropFirst().dropLast().contains { EditStage.text(refused).contains($0) })
            let misnamed = try await stage.post(
                "keys/key", [("name", String(repeating: "n", count: 1000)), ("pem", Self.pem())])
            #expect(misnamed.status == .badRequest && EditStage.text(misnamed).contains("BEGIN PUBLIC KEY"))
            #expect(try await stage.post("keys/key", [("name", "Wrong"), ("pem", " ")]).status == .badRequest)
            #expect(try await stage.page("keys/revoke?key=\(registered.keyID)").contains("Revoke the server key"))
            #expect(try await stage.post("keys/revoke", [("key", registered.keyID)]).status == .seeOther)
            #expect(stage.accounts.serverKey(registered.keyID)?.revoked != nil)
        }
    }

    @Test func aSignInIsListedAndEnded() async throws {
        try await KeyStage.run { stage in
            let (apiToken, _) = try await stage.token()
            _ = try await stage.post("/sign-in", [("ticket", stage.ticket(token: apiToken)), ("name", "Grace Hopper")])
            let session = try #require(stage.accounts.webAuthSessions().first)
            let list = try await stage.page("keys")
            #expect(
                list.contains(session.id) && list.contains("Grace Hopper") && list.contains("30 minutes")
                    && list.contains("Web app"))
            #expect(try await stage.page("keys/revoke?session=\(session.id)").contains("Sign Grace Hopper out?"))
            #expect(try await stage.post("keys/revoke", [("session", session.id)]).status == .seeOther)
            #expect(stage.accounts.webAuthSessions().first?.revoked != nil)
            #expect(try await stage.page("keys").contains("signed out <time"))
            #expect(
                try await stage.page("keys/revoke?session=none", .notFound).contains(
                    "There is no such token, key or session"))
            // Credentials of another environment are not found.
            let production = KeyStage.there.replacing("development", with: "production")
            #expect(try await stage.post("\(production)/keys/revoke", [("token", apiToken.id)]).status == .notFound)
            #expect(stage.accounts.apiTokens().allSatisfy { $0.revoked == nil })
        }
    }

    @Test func aSignatureIsCheckedAndExplained() async throws {
        try await KeyStage.run { stage in
            let key = P256.Signing.PrivateKey()
            let registered = try await stage.accounts.registerServerKey(
                pem: Self.pem(key), named: "Nightly", container: stage.container, environment: .development)
            let target = "/database/1/iCloud.com.example.App/development/public/records/query?a=b"
            let date = RequestSignature.date(of: Int64(Date().timeIntervalSince1970))
            let body = #"{"query":{"recordType":"Note"}}"#
            func signature(_ body: String, _ target: String) throws -> String {
                let message = RequestSignature.message(date: date, body: Array(body.utf8), target: target)
                return try key.signature(for: Data(message.utf8)).derRepresentation.base64EncodedString()
            }
            func check(_ fields: [(String, String)]) async throws -> String {
                EditStage.text(try await stage.post("keys/signature", fields))
            }
            let curl = """
                curl -X POST 'http://127.0.0.1:8080\(target)' \\
                  -H 'x-apple-cloudkit-request-keyid: \(registered.keyID)' -H "X-Apple-CloudKit-Request-ISO8601Date: \(date)" \\
                  -H 'X-Apple-CloudKit-Request-SignatureV1: \(try signature(body, target))' --data-raw '\(body)'
                """
            #expect(try await check([("curl", curl)]).contains("The signature is correct"))
            let parts = [("target", target), ("date", date), ("keyID", registered.keyID), ("body", body)]
            #expect(
                try await check(parts + [("signature", try signature(body, target))]).contains(
                    "The signature is correct"))
            let wrong = try await check(
                parts + [("signature", try signature(body, target.replacing("?a=b", with: "")))])
            #expect(wrong.contains("note bad diagnosis") && wrong.contains("differs") && wrong.contains("<mark>"))
            // Without a signature, the page shows the message to sign.
            let nothing = try await check([("target", target), ("date", date), ("body", body)])
            let message = RequestSignature.message(date: date, body: Array(body.utf8), target: target)
            #expect(
                nothing.contains("There is no signature to check without a key ID and a signature")
                    && nothing.replacing("&#61;", with: "=").contains(message.replacing("\"", with: "&quot;")))
            for fields in [[("curl", "wget x")], [("curl", "curl -d @file 'http://x/database'")], [("target", "")]] {
                #expect(try await check(fields).contains("role=\"alert\""), "\(fields)")
            }
        }
    }

    @Test func theTablesCountWhatTheyLeaveOut() async throws {
        try await KeyStage.run { stage in
            for number in 0..<101 { _ = try await stage.token(named: "Token \(number)") }
            let list = try await stage.page("keys")
            #expect(
                list.contains("The list shows 100 of 101") && list.contains("skylight token list")
                    && !list.contains("skylight key list"))
            // Valid credentials come first.
            _ = try await stage.accounts.revokeAPIToken(
                try #require(stage.accounts.apiTokens().first { $0.name == "Token 100" }).id)
            let later = try await stage.page("keys")
            #expect(later.contains("Token 0 ") && !later.contains("Token 100 "))
        }
    }

    @Test func aServerThatAsksForCredentialsSaysSo() async throws {
        try await KeyStage.run(.required) { stage in
            let session = stage.accounts.openConsoleSession()
            let page = try await stage.client.execute(
                uri: "\(KeyStage.there)/keys", method: .get, headers: [.cookie: "skylight-80=\(session.token)"]
            ) { $0 }
            #expect(String(buffer: page.body).contains("Every request needs credentials"))
            // A user of an app is not an administrator.
            #expect(try await stage.get("/sign-in?ticket=\(PercentEncoding.encoded(stage.ticket()))").status == .ok)
            let ending = try await stage.post("/sign-in", [("ticket", stage.ticket()), ("name", "Nora New")])
            #expect(ending.status == .ok && EditStage.text(ending).contains("data-token"))
        }
    }
}
