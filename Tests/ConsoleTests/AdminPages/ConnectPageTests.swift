import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import RecordStore
import Records
import RemoteRecordStore
import Testing

@testable import Accounts

/// Connecting containers in the console, and forgetting them.
@Suite struct ConnectPageTests {
    private static func fields(_ stage: ConnectedStage, _ more: (String, String)...) -> [(String, String)] {
        [("container", ConnectedStage.container), ("environment", "development"), ("server", stage.address)] + more
    }

    /// Begins a sign-in.
    /// - Returns: the address of the page that waits, and the cookie as the browser sends it back.
    private func begin(_ stage: ConnectedStage) async throws -> (page: String, cookie: HTTPFields) {
        let answer = try await stage.post("/connect", Self.fields(stage, ("apiToken", try stage.apiToken())))
        let set = try #require(answer.headers[.setCookie])
        #expect(set.contains("HttpOnly") && set.contains("SameSite=Lax"))
        return (try stage.location(answer), [.cookie: String(try #require(set.split(separator: ";").first))])
    }

    @Test func aKeyConnectsAndIsForgotten() async throws {
        try await ConnectedStage.run(nil) { stage in
            let key = try await stage.key()
            let form = try await stage.page("/connect")
            #expect(
                form.contains("None yet") && form.contains("Advanced Data Protection")
                    && form.contains("/connect/return"))
            let answer = try await stage.post("/connect", Self.fields(stage, ("keyID", key.id), ("pem", key.pem)))
            #expect(try stage.location(answer) == "/connect?notice=connected")
            let connection = try #require(stage.accounts.connections().first)
            #expect(
                connection.credentials == .serverKey(keyID: key.id, pem: key.pem) && connection.address == stage.address
            )
            let list = try await stage.page("/connect?notice=connected")
            let secret = try #require(key.pem.split(separator: "\n").dropFirst().first)
            #expect(
                list.contains("The container is connected") && list.contains(key.id) && list.contains(">public</td>")
                    && !list.contains(secret))
            // A key reaches the public database only, and links lead there.
            #expect(list.contains("/development/public/query") && !list.contains("/development/private/"))
            #expect(try await stage.page("/").contains("/development/public/query"))
            let question = try await stage.page(
                "/connect/forget?container=\(ConnectedStage.container)&environment=development")
            #expect(!stage.accounts.connections().isEmpty && question.contains("Nothing changes in iCloud"))
            #expect(
                try stage.location(try await stage.send("connect/forget", of: question))
                    == "/connect?notice=connection-forgotten")
            #expect(stage.accounts.connections().isEmpty)
        }
    }

    @Test func aBadKeyIsExplainedWithoutIt() async throws {
        try await ConnectedStage.run(nil) { stage in
            let key = try await stage.key()
            let unknown = EditStage.text(
                try await stage.post(
                    "/connect", Self.fields(stage, ("keyID", String(repeating: "0", count: 64)), ("pem", key.pem))))
            #expect(unknown.contains("The connection to \(ConnectedStage.container) failed"))
            let none = EditStage.text(
                try await stage.post(
                    "/connect", Self.fields(stage, ("keyID", key.id), ("pem", "-----BEGIN NOTHING-----"))))
            #expect(
                none.contains("There is no private key in PEM") && none.contains("value=\"\(key.id)\"")
                    && !none.contains("BEGIN NOTHING"))
            let empty = EditStage.text(try await stage.post("/connect", Self.fields(stage)))
            #expect(empty.contains("Give an API token, or a key ID with its private key"))
            let secret = try #require(key.pem.split(separator: "\n").dropFirst().first)
            for page in [unknown, none, empty] { #expect(!page.contains(secret)) }
            #expect(stage.accounts.connections().isEmpty)
        }
    }

    @Test func aContainerOfThisMachineIsNotHidden() async throws {
        try await ConnectedStage.run(nil) { stage in
            _ = try await stage.post("/containers", [("container", ConnectedStage.container)])
            let answer = try await stage.post("/connect", Self.fields(stage, ("apiToken", try stage.apiToken())))
            #expect(
                EditStage.text(answer).contains("which a connection would hide") && stage.accounts.connections().isEmpty
            )
        }
    }

    // MARK: Sign-in

    @Test func aSignInComesBackByItsRedirect() async throws {
        try await ConnectedStage.run(nil) { stage in
            let (waiting, cookie) = try await begin(stage)
            let answer = try await stage.get(waiting)
            let (page, apiToken) = (EditStage.text(answer), try stage.apiToken())
            #expect(
                page.contains("href=\"\(stage.address)/sign-in?ticket=") && page.contains("data-live")
                    && !page.contains(apiToken))
            #expect(answer.headers[.crossOriginOpenerPolicy] == "same-origin-allow-popups")
            let token = try await stage.webAuthToken()
            let address = "/connect/return?ckWebAuthToken=\(PercentEncoding.encoded(token))"
            // Another browser, such as one that another site led here.
            let stranger = try await stage.get(address)
            #expect(
                try stage.location(stranger) == "/connect/returned" && !String(buffer: stranger.body).contains(token))
            #expect(
                EditStage.text(try await stage.get("/connect/returned")).contains("No sign-in to iCloud is in progress")
            )
            // An image in a page on another port of the machine.
            let embedding: HTTPFields = [
                .cookie: try #require(cookie[.cookie]), .secFetchSite: "same-site", .secFetchMode: "no-cors",
            ]
            let embedded = try await stage.get(address, embedding)
            #expect(try stage.location(embedded) == "/connect/returned" && stage.accounts.connections().isEmpty)
            let back = try await stage.get(address, cookie)
            let location = try stage.location(back)
            #expect(location.hasPrefix("/connect/returned?id=") && !location.contains(PercentEncoding.encoded(token)))
            #expect(back.headers[.cacheControl] == "no-store")
            let connection = try #require(stage.accounts.connections().first)
            #expect(connection.userRecordName == stage.user && connection.origin?.hasPrefix("http://") == true)
            let returned = try await stage.page(location)
            #expect(returned.contains("url=\(waiting)") && !returned.contains(token))
            #expect(try stage.location(try await stage.get(waiting)) == "/connect?notice=connected")
            // Only the first answer counts.
            _ = try await stage.get("/connect/return?errorMessage=accessError", cookie)
            #expect(try stage.location(try await stage.get(waiting)) == "/connect?notice=connected")
            #expect(try await stage.page("zones").contains(">Notes</a>"))
        }
    }

    @Test func aSignInComesBackByAMessage() async throws {
        try await ConnectedStage.run(nil) { stage in
            let (waiting, _) = try await begin(stage)
            let page = try await stage.page(waiting)
            let id = String(try #require(page.firstMatch(of: /data-icloud-sign-in="([^"]+)"/)).output.1)
            #expect(
                try await stage.post("/connect/answer", [("id", "another"), ("ckSession", "x")]).status == .badRequest)
            let answer = try await stage.post(
                "/connect/answer", [("ckSession", try await stage.webAuthToken()), ("id", id)])
            #expect(answer.status == .noContent && stage.accounts.connections().map(\.userRecordName) == [stage.user])
        }
    }

    @Test func aSignInWithoutATokenHasItsReason() async throws {
        try await ConnectedStage.run(nil) { stage in
            let (waiting, cookie) = try await begin(stage)
            _ = try stage.location(try await stage.get("/connect/return?errorMessage=%3Cb%3EaccessError", cookie))
            let page = try await stage.page(waiting)
            #expect(
                page.contains("Advanced Data Protection") && page.contains("&lt;b&gt;accessError")
                    && !page.contains("data-live"))
            #expect(stage.accounts.connections().isEmpty)
        }
    }

    @Test func onlyTheAdministratorConnects() async throws {
        try await ConnectedStage.run(nil, mode: .required) { stage in
            let administrator: HTTPFields = [.authorization: "Bearer of this run"]
            for path in [
                "/connect", "/connect/sign-in?id=x",
                "/connect/forget?container=iCloud.com.example.Real&environment=development",
            ] {
                #expect(try stage.location(try await stage.get(path)).hasPrefix("/admin/sign-in"))
            }
            for path in ["/connect", "/connect/answer", "/connect/forget"] {
                #expect(try await stage.post(path, []).status == .unauthorized)
            }
            let begun = try await stage.post(
                "/connect", Self.fields(stage, ("apiToken", try stage.apiToken())), administrator)
            let cookie: HTTPFields = [
                .cookie: String(try #require(begun.headers[.setCookie]?.split(separator: ";").first))
            ]
            // The browser sends no session with a request to which another site led.
            let token = PercentEncoding.encoded(try await stage.webAuthToken())
            let location = try stage.location(try await stage.get("/connect/return?ckWebAuthToken=\(token)", cookie))
            #expect(!location.contains("ckWebAuthToken") && stage.accounts.connections().count == 1)
            // Nor does the way to the sign-in keep the token of somebody who did not begin here.
            let stranger = try await stage.get("/connect/return?ckWebAuthToken=\(token)")
            #expect(
                try stage.location(stranger) == "/connect/returned" && !String(buffer: stranger.body).contains(token))
        }
    }
}
