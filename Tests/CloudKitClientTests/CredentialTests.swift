import Crypto
import Foundation
import LoopbackServing
import Records
import Testing

@testable import CloudKitClient

/// Tokens as they come and go, and the places where they must never be.
@Suite struct CredentialTests {
    @Test(
        arguments: [
            (Stage.userToken, Stage.userToken), (Stage.userTokenEncoded, Stage.userToken),
            (Stage.userTokenEncoded.lowercased(), Stage.userToken.lowercased()),
            (Stage.userTokenEncoded.replacing("%", with: "%25"), Stage.userToken),
            (" \(Stage.userToken)\n", Stage.userToken),
            (Stage.userToken.replacing("+", with: " "), Stage.userToken), ("", nil), ("null", nil), ("undefined", nil),
            (" ", nil), ("%zz", nil), ("a\u{0}b", nil),
            ("é", nil), ("%6Eull", nil),
        ] as [(String, String?)])
    func tokensAreReadHoweverTheyAreHandedOver(text: String, token: String?) {
        #expect(WebAuthToken(text)?.text == token)
    }

    @Test func tokensAreEncodedOnceInTheQuery() async throws {
        let stage = Stage()
        try await ScriptedServer.run(noZones) { address, server in
            try await stage.run(address) { try await $0.database(.private).read() }
            try await stage.run(address, as: .apiToken(Stage.apiToken)) { try await $0.database(.public).read() }
            #expect(
                server.requests[0].target
                    == "\(Stage.root)zones/list?ckAPIToken=\(Stage.apiToken)&ckWebAuthToken=\(Stage.userTokenEncoded)")
            #expect(server.requests[1].target.hasSuffix("/public/zones/list?ckAPIToken=\(Stage.apiToken)"))
            #expect(
                server.requests.allSatisfy { $0.headers["x-apple-cloudkit-request-keyid"] == nil && $0.method == "GET" }
            )
        }
    }

    /// An error text that repeats the credentials, as a proxy in between could send it.
    @Test func credentialsAreInNoLogErrorOrDescription() async throws {
        let stage = Stage()
        let next = "9__9__rotatedRotated+"
        try await ScriptedServer.run({ request, number in
            let echo = "no \(Stage.apiToken) at \(request.target)"
            let headers = ["X-Apple-CloudKit-Web-Auth-Token": next, "X-Apple-Request-UUID": "apple-\(number)"]
            switch number {
            case 0:
                return .json(
                    #"{"serverErrorCode":"BAD_REQUEST","reason":"\#(echo), \#(Stage.userToken)","uuid":"error-0"}"#,
                    status: 400, headers)
            case 1:
                return .json(
                    #"{"serverErrorCode":"THROTTLED","reason":"\#(echo) \#(next)","retryAfter":100000}"#, status: 429,
                    headers)
            case 2: return .close
            default:
                return .json(
                    #"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"\#(echo)","redirectURL":"https://a.example/?oauth_token=1"}"#,
                    status: 421)
            }
        }) { address, _ in
            try await stage.run(address, as: nil, { $0.patience = .seconds(1000) }) { client in
                var texts: [String] = ["\(client.credentials)", String(reflecting: client.credentials)]
                dump(client.credentials, to: &texts[0])
                for _ in 0..<2 {
                    let failed = try #require(
                        await failure { try await client.database(.private).observing { stage.observe($0) }.read() })
                    texts += ["\(failed)", String(reflecting: failed)]
                    dump(failed, to: &texts[0])
                }
                #expect(texts.joined().contains("(hidden)"))
                dump(stage.events, to: &texts[0])
                for secret in [Stage.apiToken, Stage.userToken, Stage.userTokenEncoded, next, "rotatedRotated"] {
                    #expect(!texts.joined().contains(secret) && !stage.log.contains(secret))
                }
            }
        }
        #expect(stage.log.contains("apple-request=apple-0") && stage.log.contains("request="))
        let key = try stage.serverKey()
        var text = "\(key) \(String(reflecting: key))"
        dump(key, to: &text)
        #expect(text.contains("key-1"))
        let inner = stage.key.rawRepresentation
        #expect(
            !text.contains(inner.base64EncodedString())
                && !text.contains(stage.key.pemRepresentation.split(separator: "\n")[1]))
    }

    @Test func secretsAreHiddenByTheirBytes() {
        let secrets = [Secret("abc+defgh"), Secret("short")]
        #expect(
            "abc+defgh\u{301} abc%2Bdefgh! short abc+defg".hiding(secrets).utf8.elementsEqual(
                "(hidden)\u{301} (hidden)! short abc+defg".utf8))
        #expect("".hiding(secrets) == "" && "é".hiding([]) == "é")
    }

    // MARK: Rotation

    @Test func eachTokenIsHandedOverBeforeTheNextRequest() async throws {
        let stage = Stage()
        let keptBefore = KeptBefore()
        try await ScriptedServer.run({ _, number in
            keptBefore.note(stage.keptTokens)
            let name = number % 2 == 0 ? "X-Apple-CloudKit-Web-Auth-Token" : "x-apple-cloudkit-session"
            return .json(#"{"zones":[]}"#, [name: "t+\(number)"])
        }) { address, server in
            try await stage.run(address) { client in
                for _ in 0..<4 { try await client.database(.private).read() }
            }
            #expect(
                server.requests.map { $0.parameter("ckWebAuthToken") } == [
                    Stage.userTokenEncoded, "t%2B0", "t%2B1", "t%2B2",
                ])
        }
        #expect(stage.keptTokens == ["t+0", "t+1", "t+2", "t+3"])
        #expect(keptBefore.all == [[], ["t+0"], ["t+0", "t+1"], ["t+0", "t+1", "t+2"]])
    }

    @Test func whatIsNoTokenReplacesNone() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ _, number in
            let headers = [
                ["X-Apple-CloudKit-Web-Auth-Token": "null"], ["X-Apple-CloudKit-Session": ""],
                ["X-Apple-CloudKit-Web-Auth-Token": Stage.userToken],
            ]
            return .json(#"{"zones":[]}"#, headers[min(number, 2)])
        }) { address, server in
            try await stage.run(address) { client in
                for _ in 0..<4 { try await client.database(.private).read() }
            }
            #expect(server.requests.allSatisfy { $0.parameter("ckWebAuthToken") == Stage.userTokenEncoded })
        }
        #expect(stage.keptTokens.isEmpty)
    }

    @Test func anAnswerThatRepeatsItsTokenBringsNoOlderOneBack() async throws {
        let stage = Stage()
        let credential = try stage.credential()
        let next = try #require(WebAuthToken("next-token"))
        _ = try await credential.exchange { first in
            _ = try await credential.exchange { second in
                await credential.replace(second, with: next)
                return ((), false)
            }
            await credential.replace(first, with: first)
            return ((), false)
        }
        #expect(credential.token == next && stage.keptTokens == ["next-token"] && !credential.takesTurns)
    }

    /// In the head of the answer, so that the session goes on.
    @Test func aTokenCountsThoughItsAnswerBreaksOff() async throws {
        let reply = ScriptedServer.Reply.json(#"{"zones":[]}"#, ["X-Apple-CloudKit-Web-Auth-Token": "next-token"])
        for count in [reply.headCount, reply.bytes.count - 1] {
            let stage = Stage()
            try await ScriptedServer.run({ _, number in number == 0 ? reply.cut(after: count) : noZones }) {
                address, server in
                try await stage.run(address) { try await $0.database(.private).read() }
                #expect(
                    server.requests.map { $0.parameter("ckWebAuthToken") } == [Stage.userTokenEncoded, "next-token"])
            }
            #expect(stage.keptTokens == ["next-token"])
        }
    }

    @Test func aRefusalIsFinalUnlessAnotherRequestMayHaveReplacedTheToken() async throws {
        let credential = try Stage().credential()
        let alone = try await credential.exchange { _ in ((), true) }
        #expect(!alone.isOutdated && !credential.takesTurns)
        _ = try await credential.exchange { _ in
            let beside = try await credential.exchange { _ in ((), true) }
            #expect(beside.isOutdated && credential.takesTurns)
            return ((), false)
        }
        // A server that sends a token with each refusal must not be asked forever.
        let last = try await credential.exchange { token in
            await credential.replace(token, with: try #require(WebAuthToken("next-token")))
            return ((), true)
        }
        #expect(!last.isOutdated && credential.token.text == "next-token")
    }

    @Test func waitingForATurnEndsAtTheDeadline() async throws {
        let stage = Stage()
        let credential = try stage.credential()
        try await ScriptedServer.run(noZones) { address, server in
            try await stage.run(address, as: .webAuth(apiToken: Stage.apiToken, user: credential)) { client in
                let database = client.database(.private).until(stage.time.start + .milliseconds(20))
                _ = try await credential.exchange { _ in
                    _ = try await credential.exchange { _ in ((), true) }
                    let late = await failure { try await database.save() }
                    #expect(
                        late?.kind == .unreachable("the deadline had passed"),
                        "a request is under way that began before the turns")
                    return ((), false)
                }
                _ = try await credential.exchange { _ in
                    let late = await failure { try await database.save() }
                    #expect(
                        late?.kind == .unreachable("the deadline had passed") && late?.attempts == 0,
                        "another has its turn")
                    let cancelled = Task { try await client.database(.private).save() }
                    cancelled.cancel()
                    await #expect(throws: CancellationError.self, "it was never sent") { try await cancelled.value }
                    return ((), false)
                }
                #expect(server.requests.isEmpty)
                try await client.database(.private).read()
                #expect(server.requests.count == 1)
            }
        }
    }

    /// A server that takes each token once, as Apple's reference has it.
    @Test func requestsTakeTurnsOnceAReplacedTokenIsRefused() async throws {
        let stage = Stage()
        let office = OneTimeTokens(first: Stage.userTokenEncoded)
        try await ScriptedServer.run({ request, number in
            let reply = office.answer(request.parameter("ckWebAuthToken") ?? "")
            // Another request is sent before the first save has its answer.
            return number == 1 ? reply.after(requests: 3) : reply
        }) { address, server in
            let credential = try stage.credential()
            try await stage.run(address, as: .webAuth(apiToken: Stage.apiToken, user: credential)) { client in
                try await client.database(.private).read()
                #expect(!credential.takesTurns && client.waitingTime == .seconds(55))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<30 { group.addTask { try await client.database(.private).save() } }
                    try await group.waitForAll()
                }
                // A request that waits for a change would hold up all others.
                #expect(credential.takesTurns && client.waitingTime == .zero)
            }
            // Each save was carried out exactly once, although some were refused before.
            #expect(office.good == 31 && server.requests.count > 31)
        }
        #expect(stage.keptTokens.count == 31 && stage.keptTokens.last == "token31")
    }

    @Test func aSessionThatEndedAsksForASignIn() async throws {
        let stage = Stage()
        let answers: [ScriptedServer.Reply] = [
            .error(
                "AUTHENTICATION_REQUIRED", status: 421, #","redirectURL":"https://idmsa.apple.com/a?oauth_token=1""#),
            .error("AUTHENTICATION_REQUIRED", status: 401), .error("AUTHENTICATION_FAILED", status: 401),
            .error("AUTHENTICATION_REQUIRED", status: 421, #","redirectURL":"file:///bin/sh""#),
        ]
        try await ScriptedServer.run({ _, number in answers[number] }) { address, server in
            try await stage.run(address) { client in
                let first = await failure { try await client.database(.private).save() }
                #expect(
                    first?.signInURL == "https://idmsa.apple.com/a?oauth_token=1"
                        && first?.serverError?.code == .authenticationRequired)
                let second = await failure { try await client.database(.private).read() }
                #expect(second?.signInURL == nil && second?.description.contains("has to sign in") == true)
                let third = await failure { try await client.database(.private).read() }
                #expect(
                    third?.serverError?.code == .authenticationFailed
                        && third?.description.contains("has to sign in") == false)
                let fourth = await failure { try await client.database(.private).read() }
                #expect(fourth?.serverError?.redirectURL != nil && fourth?.signInURL == nil, "a browser opens it")
            }
            #expect(server.requests.count == 4, "a sign-in is the user's to make")
        }
        #expect(stage.time.pauses.isEmpty)
    }
}
