import Accounts
import Foundation
import HTTPServing
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Records
import Testing

@testable import Console

/// The sign-in page for users of an app, and how the token gets back to the app.
@Suite struct SignInPageTests {
    /// The token on the page.
    private func shownToken(on page: String) throws -> String {
        let shown = try #require(page.firstMatch(of: /<code data-copy-source data-token[^>]*>([^<]*)<\/code>/)).output.1
        return String(shown).replacing("&#43;", with: "+").replacing("&#x2B;", with: "+").replacing("&#61;", with: "=")
    }

    @Test func whoIsKnownSignsInWithOneButton() async throws {
        try await KeyStage.run { stage in
            let grace = try await stage.accounts.makeUser(
                displayName: "Grace Hopper", emailAddress: "grace@example.com")
            let ticket = stage.ticket()
            let page = try await stage.page("/sign-in?ticket=\(PercentEncoding.encoded(ticket))")
            #expect(
                page.contains("iCloud.com.example.App") && page.contains("development") && page.contains("not iCloud"))
            #expect(page.contains("aria-label=\"Sign in as Grace Hopper, grace@example.com\""))
            #expect(
                !page.contains("class=\"where\"") && !page.contains("class=\"sections\""),
                "it is no page of the console")
            let answer = try await stage.post("/sign-in", [("ticket", ticket), ("user", grace.handle)])
            let ending = EditStage.text(answer)
            #expect(answer.status == .ok && answer.headers[.cacheControl] == "no-store")
            let token = try shownToken(on: ending)
            #expect(stage.user(of: token) == grace.userRecordName)
            #expect(stage.user(of: token, now: Date(timeIntervalSinceNow: 31 * 60)) == nil, "half an hour")
            #expect(!ending.contains("data-origin-to-tell"), "no page asked, so none is told")
            #expect(
                ending.contains("ckWebAuthToken=\(PercentEncoding.encoded(token))"),
                "the command to try it with has it percent-encoded")
        }
    }

    @Test func whoStaysSignedInDoesSoForTwoWeeks() async throws {
        try await KeyStage.run { stage in
            let answer = try await stage.post(
                "/sign-in", [("ticket", stage.ticket()), ("user", "developer"), ("keep", "1")])
            let token = try shownToken(on: EditStage.text(answer))
            #expect(stage.user(of: token, now: Date(timeIntervalSinceNow: 13 * 86_400)) != nil)
            let again = try shownToken(
                on: EditStage.text(
                    try await stage.post(
                        "/sign-in", [("ticket", stage.ticket()), ("user", "developer"), ("keep", "1")])))
            #expect(stage.user(of: again, now: Date(timeIntervalSinceNow: 15 * 86_400)) == nil)
        }
    }

    @Test func somebodyNewIsMade() async throws {
        try await KeyStage.run { stage in
            let fields = [("ticket", stage.ticket()), ("name", "Ada Lovelace"), ("email", "ada@example.com")]
            let token = try shownToken(on: EditStage.text(try await stage.post("/sign-in", fields)))
            let ada = try #require(stage.accounts.user(emailAddress: "ada@example.com"))
            #expect(stage.user(of: token) == ada.userRecordName && ada.displayName == "Ada Lovelace")
            // Errors appear beside the input.
            let taken = try await stage.post(
                "/sign-in", [("ticket", stage.ticket()), ("name", "Other <b>"), ("email", "ada@example.com")])
            let page = EditStage.text(taken)
            #expect(taken.status == .badRequest && page.contains("already has the e-mail address ada@example.com"))
            #expect(page.contains("value=\"Other &lt;b&gt;\"") && page.contains("<details class=\"new\" open>"))
            for fields in [
                [("name", "")], [("name", "x"), ("email", "no address")], [("user", "nobody")], [("who", "nobody")],
            ] {
                let refused = try await stage.post("/sign-in", [("ticket", stage.ticket())] + fields)
                #expect(
                    [.badRequest].contains(refused.status) && EditStage.text(refused).contains("role=\"alert\""),
                    "\(fields)")
            }
            #expect(stage.accounts.webAuthSessions().count == 1)
        }
    }

    @Test func aCallbackIsSentToWithTheTokenUnderBothNames() async throws {
        try await KeyStage.run { stage in
            let (apiToken, _) = try await stage.token(callback: "https://app.example.com/back?step=2")
            let ticket = stage.ticket(origin: "http://localhost:3000", token: apiToken)
            let shown = try await stage.get("/sign-in?ticket=\(PercentEncoding.encoded(ticket))")
            // Browsers refuse forms that redirect elsewhere unless the policy names the target.
            #expect(
                shown.header("Content-Security-Policy")?.contains("form-action 'self' https://app.example.com;")
                    ?? false)
            #expect(shown.header("Cross-Origin-Opener-Policy") == "unsafe-none")
            #expect(String(buffer: shown.body).contains("sent back to https://app.example.com/back."))
            let answer = try await stage.post("/sign-in", [("ticket", ticket), ("user", "developer")])
            #expect(answer.status == .seeOther)
            let location = try #require(answer.headers[.location])
            let match = try #require(
                location.wholeMatch(
                    of: /https:\/\/app\.example\.com\/back\?step=2&ckWebAuthToken=([^&]+)&ckSession=([^&]+)/))
            #expect(match.output.1 == match.output.2 && !match.output.1.contains(/[+\/=]/))
            let token = try #require(FormFields(encoded: "t=\(match.output.1)".utf8)["t"])
            #expect(stage.user(of: token) != nil)
            let session = try #require(stage.accounts.webAuthSessions().first)
            #expect(session.apiTokenID == apiToken.id)
        }
    }

    @Test func onlyTheWindowThatAskedGetsTheSession() async throws {
        try await KeyStage.run { stage in
            let ticket = stage.ticket(origin: "http://localhost:3000")
            let ending = EditStage.text(try await stage.post("/sign-in", [("ticket", ticket), ("user", "developer")]))
            #expect(ending.contains("data-origin-to-tell=\"http://localhost:3000\""))
            let cancelled = try await stage.post("/sign-in", [("ticket", ticket), ("cancel", "1")])
            let page = EditStage.text(cancelled)
            #expect(
                cancelled.status == .ok
                    && page.contains(
                        "data-message=\"The sign-in was cancelled\" data-origin-to-tell=\"http://localhost:3000\"")
            )
            #expect(!page.contains("data-token") && stage.accounts.webAuthSessions().count == 1)
            // Without a page that asked, there is nothing to notify.
            let silent = EditStage.text(
                try await stage.post("/sign-in", [("ticket", stage.ticket()), ("cancel", "1")]))
            #expect(!silent.contains("data-origin-to-tell"))
        }
    }

    @Test func ticketsThatAreNoneLeadNowhere() async throws {
        try await KeyStage.run { stage in
            let (apiToken, _) = try await stage.token()
            let good = stage.ticket(token: apiToken)
            let other = try Accounts(file: nil)
            let foreign = other.signInTicket(
                for: SignInRequest(container: stage.container, environment: .development), now: Date())
            _ = try await stage.accounts.revokeAPIToken(apiToken.id)
            for ticket in ["", "x", good, foreign, stage.ticket(now: Date(timeIntervalSinceNow: -3700)), "\"><b>"] {
                let page = try await stage.page("/sign-in?ticket=\(PercentEncoding.encoded(ticket))", .badRequest)
                #expect(page.contains("no longer valid") && !page.contains("<form") && !page.contains("<b>"))
                let answer = try await stage.post("/sign-in", [("ticket", ticket), ("user", "developer")])
                #expect(answer.status == .badRequest && !EditStage.text(answer).contains("data-token"))
            }
            #expect(stage.accounts.webAuthSessions().isEmpty)
            #expect(try await stage.get("/sign-in").status == .badRequest)
        }
    }

    @Test func serverKeysAreNobodyToSignInAs() async throws {
        try await KeyStage.run { stage in
            let key = try await stage.accounts.registerServerKey(
                pem: KeyPageTests.pem(), named: "Nightly", container: stage.container, environment: .development)
            let page = try await stage.page("/sign-in?ticket=\(PercentEncoding.encoded(stage.ticket()))")
            let user = try #require(stage.accounts.user(recordName: key.userRecordName))
            #expect(!page.contains(user.handle) && page.contains("Sign in as Developer"))
            for fields in [
                ("user", user.handle), ("who", user.handle), ("user", user.userRecordName.string),
                ("name", user.userRecordName.string), ("name", user.handle),
            ] {
                let answer = try await stage.post("/sign-in", [("ticket", stage.ticket()), fields])
                #expect(answer.status == .badRequest && !EditStage.text(answer).contains("data-token"), "\(fields)")
            }
            #expect(stage.accounts.webAuthSessions().isEmpty)
        }
    }

    @Test func withoutAnAPITokenSomebodyNewSignsInAndNobodyElseWhereCredentialsAreRequired() async throws {
        try await KeyStage.run(.required) { stage in
            let ben = try await stage.accounts.makeUser(displayName: "Ben Bitdiddle", emailAddress: "ben@example.com")
            let page = try await stage.page("/sign-in?ticket=\(PercentEncoding.encoded(stage.ticket()))")
            #expect(
                !page.contains("Bitdiddle") && !page.contains("ben@example.com") && !page.contains("name=\"user\"")
                    && !page.contains("name=\"who\""))
            #expect(page.contains("the app must send its API token") && page.contains("<details class=\"new\" open>"))
            for fields in [
                ("user", ben.handle), ("who", ben.handle), ("user", "developer"), ("who", "ben@example.com"),
            ] {
                let answer = try await stage.post("/sign-in", [("ticket", stage.ticket()), fields, ("name", "Ada")])
                let text = EditStage.text(answer)
                #expect(
                    answer.status == .badRequest && text.contains("the app must send its API token")
                        && !text.contains("data-token"), "\(fields)")
            }
            #expect(stage.accounts.webAuthSessions().isEmpty)
            // A name that equals a handle creates another user.
            let token = try shownToken(
                on: EditStage.text(
                    try await stage.post("/sign-in", [("ticket", stage.ticket()), ("name", "developer")])))
            #expect(stage.user(of: token) != User.recordName(ofHandle: "developer") && stage.user(of: token) != nil)
            // With an API token, any user may be chosen.
            let (apiToken, _) = try await stage.token()
            let ticket = stage.ticket(token: apiToken)
            #expect(
                try await stage.page("/sign-in?ticket=\(PercentEncoding.encoded(ticket))").contains(
                    "Sign in as Ben Bitdiddle"))
            let chosen = try shownToken(
                on: EditStage.text(try await stage.post("/sign-in", [("ticket", ticket), ("user", ben.handle)])))
            #expect(stage.user(of: chosen) == ben.userRecordName)
        }
    }

    @Test func whoSignsInTooOftenHasToWait() async throws {
        try await KeyStage.run(.required) { stage in
            // Failed sign-ins count too.
            var answers: [TestResponse] = []
            for _ in 0..<60 { answers.append(try await stage.post("/sign-in", [("ticket", "none")])) }
            let last = try #require(answers.first { $0.status == .tooManyRequests })
            #expect(last.headers[.retryAfter] != nil && EditStage.text(last).contains("Too many sign-ins"))
            #expect(answers.prefix(30).allSatisfy { $0.status == .badRequest })
        }
        try await KeyStage.run { stage in
            for _ in 0..<60 {
                let status = try await stage.post("/sign-in", [("ticket", "none")]).status
                #expect(status == .badRequest)
            }
        }
    }

    @Test(arguments: [
        ("https://App.example.com:8443/x", "https://app.example.com:8443"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("com.example.app:/signed-in", "com.example.app:"), ("https://a.example; script-src *", "https://a.example"),
        ("https://[::1]:1/", "https://[::1]:1"),
    ])
    func whatFormsMayLeadTo(callback: String, target: String) async throws {
        #expect(SignInReturn.callback(callback).formTarget == target)
    }

    @Test(arguments: [
        ("https://a.example/b", "https://a.example/b?ckWebAuthToken=a%2B%2F%3D&ckSession=a%2B%2F%3D"),
        ("https://a.example/b?", "https://a.example/b?ckWebAuthToken=a%2B%2F%3D&ckSession=a%2B%2F%3D"),
        ("https://a.example/b?c=d", "https://a.example/b?c=d&ckWebAuthToken=a%2B%2F%3D&ckSession=a%2B%2F%3D"),
        ("app:x", "app:x?ckWebAuthToken=a%2B%2F%3D&ckSession=a%2B%2F%3D"),
    ])
    func whereTheTokenGoes(callback: String, address: String) {
        #expect(SignInReturn.address(callback, with: "a+/=") == address)
    }
}
