import Foundation
import HTTPServing
import HTTPTypes
import HummingbirdTesting
import Records
import Synchronization
import Testing

@testable import Accounts
@testable import Console

/// Pages with thousands of users, and removed users.
@Suite struct ManyUsersTests {
    private static let names = (0..<3000).map { "person-\($0)" }

    private func fill(_ stage: KeyStage) {
        stage.accounts.known.withLock { users in
            for name in Self.names { users.insert(User(handle: name)) }
        }
    }

    @Test func noPageHasALinkForEveryone() async throws {
        try await KeyStage.run { stage in
            let paths = [
                "query", "fetch", "changes", "zones", "types", "roles", "requests", "sync", "clients", "keys", "users",
                "importing", "check", "deploy",
            ]
            var before: [String: Int] = [:]
            for path in paths { before[path] = try await stage.page(path).utf8.count }
            fill(stage)
            for path in paths {
                let page = try await stage.page(path)
                #expect(page.utf8.count - (before[path] ?? 0) < 40_000, "\(path)")
                let menu = try #require(page.firstMatch(of: /(?s)<small>as<\/small>.*?<\/details>/)).output
                #expect(menu.matches(of: /<li>/).count == Frame.userLimit, "\(path)")
                #expect(
                    menu.contains("action=\"\(KeyStage.there)/users\"") && menu.contains("2,989 more users"), "\(path)")
            }
        }
    }

    @Test func theMenuHasWhoActsAndWhoAskedLast() async throws {
        try await KeyStage.run { stage in
            fill(stage)
            for name in ["person-7", "person-2999"] { _ = try stage.accounts.caller(named: name, deviceID: nil) }
            let page = try await stage.page("query?user=person-1234")
            let menu = try #require(page.firstMatch(of: /(?s)<small>as<\/small>.*?<\/details>/)).output
            let links = menu.matches(of: /<li><a href="([^"]*)"( aria-current="true")?>/).map {
                ($0.output.1, $0.output.2 != nil)
            }
            #expect(links.first.map { $0.0.contains("user=person-1234") && $0.1 } == true && links.count { $0.1 } == 1)
            for name in ["person-7", "person-2999"] {
                #expect(links.contains { $0.0.hasSuffix("user=\(name)") }, "\(name)")
            }
            // The search there keeps the acting user.
            #expect(
                menu.contains("<input type=\"hidden\" name=\"user\" value=\"person-1234\">")
                    && menu.contains("name=\"find\""))
        }
        try await KeyStage.run { stage in
            _ = try stage.accounts.caller(named: "anna", deviceID: nil)
            let menu = try #require(
                try await stage.page("query").firstMatch(of: /(?s)<small>as<\/small>.*?<\/details>/)
            ).output
            #expect(!menu.contains("name=\"find\"") && menu.matches(of: /<li>/).count == 2, "few users are all listed")
        }
    }

    @Test func usersAreFoundByWhatTheyGoBy() async throws {
        try await KeyStage.run { stage in
            fill(stage)
            _ = try await stage.accounts.makeUser(displayName: "Grace Hopper", emailAddress: "grace@example.com")
            for text in ["hopper", "GRACE@", "grace", User.recordName(ofHandle: "grace").string] {
                let page = try await stage.page("users?find=\(PercentEncoding.encoded(text))")
                #expect(
                    page.contains(">Grace Hopper</a>") && page.matches(of: /<th scope="row">/).count == 1, "\(text)")
            }
            let many = try await stage.page("users?find=person-1&page=2")
            #expect(many.contains("Users 21 to 40 of 1,111") && many.contains("find=person-1&amp;page=3"))
            #expect(try await stage.page("users?find=%3Cnobody%3E").contains("contains ‘&lt;nobody&gt;’"))
        }
    }

    @Test func formsTakeANameWhereThereAreManyUsers() async throws {
        try await KeyStage.run { stage in
            #expect(try await stage.page("requests").contains("<select name=\"by\""))
            fill(stage)
            let requests = try await stage.page("requests?by=person-2")
            #expect(requests.contains("name=\"by\" aria-label=\"User\" data-submit value=\"person-2\" list=\"users\""))
            #expect(!requests.contains("<select name=\"by\""))
        }
    }

    @Test func aUserIsRemovedAfterAPageThatSaysWhatGoes() async throws {
        try await KeyStage.run { stage in
            let anna = try await stage.accounts.makeUser(displayName: "Anna", emailAddress: "anna@example.com")
            let request = SignInRequest(container: stage.container, environment: .development)
            let (_, token) = try await stage.accounts.signIn(
                anna.userRecordName, with: request, keepSignedIn: false, now: .now)
            #expect(try await stage.page("users/user?name=anna").contains("users/remove?name=anna"))
            #expect(try await !stage.page("users/user?name=developer").contains("users/remove"))
            let confirmation = try await stage.page("users/remove?name=anna")
            for words in [
                "1 ends at once", "stay under \(anna.userRecordName)", "Nobody can sign in with this name, until",
                "value=\"anna\"",
            ] {
                #expect(confirmation.contains(words), "\(words)")
            }
            #expect(stage.user(of: token) == anna.userRecordName, "asking removes nobody")
            let answer = try await stage.post("users/remove?user=anna", [("name", "anna")])
            #expect(
                answer.status == .seeOther
                    && answer.headers[.location] == "\(KeyStage.there)/users?notice=user-removed",
                "the page of whoever is gone is not there")
            #expect(stage.accounts.user(handle: "anna") == nil && stage.user(of: token) == nil)
            #expect(try await stage.page("users?notice=user-removed").contains("The user is deleted"))
            #expect(try await stage.post("users/remove", [("name", "anna")]).status == .notFound)
            #expect(try await stage.post("users/remove", [("name", "developer")]).status == .badRequest)
            #expect(try await stage.get("users/remove?name=developer").status == .badRequest)
        }
    }

    @Test func strangersMakeSomeUsersAndThenHaveToWait() async throws {
        try await KeyStage.run(.required) { stage in
            var statuses: [Int] = []
            for number in 0..<12 {
                statuses.append(
                    try await stage.post("/sign-in", [("ticket", stage.ticket()), ("name", "Stranger \(number)")])
                        .status.code)
            }
            #expect(statuses == Array(repeating: 200, count: 10) + [429, 429])
            let refused = try await stage.post("/sign-in", [("ticket", stage.ticket()), ("name", "One more")])
            #expect(refused.headers[.retryAfter].flatMap { Int($0) }.map { $0 > 60 && $0 <= 600 } == true)
            #expect(EditStage.text(refused).contains("without an API token"))
            #expect(stage.accounts.userCount == 11)
            // Apps with an API token are not limited that way.
            let (token, _) = try await stage.token()
            #expect(
                try await stage.post("/sign-in", [("ticket", stage.ticket(token: token)), ("name", "Of the app")])
                    .status == .ok)
        }
        try await KeyStage.run { stage in
            for number in 0..<20 {
                let status = try await stage.post(
                    "/sign-in", [("ticket", stage.ticket()), ("name", "Tester \(number)")]
                ).status
                #expect(status == .ok)
            }
        }
    }
}
