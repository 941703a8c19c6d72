import Accounts
import Crypto
import Foundation
import HTTPServing
import Records
import Testing

@testable import WebServices

/// All answers below the protocol's paths, with any method, are JSON in its format, because clients only read that.
@Suite("Answers in the protocol's words")
struct ProtocolAnswerTests {
    private static let root = "/database/1/\(CredentialStage.container)/development/"
    private static let device = "/device/1/\(CredentialStage.container)/development/"

    private static let paths: [String] =
        [
            "records/query", "records/resolve", "records/accept", "zones/list", "subscriptions/list",
            "subscriptions/lookup", "subscriptions/modify",
            "users/caller", "users/discover", "users/lookup/email", "tokens/create", "nothing/here", "records", "",
        ].flatMap { [root + "public/" + $0, root + "private/" + $0] }
        + ["tokens/create", "tokens/register", "tokens/none", "tokens", ""].map { device + $0 }
        + [
            "/database", "/database/", "/database/1", "/database/2/x", "/device", "/device/", "/device/1/x",
            "/database/1/%FF/development/public/zones/list",
        ]

    private static func send(_ server: TestServer, _ method: String, _ target: String, _ headers: [String] = [])
        async throws -> RawResponse
    {
        try #require(
            try await server.client.exchange(NotedClient.head(method, target, headers, length: 0)).first,
            "\(method) \(target)")
    }

    @Test("Every method at every path", arguments: AccessControl.Mode.allCases)
    func everything(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            for target in Self.paths {
                for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "REPORT", "M-SEARCH"] {
                    let response = try await Self.send(server, method, target)
                    let what = "\(method) \(target): \(response.status) \(response.text.prefix(300))"
                    #expect(response.status != 500, "\(what)")
                    #expect(response.headers["content-type"] == "application/json; charset=UTF-8", "\(what)")
                    guard response.status != 200 else { continue }
                    let error: JSONValue = ["uuid": "<any>", "serverErrorCode": "<any>", "reason": "<any>"]
                    #expect(Subset.differences(error, try response.json()) == [], "\(what)")
                }
            }
        }
    }

    @Test("A server-to-server key is nobody: it has no name, and nobody finds it")
    func serverKeys() async throws {
        try await TestServer.run { server in
            let key = try await server.accounts.registerServerKey(
                pem: P256.Signing.PrivateKey().publicKey.pemRepresentation, named: "Nightly",
                container: try #require(ContainerID("iCloud.com.example.Test")),
                environment: .development)
            let name = key.userRecordName.string
            let handle = try #require(server.accounts.user(recordName: key.userRecordName)).handle
            let caller = try await Self.send(
                server, "GET", Self.root + "public/users/caller", ["X-Skylight-User: \(handle)"])
            let identity: JSONValue = ["userRecordName": .string(name), "nameComponents": "<absent>"]
            #expect(Subset.differences(identity, try caller.json()) == [])
            let client = NotedClient(server: server)
            let lookups = [
                ("discover", #"{"lookupInfos":[{"userRecordName":"\#(name)"}]}"#),
                ("lookup/id", #"{"users":[{"userRecordName":"\#(name)"}]}"#),
            ]
            for (action, body) in lookups {
                let answer = try await client.post("\(Self.root)public/users/\(action)", body).json()
                #expect(Subset.differences(["users": [["serverErrorCode": "NOT_FOUND"]]], answer) == [], "\(action)")
            }
        }
    }

    @Test("Users are found by e-mail addresses, whatever the case of the letters")
    func emailAddresses() async throws {
        try await TestServer.run { server in
            let anna = try await server.accounts.makeUser(
                displayName: "Anna Maria Arendt", emailAddress: "Anna@Example.com")
            func answer(_ action: String, _ body: String) async throws -> JSONValue {
                let client = NotedClient(server: server)
                return try await client.post("\(Self.root)public/users/\(action)", body).json()
            }
            let name = JSONValue.string(anna.userRecordName.string)
            let found = try await answer("discover", #"{"lookupInfos":[{"emailAddress":"anna@example.COM"}]}"#)
            let identity: JSONValue = [
                "userRecordName": name, "nameComponents": ["givenName": "Anna Maria", "familyName": "Arendt"],
                "lookupInfo": ["userRecordName": name, "emailAddress": "Anna@Example.com"],
            ]
            #expect(Subset.differences(["users": [identity]], found) == [])
            let older = try await answer(
                "lookup/email", #"{"users":[{"emailAddress":"anna@example.com"},{"emailAddress":"ben@example.com"}]}"#)
            let plain: JSONValue = [
                "userRecordName": name, "firstName": "Anna Maria", "lastName": "Arendt",
                "emailAddress": "Anna@Example.com",
            ]
            let missing: JSONValue = [
                "emailAddress": "ben@example.com", "serverErrorCode": "NOT_FOUND", "reason": "User not found",
            ]
            #expect(Subset.differences(["users": [plain, missing]], older) == [])
            let caller = try await Self.send(
                server, "GET", Self.root + "public/users/current", ["X-Skylight-User: \(anna.handle)"])
            #expect(Subset.differences(plain, try caller.json()) == [])
        }
    }
}
