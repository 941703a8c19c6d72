import Accounts
import Foundation
import HTTPServing
import Records
import RequestLog
import TestSupport
import Testing

@testable import WebServices

/// Web auth tokens as clients send them, and their rotation.
@Suite("Web auth tokens")
struct WebAuthTests {
    private static let caller = "/database/1/\(CredentialStage.container)/development/public/users/caller"
    private static let lookup = "/database/1/\(CredentialStage.container)/development/private/records/lookup"

    private static func signIn(_ server: TestServer, keep: Bool = false, at now: Date) async throws -> (
        session: WebAuthSession, token: String
    ) {
        let container = try #require(ContainerID(CredentialStage.container))
        let user = try await server.accounts.makeUser(displayName: "Ben", emailAddress: nil)
        let request = SignInRequest(container: container, environment: .development)
        return try await server.accounts.signIn(user.userRecordName, with: request, keepSignedIn: keep, now: now)
    }

    private static func send(
        _ server: TestServer, _ target: String, _ headers: [String] = [], body: String = "", method: String = "GET"
    ) async throws -> RawResponse {
        let request = NotedClient.head(method, target, headers, length: body.utf8.count) + body
        return try #require(try await server.client.exchange(request).first)
    }

    private static func ask(_ server: TestServer, _ token: String) async throws -> RawResponse {
        try await send(server, "\(caller)?ckWebAuthToken=\(PercentEncoding.encoded(token))")
    }

    private static func next(_ response: RawResponse) throws -> String {
        try #require(response.headers["x-apple-cloudkit-web-auth-token"])
    }

    @Test("A token of a session under an API token, beside one of another server, is refused with words that say so")
    func besideUnknownToken() async throws {
        try await TestServer.run { server in
            let stage = try await CredentialStage(server)
            for (apiToken, words) in [
                ("", "the request has no ckAPIToken"),
                ("&ckAPIToken=\(String(repeating: "0", count: 64))", "ckAPIToken is not one"),
            ] {
                let answer = try await Self.send(
                    server,
                    "\(Self.caller)?ckWebAuthToken=\(PercentEncoding.encoded(stage.underToken.token))\(apiToken)")
                let noted = try #require(answer.headers["x-skylight-request"].flatMap { server.log.request($0) })
                let problem = try #require(noted.authentication?.problem)
                #expect(
                    answer.status == 401 && problem.kind == "missingToken" && problem.sentence.contains(words),
                    "\(problem)")
            }
        }
    }

    @Test("A client that says ckSession is given the next token under its older name, too")
    func olderName() async throws {
        try await TestServer.run(requiring: .required) { server in
            let (_, token) = try await Self.signIn(server, at: Date())
            var next = token
            for _ in 0..<3 {
                let answer = try await Self.send(server, Self.caller, ["X-Apple-CloudKit-Session: \(next)"])
                #expect(answer.status == 200)
                next = try #require(answer.headers["x-apple-cloudkit-session"])
                #expect(next == answer.headers["x-apple-cloudkit-web-auth-token"])
            }
            #expect(try await Self.ask(server, token).headers["x-apple-cloudkit-session"] == nil)
        }
    }

    @Test("A token is taken however clients encode it")
    func encodings() async throws {
        try await TestServer.run(requiring: .required) { server in
            let (session, _) = try await Self.signIn(server, at: Date())
            // A token with all three characters that have a special meaning in queries.
            let tokens = (0..<2000).lazy.map {
                server.accounts.nextToken(of: session, now: Date(timeIntervalSinceNow: -Double($0)))
            }
            let token = try #require(tokens.first { $0.contains("+") && $0.contains("/") && $0.contains("=") })
            let fully = PercentEncoding.encoded(token)
            #expect(fully.contains("%2B") && fully.contains("%2F") && fully.contains("%3D"))
            for sent in [
                fully, token, fully.lowercasedEscapes, token.replacing("+", with: "%2B"),
                token.replacing("=", with: "%3D"),
            ] {
                for name in ["ckWebAuthToken", "ckSession", "ck%57ebAuthToken"] {
                    #expect(
                        try await Self.send(server, "\(Self.caller)?clientId=x&\(name)=\(sent)&remapEnums=True").status
                            == 200, "\(name)=\(sent)")
                }
            }
            #expect(
                try await Self.send(server, Self.caller, ["X-Apple-CloudKit-Web-Auth-Token: \(token)"]).status == 200)
            // A plus sign that became a space invalidates the token, and so does another parameter name.
            #expect(
                try await Self.send(server, "\(Self.caller)?ckWebAuthToken=\(fully.replacing("%2B", with: "%20"))")
                    .status == 421)
            #expect(try await Self.send(server, "\(Self.caller)?ckwebauthtoken=\(fully)").status == 421)
            #expect(
                try await Self.send(
                    server, "\(Self.caller)?ckWebAuthToken=\(PercentEncoding.encoded(String(token.dropLast(8))))"
                ).status == 421)
            // An empty parameter counts as absent.
            #expect(try await Self.send(server, "\(Self.caller)?ckWebAuthToken=&ckSession=\(fully)").status == 200)
        }
    }

    @Test("Every answer after a good token has the next, whether the request succeeds or not")
    func everyAnswer() async throws {
        try await TestServer.run(requiring: .required) { server in
            var (_, token) = try await Self.signIn(server, at: Date())
            let root = "/database/1/\(CredentialStage.container)/development"
            let requests: [(String, String, String, Int)] = [
                ("POST", "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200),
                ("POST", "private/records/query", #"{"query":{"recordType":"Nothing"}}"#, 404),
                ("POST", "private/records/modify", "{", 400),
                ("POST", "private/records/modify", #"{"operations":{}}"#, 400),
                ("POST", "private/changes/zone", #"{"zones":[{"zoneName":"None"}]}"#, 200),
                ("POST", "public/users/lookup/id", #"{"users":[{"userRecordName":"_x"}]}"#, 200),
            ]
            for (method, path, body, status) in requests {
                // The token of each answer is valid for the next request.
                let response = try await Self.send(
                    server, "\(root)/\(path)?ckWebAuthToken=\(PercentEncoding.encoded(token))", body: body,
                    method: method)
                #expect(response.status == status, "\(path): \(response.text)")
                let next = try Self.next(response)
                #expect(next != token, "\(path)")
                token = next
            }
            // A request that fails before authentication gets no new token.
            let unknown = try await Self.send(
                server, "\(root)/private/records/none?ckWebAuthToken=\(PercentEncoding.encoded(token))", method: "POST")
            #expect(unknown.status == 404 && unknown.headers["x-apple-cloudkit-web-auth-token"] == nil)
        }
    }

    @Test("An older token is good for five minutes after a newer one was used")
    func grace() async throws {
        let clock = MovingClock()
        try await TestServer.run(requiring: .required, clock: clock) { server in
            let (_, first) = try await Self.signIn(server, at: Date())
            clock.advance(by: .seconds(10))
            let second = try Self.next(try await Self.ask(server, first))
            // The second token was not used yet.
            clock.advance(by: .seconds(20 * 60))
            #expect(try await Self.ask(server, first).status == 200)
            #expect(try await Self.ask(server, second).status == 200)
            clock.advance(by: .seconds(4 * 60))
            #expect(try await Self.ask(server, first).status == 200)
            clock.advance(by: .seconds(2 * 60))
            let late = try await Self.ask(server, first)
            #expect(late.status == 421 && late.headers["x-apple-cloudkit-web-auth-token"] == nil)
            #expect(try Subset.value(at: "redirectURL", in: late.json()) != nil)
            #expect(try await Self.ask(server, second).status == 200)
        }
    }

    @Test(
        "A token is good for half an hour, and for two weeks where the user is kept signed in",
        arguments: [(false, 30 * 60), (true, 14 * 86_400)])
    func lives(keep: Bool, seconds: Int) async throws {
        let clock = MovingClock()
        try await TestServer.run(requiring: .required, clock: clock) { server in
            let (_, token) = try await Self.signIn(server, keep: keep, at: Date())
            clock.advance(by: .seconds(seconds - 30))
            let next = try Self.next(try await Self.ask(server, token))
            clock.advance(by: .seconds(60))
            #expect(try await Self.ask(server, token).status == 421)
            #expect(try await Self.ask(server, next).status == 200)
            clock.advance(by: .seconds(seconds))
            #expect(try await Self.ask(server, next).status == 421)
        }
    }

    @Test("A session that is revoked ends with all its tokens")
    func revoked() async throws {
        try await TestServer.run(requiring: .required) { server in
            let (session, token) = try await Self.signIn(server, at: Date())
            let next = try Self.next(try await Self.ask(server, token))
            _ = try await server.accounts.revokeWebAuthSession(session.id)
            #expect(try await Self.ask(server, token).status == 421)
            #expect(try await Self.ask(server, next).status == 421)
        }
    }

    @Test("Users have private databases of their own, and records say who saved them")
    func attribution() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let (_, other) = try await Self.signIn(server, at: Date())
            let save = #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"mine"}}]}"#
            let modify = "/database/1/\(CredentialStage.container)/development/private/records/modify"
            let saved = try await stage.send("POST", try stage.sent(.sessionUnderToken, modify, body: save), save)
            #expect(
                Subset.value(at: "records[0].created.userRecordName", in: try saved.json())
                    == .string(stage.anna.userRecordName.string))
            let lookup = #"{"records":[{"recordName":"mine"}]}"#
            let others = try await Self.send(
                server, "\(Self.lookup)?ckWebAuthToken=\(PercentEncoding.encoded(other))",
                ["X-Skylight-User: \(stage.anna.handle)"], body: lookup, method: "POST")
            #expect(Subset.value(at: "records[0].serverErrorCode", in: try others.json()) == "NOT_FOUND")
        }
    }
}

extension String {
    /// `%2B` as `%2b`.
    fileprivate var lowercasedEscapes: String {
        var text = ""
        var left = 0
        for character in self {
            if character == "%" { left = 3 }
            text += left > 0 ? character.lowercased() : String(character)
            left = max(0, left - 1)
        }
        return text
    }
}
