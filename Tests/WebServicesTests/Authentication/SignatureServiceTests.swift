import Accounts
import Foundation
import HTTPServing
import Records
import RequestLog
import Testing

@testable import WebServices

/// Signed requests over HTTP: the parts that the signature covers, and the log of wrong ones. AccountsTests test the
/// signatures themselves.
@Suite("Signed requests")
struct SignatureServiceTests {
    private static let root = "/database/1/\(CredentialStage.container)/development/public"
    private static let body = #"{"records":[{"recordName":"a"}]}"#

    private static func send(
        _ server: TestServer, _ method: String, _ target: String, _ headers: [String], _ body: [UInt8] = []
    ) async throws -> RawResponse {
        let request = Array(NotedClient.head(method, target, headers, length: body.count).utf8) + body
        return try #require(try await server.client.exchange(request).first)
    }

    @Test("A signature is of the target as it is sent", arguments: AccessControl.Mode.allCases)
    func targets(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await CredentialStage(server)
            let lookup = "\(Self.root)/records/lookup"
            for target in [
                lookup, lookup + "?ckjsBuildVersion=2420&clientId=ab-c", lookup + "?remapEnums=True&b=%2B+%20&a=",
                lookup.replacing("iCloud", with: "%69Cloud"),
                lookup + "?", lookup + "/",
            ] {
                let response = try await Self.send(
                    server, "POST", target, stage.signer.headers(target, body: Self.body), Array(Self.body.utf8))
                #expect(response.status == 200, "\(target): \(response.text)")
                // Any difference is refused.
                for other in [target + "&x", target.replacing("development", with: "developmen%74")]
                where other != target {
                    let refused = try await Self.send(
                        server, "POST", other, stage.signer.headers(target, body: Self.body), Array(Self.body.utf8))
                    #expect(refused.status == 401 || refused.status == 404, "\(other): \(refused.status)")
                }
            }
            let caller = "\(Self.root)/users/caller?clientId=x"
            let answer = try await Self.send(server, "GET", caller, stage.signer.headers(caller))
            #expect(
                Subset.value(at: "users[0].userRecordName", in: try answer.json())
                    == .string(stage.key.userRecordName.string))
        }
    }

    @Test("A signature is of the body as it is sent, in its coding")
    func codings() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/records/lookup"
            let packed = try Tool.gzip(Array(Self.body.utf8))
            let signed = try stage.signer.headers(target, bytes: packed)
            #expect(
                try await Self.send(server, "POST", target, signed + ["Content-Encoding: gzip"], packed).status == 200)
            let unpacked = try stage.signer.headers(target, body: Self.body)
            #expect(
                try await Self.send(server, "POST", target, unpacked + ["Content-Encoding: gzip"], packed).status == 401
            )
        }
    }

    @Test(
        "A body changed by one byte is refused, and the log says that the body hash differs",
        arguments: AccessControl.Mode.allCases)
    func changedBody(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/records/lookup?clientId=x"
            let headers = try stage.signer.headers(target, body: Self.body)
            #expect(try await Self.send(server, "POST", target, headers, Array(Self.body.utf8)).status == 200)
            let changed = Array(Self.body.replacing("\"a\"", with: "\"b\"").utf8)
            let refused = try await Self.send(server, "POST", target, headers, changed)
            #expect(refused.status == 401)
            #expect(
                Subset.differences(
                    ["serverErrorCode": "AUTHENTICATION_FAILED", "reason": "no auth method found"], try refused.json())
                    == [])
            let id = try #require(refused.headers["x-skylight-request"])
            let noted = try #require(server.log.request(id))
            let problem = try #require(noted.authentication?.problem)
            #expect(
                problem.kind == "body" && problem.isCertain && problem.sentence.lowercased().contains("body"),
                "\(problem)")
            let parts = Dictionary(problem.parts.map { ($0.name, $0.state) }, uniquingKeysWith: { first, _ in first })
            #expect(
                parts["body hash"] == .differs && parts["date"] == .matches && parts["target"] == .matches,
                "\(problem.parts)")
            #expect(noted.authentication?.credential == stage.key.keyID && noted.bytesIn == changed.count)
            // The traffic service returns the log entry too.
            let bearer = "Authorization: Bearer \(TestServer.instanceSecret)"
            let told = try await Self.send(server, "GET", "/skylight/1/requests/\(id)", [bearer]).json()
            #expect(Subset.value(at: "authentication.way", in: told) == "serverKey")
            #expect(Subset.value(at: "authentication.problem.problem", in: told) == "body")
            #expect(Subset.value(at: "authentication.problem.certain", in: told) == true)
        }
    }

    @Test("The body of a key that nobody registered, or that can't be right, is not waited for")
    func unreadBodies() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/records/lookup"
            var unknown = stage.signer
            unknown.keyID = String(repeating: "a", count: 64)
            let sent = try [CredentialStage.Brought.revokedKey, .keyElsewhere, .halfASignature].map {
                ("\($0)", try stage.sent($0, target, body: Self.body).headers)
            }
            for (what, headers) in try sent + [("unknown", unknown.headers(target, body: Self.body))] {
                let head = NotedClient.head("POST", target, headers, length: 30 << 20)
                let text = try await server.client.beginning(of: head, until: "no auth method found")
                #expect(text.hasPrefix("HTTP/1.1 401"), "\(what)")
            }
        }
    }

    @Test("A rehearsed failure still checks the signature, and unauthenticated requests do not use it up")
    func faults() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let bearer = "Authorization: Bearer \(TestServer.instanceSecret)"
            func start(_ body: String) async throws {
                let started = try await Self.send(server, "POST", "/skylight/1/rehearsals", [bearer], Array(body.utf8))
                #expect(started.status == 200, "\(started.text)")
            }
            // A fault in another zone, so that bodies are parsed for their zones.
            try await start(
                #"{"start":"throttled","container":"\#(CredentialStage.container)","environment":"development","zone":"Elsewhere"}"#
            )
            let target = "\(Self.root)/records/lookup"
            let packed = try Tool.gzip(Array(Self.body.utf8))
            let signed = try stage.signer.headers(target, bytes: packed)
            #expect(
                try await Self.send(server, "POST", target, signed + ["Content-Encoding: gzip"], packed).status == 200)
            try await start(#"{"start":"try-again-later=1"}"#)
            let head = NotedClient.head("POST", target, [], length: 30 << 20)
            #expect(
                try await server.client.beginning(of: head, until: "no auth method found").hasPrefix("HTTP/1.1 401"))
            let again = try stage.signer.headers(target, body: Self.body)
            let failed = try await Self.send(server, "POST", target, again, Array(Self.body.utf8))
            #expect(
                failed.status == 503 && failed.headers["x-skylight-rehearsal"] == "try-again-later", "\(failed.text)")
            let noted = try #require(failed.headers["x-skylight-request"].flatMap { server.log.request($0) })
            #expect(noted.userRecordName == stage.key.userRecordName && noted.authentication?.way == .serverKey)
        }
    }

    @Test("Tokens of an earlier request are not shown by the diagnosis of a later one")
    func hiddenTokensOfBefore() async throws {
        try await TestServer.run { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/records/lookup"
            let full = "\(target)?clientId=x&ckAPIToken=s3cretA&CKWEBAUTHTOKEN=s3cretB&ckAPIToken=s3cretC"
            let headers = try stage.signer.headers(full, body: Self.body)
            #expect(try await Self.send(server, "POST", full, headers, Array(Self.body.utf8)).status == 200)
            for other in [target, full + "&x=1", full.replacing("clientId", with: "clientID")] {
                let refused = try await Self.send(server, "POST", other, headers, Array(Self.body.utf8))
                let id = try #require(refused.headers["x-skylight-request"])
                let told = try await Self.send(server, "GET", "/skylight/1/requests/\(id)?bodies=1", []).text
                #expect(refused.status == 401 && told.contains("serverKey") && !told.contains("s3cret"), "\(told)")
            }
        }
    }

    @Test(
        "A text is shown without the tokens in it",
        arguments: [
            ("", ""), ("a=b", "a=b"), ("/x?ckAPIToken=S", "/x?ckAPIToken=hidden"),
            ("d:h=:/x?a=1&CKSESSION=S+/=&b=2", "d:h=:/x?a=1&CKSESSION=hidden&b=2"),
            (
                "the target '/x?ckWebAuthToken=S' and ckAPIToken=S",
                "the target '/x?ckWebAuthToken=hidden' and ckAPIToken=hidden"
            ),
            ("/x?ck%41PIToken=S&", "/x?ck%41PIToken=hidden&"),
            ("/x?ckAPIToken=S&ckAPIToken=T é", "/x?ckAPIToken=hidden&ckAPIToken=hidden é"),
        ])
    func hiding(text: String, shown: String) {
        #expect(LoggedTarget.hidingSecrets(in: text) == shown)
    }

    @Test("Tokens for elsewhere are not shown by a diagnosis")
    func hiddenTokens() async throws {
        try await TestServer.run { server in
            let stage = try await CredentialStage(server)
            let secret = "s3cret+/=" + String(repeating: "0", count: 40)
            let target =
                "\(Self.root)/records/lookup?ckAPIToken=\(PercentEncoding.encoded(secret))&ckWebAuthToken=\(secret)"
            let headers = try stage.signer.headers(target + "x", body: Self.body)
            let refused = try await Self.send(server, "POST", target, headers, Array(Self.body.utf8))
            #expect(refused.status == 401, "\(refused.text)")
            let id = try #require(refused.headers["x-skylight-request"])
            let told = try await Self.send(server, "GET", "/skylight/1/requests/\(id)?bodies=1", []).text
            #expect(told.contains("serverKey") && !told.contains("s3cret"), "\(told)")
        }
    }
}
