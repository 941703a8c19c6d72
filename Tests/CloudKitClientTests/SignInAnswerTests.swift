import LoopbackServing
import Records
import Testing

@testable import CloudKitClient

/// The end of a sign-in, as the sign-in page tells it.
@Suite struct SignInAnswerTests {
    @Test(arguments: [
        ("ckWebAuthToken=\(Stage.userTokenEncoded)", Stage.userToken),
        ("ckSession=\(Stage.userTokenEncoded)", Stage.userToken),
        ("a=b&ckSession=old&ckWebAuthToken=new&x", "new"), ("ckWebAuthToken=null&ckSession=new", "new"),
        ("ckWebAuthToken=a%252Bb", "a+b"),
    ])
    func aTokenIsFoundUnderBothNames(query: String, token: String) throws {
        guard case .token(let found)? = SignInAnswer(query: query) else { return #expect(Bool(false), "\(query)") }
        #expect(found.text == token)
    }

    @Test func anErrorIsNoToken() {
        #expect(SignInAnswer(query: "errorMessage=accessError") == .refused(code: "accessError"))
        #expect(SignInAnswer(query: "errorMessage=a%20b&ckSession=undefined") == .refused(code: "a b"))
        for query in ["", "ckWebAuthToken=", "ckSession=null", "errorMessage=", "token=x", "&&="] {
            #expect(SignInAnswer(query: query) == nil, "\(query)")
        }
    }

    @Test func aLimitedTokenComesFromItsSite() async throws {
        try await ScriptedServer.run(.json(#"{"zones":[]}"#)) { address, server in
            let stage = Stage()
            for origin in [nil, "http://127.0.0.1:8181"] {
                try await stage.run(address, { $0.origin = origin }) { client in
                    _ = try await client.database(.private).zones()
                }
                #expect(server.requests.last?.headers["origin"] == origin)
            }
        }
    }
}
