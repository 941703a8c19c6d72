import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import NIOCore
import Records
import Testing

@testable import Accounts

/// The proofs of administrator access.
@Suite struct AccessControlTests {
    private static let password = "correct horse battery"

    private func access() async throws -> AccessControl {
        let accounts = try Accounts(file: nil)
        // A cheap hash keeps the tests fast.
        try await accounts.setAdministratorPassword(
            Self.password, cost: PasswordHashing.Cost(rounds: 16, blockSize: 8, parallelism: 1))
        return AccessControl(.required, accounts: accounts, instanceSecret: "of this run")
    }

    private func request(
        _ fields: [(String, String)], _ method: HTTPRequest.Method = .get, host: String = "localhost:8080",
        scheme: String = "http"
    ) throws -> Request {
        var headers = HTTPFields()
        for (name, value) in fields {
            headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return Request(
            head: HTTPRequest(method: method, scheme: scheme, authority: host, path: "/metrics", headerFields: headers),
            body: RequestBody(buffer: ByteBuffer()))
    }

    private static func basic(_ text: String) -> (String, String) {
        ("Authorization", "Basic " + Data(text.utf8).base64EncodedString())
    }

    @Test func theSecretOfTheFolder() async throws {
        let access = try await access()
        for (value, isRight) in [
            ("Bearer of this run", true), ("BEARER of this run", true), ("Bearer of this ruN", false),
            ("Bearer", false), ("Bearer ", false), ("of this run", false),
        ] {
            let administrator = try await access.administrator(of: request([("Authorization", value)]), peer: "")
            #expect((administrator != nil) == isRight, "\(value)")
        }
        let without = AccessControl(.required, accounts: access.accounts)
        #expect(try await without.administrator(of: request([("Authorization", "Bearer ")]), peer: "") == nil)
    }

    @Test func thePassword() async throws {
        let access = try await access()
        #expect(try await access.administrator(of: request([Self.basic("admin:\(Self.password)")]), peer: "") != nil)
        for text in ["admin:", "admin", "root:\(Self.password)", ":\(Self.password)", "admin:\(Self.password) "] {
            #expect(try await access.administrator(of: request([Self.basic(text)]), peer: "b\(text)") == nil, "\(text)")
        }
        // A password may contain colons.
        try await access.accounts.setAdministratorPassword("with:a:colon")
        #expect(try await access.administrator(of: request([Self.basic("admin:with:a:colon")], .post), peer: "") != nil)
    }

    @Test func triesAreCountedByWhereTheyComeFrom() async throws {
        let access = try await access()
        // In parallel, because sequential attempts would wait their turn.
        let refused = try await withThrowingTaskGroup(of: RecordError?.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    do {
                        _ = try await access.administrator(of: request([Self.basic("admin:wrong")]), peer: "192.0.2.1")
                        return nil
                    } catch let error as RecordError {
                        return error
                    }
                }
            }
            defer { group.cancelAll() }
            return try await group.first { $0 != nil } ?? nil
        }
        #expect(refused?.code == .throttled)
        #expect(refused?.retryAfter.map { $0 > 0 } == true)
        #expect(
            try await access.administrator(of: request([Self.basic("admin:\(Self.password)")]), peer: "192.0.2.2")
                != nil)
    }

    /// Pages on other ports of a machine belong to the same site, so browsers send the cookie with their requests.
    @Test(
        arguments: [
            ([], true), ([("Sec-Fetch-Site", "same-origin")], true), ([("Sec-Fetch-Site", "none")], true),
            ([("Sec-Fetch-Site", "same-site")], false),
            ([("Sec-Fetch-Site", "cross-site")], false), ([("Origin", "http://localhost:8080")], true),
            ([("Origin", "http://localhost:3000")], false),
            ([("Origin", "https://localhost:8080")], false), ([("Origin", "null")], false),
            // Without other headers.
            ([("Referer", "http://localhost:8080/c/x?y#z")], true), ([("Referer", "http://localhost:8080")], true),
            ([("Referer", "http://localhost:3000/")], false),
            ([("Referer", "http://evil.example/http://localhost:8080/")], false),
            ([("Referer", "about:client")], false),
            ([("Sec-Fetch-Site", "none"), ("Referer", "http://evil.example/")], true),
        ] as [([(String, String)], Bool)])
    func onlyOwnPagesUseTheSession(fields: [(String, String)], isOwn: Bool) async throws {
        let access = try await access()
        let session = access.accounts.openConsoleSession()
        let cookie = ("Cookie", String(access.cookie(session, for: try request([])).prefix { $0 != ";" }))
        #expect((try await access.administrator(of: request([cookie] + fields), peer: "") != nil) == isOwn)
        let changing = [cookie, (AccessControl.forgeryHeader, session.csrf)] + fields
        #expect((try await access.administrator(of: request(changing, .post), peer: "") != nil) == isOwn)
        #expect(
            (try await access.administrator(of: request([Self.basic("admin:\(Self.password)")] + fields), peer: "")
                != nil) == isOwn)
    }

    @Test func changesNeedTheSecretOfTheSession() async throws {
        let access = try await access()
        let (session, other) = (access.accounts.openConsoleSession(), access.accounts.openConsoleSession())
        let cookie = ("Cookie", "skylight-8080=\(session.token)")
        for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
            #expect(try await access.administrator(of: request([cookie], method), peer: "") == nil)
            #expect(
                try await access.administrator(
                    of: request([cookie, (AccessControl.forgeryHeader, other.csrf)], method), peer: "") == nil)
            #expect(
                try await access.administrator(
                    of: request([cookie, (AccessControl.forgeryHeader, session.csrf)], method), peer: "") != nil)
        }
        access.accounts.endConsoleSession(token: session.token)
        #expect(try await access.administrator(of: request([cookie]), peer: "") == nil)
    }

    @Test func theCookieHasTheNameOfItsPort() async throws {
        let access = try await access()
        let session = access.accounts.openConsoleSession()
        for (host, scheme, name) in [
            ("localhost:8080", "http", "skylight-8080"), ("localhost", "http", "skylight-80"),
            ("[::1]:8081", "http", "skylight-8081"), ("[::1]", "http", "skylight-80"),
            ("box.local", "https", "__Host-skylight-443"), ("box.local:8443", "https", "__Host-skylight-8443"),
        ] {
            let request = try request([], host: host, scheme: scheme)
            let cookie = access.cookie(session, for: request)
            #expect(
                cookie
                    == "\(name)=\(session.token); Path=/; HttpOnly; SameSite=Strict\(scheme == "https" ? "; Secure" : "")"
            )
            #expect(access.endedCookie(for: request).hasPrefix("\(name)=; Path=/; HttpOnly; SameSite=Strict"))
            #expect(request.ownOrigin == "\(scheme)://\(host)")
        }
    }
}
