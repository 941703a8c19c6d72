import Accounts
import Crypto
import Foundation
import Hummingbird
import Records
import RequestLog
import Testing

@testable import WebServices

/// The administrator's services create, list and revoke credentials.
@Suite("Services of accounts")
struct AccountServiceTests {
    private static let container = "iCloud.com.example.Test"

    private static func send(
        _ server: TestServer, _ method: String, _ service: String, _ body: String = "", headers: [String] = []
    ) async throws -> RawResponse {
        let request =
            "\(method) /skylight/1/accounts/\(service) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n"
            + headers.map { $0 + "\r\n" }.joined() + "\r\n" + body
        return try #require(try await server.client.exchange(request).first)
    }

    private static func object(_ response: RawResponse) throws -> JSONObject {
        guard case .object(let object) = try response.json() else { throw CocoaError(.coderReadCorrupt) }
        return object
    }

    private static func object(_ name: Name, in object: JSONObject) throws -> JSONObject {
        guard case .object(let member)? = object[name] else { throw CocoaError(.coderReadCorrupt) }
        return member
    }

    private static func text(_ name: Name, in object: JSONObject) throws -> String {
        guard case .string(let text)? = object[name] else { throw CocoaError(.coderReadCorrupt) }
        return text
    }

    @Test("An API token is made, listed without its secret, used and revoked")
    func tokens() async throws {
        try await TestServer.run { server in
            let body =
                #"{"container":"\#(Self.container)","environment":"production","name":"Web","allowedOrigins":["http://localhost:3000"],"callback":"http://localhost:3000/in"}"#
            let response = try await Self.send(server, "POST", "tokens/make", body)
            #expect(response.status == 200 && response.headers["cache-control"] == "no-store")
            let made = try Self.object(response)
            let (token, secret) = (try Self.object("token", in: made), try Self.text("secret", in: made))
            let id = try Self.text("id", in: token)
            #expect(secret.utf8.count == 64 && server.accounts.apiToken(secret: secret)?.id == id)
            #expect(
                Subset.differences(
                    [
                        "environment": "production", "callback": "http://localhost:3000/in",
                        "allowedOrigins": ["http://localhost:3000"],
                    ], .object(token)) == [])
            let list = try await Self.send(server, "GET", "tokens")
            #expect(list.status == 200 && list.text.contains(id) && !list.text.contains(secret))
            #expect(
                Subset.differences(
                    ["token": ["id": .string(id), "revoked": "<any>"]],
                    try await Self.send(server, "POST", "tokens/revoke", #"{"id":"\#(id)"}"#).json()) == [])
            #expect(server.accounts.apiToken(secret: secret)?.isLive == false)
            #expect(server.log.latest(10, before: nil, where: { _ in true }).isEmpty)
        }
    }

    @Test("A key is registered, and what is no key is refused in words")
    func keys() async throws {
        try await TestServer.run { server in
            let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
            let body = JSONWriter.bytes(of: [
                "container": .string(Self.container), "publicKey": .string(pem), "name": "Nightly",
            ])
            let key = try Self.object(
                "key",
                in: try Self.object(
                    try await Self.send(server, "POST", "keys/register", String(decoding: body, as: UTF8.self))))
            let keyID = try Self.text("keyID", in: key)
            #expect(server.accounts.serverKey(keyID)?.environment == .development)
            #expect(try await Self.send(server, "GET", "keys").text.contains(keyID))
            let wrong = try await Self.send(
                server, "POST", "keys/register",
                #"{"container":"\#(Self.container)","publicKey":"-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----"}"#
            )
            #expect(wrong.status == 400 && wrong.text.contains("private key"))
            #expect(try await Self.send(server, "POST", "keys/revoke", #"{"keyID":"\#(keyID)"}"#).status == 200)
            #expect(server.accounts.serverKey(keyID)?.isLive == false)
        }
    }

    @Test("A user is made and signed in without a page, and signed out")
    func sessions() async throws {
        try await TestServer.run { server in
            let user = try Self.object(
                "user",
                in: try Self.object(
                    try await Self.send(
                        server, "POST", "users/make", #"{"displayName":"Anna Ax","emailAddress":"anna@example.com"}"#)))
            #expect(try Self.text("handle", in: user) == "anna")
            #expect(
                try await Self.send(
                    server, "POST", "users/make", #"{"displayName":"Another","emailAddress":"anna@example.com"}"#
                ).status == 409)
            let made = try Self.object(
                try await Self.send(
                    server, "POST", "sessions/make",
                    #"{"container":"\#(Self.container)","user":"anna","keepSignedIn":true}"#))
            let (session, token) = (try Self.object("session", in: made), try Self.text("webAuthToken", in: made))
            let container = try #require(ContainerID(Self.container))
            func isValid() -> Bool {
                if case .valid = server.accounts.webAuth(
                    token, container: container, environment: .development, now: Date())
                {
                    true
                } else {
                    false
                }
            }
            #expect(isValid())
            #expect(
                try Self.text("userRecordName", in: session) == User.recordName(ofHandle: "anna").string
                    && session["keepsSignedIn"] == true)
            let id = try Self.text("id", in: session)
            let list = try await Self.send(server, "GET", "sessions")
            #expect(list.text.contains(id) && !list.text.contains(token))
            #expect(try await Self.send(server, "POST", "sessions/revoke", #"{"id":"\#(id)"}"#).status == 200)
            #expect(!isValid())
        }
    }

    @Test("A user is removed, by handle or by user record name, and signed out")
    func removal() async throws {
        try await TestServer.run { server in
            let container = try #require(ContainerID(Self.container))
            for (name, isByHandle) in [("anna", true), ("bert", false)] {
                let made = try Self.object(
                    try await Self.send(
                        server, "POST", "sessions/make", #"{"container":"\#(Self.container)","user":"\#(name)"}"#))
                let (token, recordName) = (
                    try Self.text("webAuthToken", in: made), User.recordName(ofHandle: name).string
                )
                let answer = try await Self.send(
                    server, "POST", "users/remove", #"{"user":"\#(isByHandle ? name : recordName)"}"#)
                #expect(answer.status == 200)
                let expected: JSONValue = [
                    "user": ["handle": .string(name), "userRecordName": .string(recordName), "maker": "server"],
                    "endedSessions": 1,
                ]
                #expect(Subset.differences(expected, try answer.json()) == [])
                #expect(
                    server.accounts.webAuth(token, container: container, environment: .development, now: Date())
                        == .unknown)
                let again = try await Self.send(server, "POST", "users/remove", #"{"user":"\#(recordName)"}"#)
                #expect(again.status == 404)
            }
            #expect(try await Self.send(server, "POST", "users/remove", #"{"user":"developer"}"#).status == 400)
            #expect(server.accounts.users().map(\.handle) == ["developer"])
        }
    }

    @Test("The administrator's password is set, and told by nobody")
    func administrator() async throws {
        try await TestServer.run { server in
            let before = try await Self.send(server, "GET", "administrator")
            #expect(try before.json() == ["hasPassword": false])
            // The password persists to the next start, so a local connection is not enough, even on an open server.
            let first = #"{"password":"long enough"}"#
            let stranger = try await Self.send(server, "POST", "administrator/password", first)
            #expect(
                stranger.status == 401 && stranger.text.contains("AUTHENTICATION_FAILED")
                    && stranger.text.contains("set-password"))
            #expect(!server.accounts.hasAdministratorPassword)
            let secret = ["Authorization: Bearer \(TestServer.instanceSecret)"]
            #expect(
                try await Self.send(server, "POST", "administrator/password", #"{"password":"short"}"#, headers: secret)
                    .status == 400)
            #expect(
                try await Self.send(server, "POST", "administrator/password", first, headers: secret).json() == [
                    "hasPassword": true
                ])
            #expect(try await server.accounts.checkAdministrator(password: "long enough", from: "test") == .accepted)
            for wrong in [
                #"{"password":"another one"}"#, #"{"password":"another one","presentPassword":"long  enough"}"#,
            ] {
                #expect(try await Self.send(server, "POST", "administrator/password", wrong).status == 401)
            }
            let right = #"{"password":"another one","presentPassword":"long enough"}"#
            #expect(try await Self.send(server, "POST", "administrator/password", right).status == 200)
            #expect(try await server.accounts.checkAdministrator(password: "another one", from: "test") == .accepted)
            #expect(server.log.latest(10, before: nil, where: { _ in true }).isEmpty)
        }
    }

    @Test(
        "What a service can't do is said, with the name of what is missing",
        arguments: [
            ("tokens/make", "{}", "'container'"), ("tokens/make", #"{"container":"x"}"#, "iCloud."),
            ("tokens/make", #"{"container":"iCloud.x","environment":"x"}"#, "development or production"),
            ("tokens/make", #"{"container":"iCloud.x","allowedOrigins":"x"}"#, "an array"),
            ("tokens/make", #"{"container":"iCloud.x","callback":"javascript:1"}"#, "callback"),
            ("tokens/make", #"{"container":"iCloud.x","allowedOrigins":["x"]}"#, "is not an origin"),
            ("tokens/revoke", "{}", "'id'"), ("keys/register", #"{"container":"iCloud.x"}"#, "'publicKey'"),
            ("keys/register", #"{"container":"iCloud.x","publicKey":7}"#, "a string"), ("keys/revoke", "{}", "'keyID'"),
            ("sessions/make", #"{"container":"iCloud.x"}"#, "'user'"),
            ("connections/make", "{}", "'container'"), ("connections/make", #"{"container":"iCloud.x"}"#, "'apiToken'"),
            ("connections/make", #"{"container":"iCloud.x","apiToken":"0"}"#, "'webAuthToken'"),
            ("connections/make", #"{"container":"iCloud.x","keyID":"0"}"#, "'privateKey'"),
            ("connections/remove", "{}", "'container'"),
            ("sessions/make", #"{"container":"iCloud.x","user":"a","apiTokenID":"none"}"#, "was revoked"),
            ("sessions/revoke", "{}", "'id'"), ("users/make", "{}", "'displayName'"), ("users/remove", "{}", "'user'"),
            ("users/remove", #"{"user":7}"#, "a string"),
            ("users/make", #"{"displayName":"A","emailAddress":"x"}"#, "e-mail"),
            ("administrator/password", "{}", "'password'"), ("administrator/password", "[]", "object"),
        ])
    func refused(service: String, body: String, says: String) async throws {
        try await TestServer.run { server in
            let response = try await Self.send(server, "POST", service, body)
            #expect(response.status == 400, "\(response.text)")
            #expect(
                response.text.contains(says) || says == "callback" && response.text.contains("can't be opened"),
                "\(response.text)")
            #expect(Subset.differences(["serverErrorCode": "BAD_REQUEST", "uuid": "<any>"], try response.json()) == [])
        }
    }

    @Test("Unknown services return NOT_FOUND, and each service has one method")
    func methods() async throws {
        try await TestServer.run { server in
            for (service, body) in [
                ("tokens/revoke", #"{"id":"00000000"}"#), ("keys/revoke", #"{"keyID":"0"}"#),
                ("sessions/revoke", #"{"id":"0"}"#), ("users/remove", #"{"user":"nobody"}"#),
            ] {
                #expect(try await Self.send(server, "POST", service, body).status == 404)
            }
            let nothing = try await Self.send(server, "GET", "nothing")
            #expect(nothing.status == 404)
            for (name, service) in AccountServices.all {
                let name = String(name.dropFirst("accounts/".count))
                for method in ["GET", "POST", "PUT", "DELETE"] where method != service.method.rawValue {
                    #expect(try await Self.send(server, method, name, "{}").status == 405, "\(method) \(name)")
                }
                for header in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
                    #expect(
                        try await Self.send(server, service.method.rawValue, name, "{}", headers: [header]).status
                            == 403, "\(name)")
                }
            }
            #expect(
                server.accounts.apiTokens().isEmpty && server.accounts.serverKeys().isEmpty
                    && !server.accounts.hasAdministratorPassword)
        }
    }
}
