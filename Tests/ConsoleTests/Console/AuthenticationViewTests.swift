import HummingbirdTesting
import Records
import RequestLog
import Testing

@testable import Console

/// The authentication details on the pages of requests.
@Suite struct AuthenticationViewTests {
    private func problem(_ parts: [SignedPart], isCertain: Bool = true) -> Authentication.Problem {
        Authentication.Problem(
            kind: "signedDate", sentence: "The <target> differs.", remedy: "Sign the query, too.", expected: "a",
            received: "b", isCertain: isCertain, parts: parts)
    }

    @Test func aRefusedSignatureIsShownPartByPart() async throws {
        try await RequestStage.with { stage in
            var request = stage.request("records/query")
            request.status = 401
            request.error = ServedRequest.ItemError(
                name: nil, code: .authenticationFailed, reason: "no auth method found")
            let parts: [SignedPart] = [
                .init(
                    name: "date", expected: "2026-11-22T06:00:00Z", received: "2026-11-22T06:00:00Z", state: .matches),
                .init(name: "body hash", expected: "47DEQpj8", received: nil, state: .unknown),
                .init(name: "target", expected: "/database/1/a?x=<1>", received: "/database/1/a", state: .differs),
            ]
            request.authentication = Authentication(
                way: .serverKey, credential: String(repeating: "0a", count: 32), problem: problem(parts))
            stage.note(request)
            let page = try await stage.page("requests?id=\(request.id)")
            #expect(
                page.contains("The &lt;target&gt; differs.") && page.contains("Sign the query, too.")
                    && page.contains("proved:"))
            #expect(
                page.contains("<code>/database/1/a<mark>?x=&lt;1&gt;</mark></code>")
                    && page.contains("<code>/database/1/a<mark></mark></code>"))
            #expect(page.contains("part same") && page.contains("part unknown") && page.contains("part differs"))
            #expect(
                page.contains("2026-11-22T06:00:00Z:47DEQpj8:/database/1/a?x=&lt;1&gt;"), "the full message to sign")
            #expect(page.contains("signature of the key") && page.contains("0a0a0a0a0a0a…") && page.contains("/keys\""))
            #expect(
                try await stage.page("requests").contains(
                    "title=\"The &lt;target&gt; differs.\">signature: signed date</span>"))
            #expect(try await stage.page("requests?text=signedDate").contains(request.id))
            // A pasted answer has the uuid only. The page Errors says what the server knows beyond it.
            let answer =
                "{\"uuid\":\"\(request.id)\",\"serverErrorCode\":\"AUTHENTICATION_FAILED\",\"reason\":\"no auth method found\"}"
            let pasted = try await stage.page("errors?error=\(PercentEncoding.encoded(answer))")
            #expect(
                pasted.contains("The &lt;target&gt; differs.") && pasted.contains("part differs")
                    && pasted.contains("All mistakes of a signature give this text"))
            // An explanation by elimination is not presented as proved.
            var guess = stage.request("records/query")
            guess.authentication = Authentication(way: .serverKey, problem: problem(parts, isCertain: false))
            stage.note(guess)
            let guessed = try await stage.page("requests?id=\(guess.id)")
            #expect(guessed.contains("the likeliest explanation") && !guessed.contains("proved:"))
        }
    }

    @Test func whatIsNoSignatureHasOneLineToCompare() async throws {
        try await RequestStage.with { stage in
            var request = stage.request("users/caller")
            request.authentication = Authentication(
                way: .apiToken, credential: "1a2b3c4d",
                problem: Authentication.Problem(
                    kind: "foreignOrigin", sentence: "Other pages.", expected: "https://a.example",
                    received: "https://b.example"))
            stage.note(request)
            let page = try await stage.page("requests?id=\(request.id)")
            #expect(
                page.contains("<dt>foreign origin <span>differs</span></dt>")
                    && page.contains("https://<mark>b</mark>.example"))
            #expect(!page.contains("should have been signed") && !page.contains("proved:") && page.contains("1a2b3c4d"))
            #expect(try await stage.page("requests").contains(">foreign origin</span>"))
        }
    }

    @Test(arguments: [
        (Authentication.Way.open, "no credentials", "this server requires none"), (.nothing, "no credentials", ""),
        (.apiToken, "API token", "unknown"),
        (.webAuth, "web auth token", ""), (.serverKey, "signature of the key", "without a key ID"),
        (.mixed, "a token and a signature", "only one of them"),
        (.administrator, "the administrator", ""),
    ])
    func eachWayHasWords(way: Authentication.Way, words: String, note: String) async throws {
        try await RequestStage.with { stage in
            var request = stage.request("records/query")
            request.authentication = Authentication(way: way)
            stage.note(request)
            let page = try await stage.page("requests?id=\(request.id)")
            #expect(page.contains("<dt>authenticated by</dt>") && page.contains(words) && page.contains(note))
            #expect(!page.contains("Why it was refused"))
        }
    }
}
