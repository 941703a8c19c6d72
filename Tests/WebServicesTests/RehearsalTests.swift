import Accounts
import Foundation
import HTTPServing
import RecordStore
import Records
import Testing

/// The rehearsals whose faults outlast a request, as clients meet them: a sign-in that is over, and the address of a
/// file that is gone.
@Suite("Rehearsals")
struct RehearsalTests {
    private static let lookup = "/database/1/\(CredentialStage.container)/development/private/records/lookup"
    private static let records = #"{"records":[{"recordName":"a"}]}"#

    private static func rehearse(_ client: AssetClient, _ body: JSONValue) async throws {
        let answer = try await client.post("/skylight/1/rehearsals", body)
        #expect(answer.status == 200, "\(answer.text)")
    }

    // MARK: Sign-ins

    @Test("A sign-in that expires ends with all its tokens; the answer leads to a new one")
    func signInExpires() async throws {
        try await TestServer.run(requiring: .required) { server in
            let container = try #require(ContainerID(CredentialStage.container))
            let user = try await server.accounts.makeUser(displayName: "Ben", emailAddress: nil)
            let made = try await server.accounts.makeAPIToken(
                named: "app", container: container, environment: .development, allowedOrigins: [], callback: nil)
            let request = SignInRequest(container: container, environment: .development, apiTokenID: made.token.id)
            func signIn() async throws -> String {
                try await server.accounts.signIn(user.userRecordName, with: request, keepSignedIn: false, now: Date())
                    .token
            }
            func ask(_ token: String, _ headers: [String] = []) async throws -> RawResponse {
                let target = "\(Self.lookup)?ckAPIToken=\(made.secret)&ckWebAuthToken=\(PercentEncoding.encoded(token))"
                let sent = NotedClient.head("POST", target, headers, length: Self.records.utf8.count) + Self.records
                return try #require(try await server.client.exchange(sent).first)
            }
            let (first, second) = (try await signIn(), try await signIn())
            let before = try await ask(first)
            let newer = try #require(before.headers["x-apple-cloudkit-web-auth-token"])
            let refused = try await ask(newer, ["X-Skylight-Rehearse: sign-in-expired"])
            #expect(refused.status == 421 && refused.headers["x-skylight-rehearsal"] == "sign-in-expired")
            #expect(refused.headers["x-apple-cloudkit-web-auth-token"] == nil)
            let expected: JSONValue = [
                "serverErrorCode": "AUTHENTICATION_REQUIRED", "reason": "request needs authorization",
                "redirectURL": "<has /sign-in?ticket=>",
            ]
            #expect(Subset.differences(expected, try refused.json()) == [])
            // To repeat the request does not help, with either token. Other sign-ins of the user go on, and a new one
            // works.
            for token in [first, newer] { #expect(try await ask(token).status == 421) }
            for token in [second, try await signIn()] { #expect(try await ask(token).status == 200) }
        }
    }

    @Test("Without credentials as many requests of a user fail as were asked for; the public database can be read")
    func signInExpiresOnAnOpenServer() async throws {
        try await TestServer.run { server in
            var client = AssetClient(server: server)
            try await Self.rehearse(client, ["start": "sign-in-expired", "count": 2])
            client.database = "public"
            #expect(try await client.post("records/lookup", ["records": [["recordName": "a"]]]).status == 200)
            #expect(try await client.post("records/modify", ["operations": []]).status == 421)
            client.database = "private"
            for status in [421, 200] {
                #expect(try await client.post("records/lookup", ["records": [["recordName": "a"]]]).status == status)
            }
        }
    }

    @Test("A server-to-server key does not expire")
    func keysDoNotExpire() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let target = "/database/1/\(CredentialStage.container)/development/public/records/lookup"
            let headers =
                try stage.signer.headers(target, body: Self.records) + ["X-Skylight-Rehearse: sign-in-expired"]
            let sent = NotedClient.head("POST", target, headers, length: Self.records.utf8.count) + Self.records
            let answer = try #require(try await server.client.exchange(sent).first)
            #expect(answer.status == 200 && answer.headers["x-skylight-rehearsal"] == nil, "\(answer.text)")
        }
    }

    // MARK: Files

    @Test(
        "The address of a file that is gone stays gone, and the record has another one",
        arguments: [[], ["X-Skylight-Rehearse: asset-gone"]])
    func fileGone(headers: [String]) async throws {
        try await AssetClient.run { client in
            let bytes = Array("content".utf8)
            let path = try await client.store(bytes, named: "a.txt")
            if headers.isEmpty {
                try await Self.rehearse(
                    client, ["start": "asset-gone", "container": .string(CredentialStage.container)])
            }
            let gone = try await client.send("GET", path, headers)
            #expect(gone.status == 410 && gone.headers["x-skylight-rehearsal"] == "asset-gone")
            let expected: JSONValue = ["serverErrorCode": "BAD_REQUEST", "reason": "<has Fetch the record again>"]
            #expect(Subset.differences(expected, try gone.json()) == [])
            #expect(try await client.send("GET", path).status == 410)
            func address() async throws -> String {
                let answer = try await client.post("records/lookup", ["records": [["recordName": "r"]]])
                return try client.downloadPath(try #require(Subset.value(at: "records[0]", in: try answer.json())))
            }
            let fresh = try await address()
            #expect(fresh != path)
            #expect(try await client.send("GET", fresh).body == bytes)
            // It stays the same, so that browsers can cache the file.
            #expect(try await address() == fresh)
        }
    }

    @Test("Pages of the console get the file")
    func consoleGetsTheFile() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Array("content".utf8), named: "a.txt")
            try await Self.rehearse(client, ["start": "asset-gone"])
            #expect(try await client.send("GET", path, ["Sec-Fetch-Site: same-origin"]).status == 200)
            #expect(try await client.send("GET", path).status == 410)
        }
    }
}
