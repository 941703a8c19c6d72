import HTTPTypes
import HummingbirdTesting
import NIOCore
import Records
import Testing

/// A notice appears once, also in a browser without scripts.
@Suite struct NoticeTests {
    private static let saved = "The record is saved."

    @Test func aReloadDoesNotRepeatTheNotice() async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            let address = "\(EditStage.there)/record?zone=Notes&notice=record-saved&name=hall"
            let first = try await stage.get(address)
            #expect(EditStage.text(first).contains(Self.saved))
            let cookie = try #require(first.headers[.setCookie]?.split(separator: ";").first.map(String.init))
            let reload: HTTPFields = [.cookie: "theme=dark; \(cookie)", .cacheControl: "max-age=0"]
            let again = try await stage.get(address, reload)
            #expect(
                again.status == .ok && !EditStage.text(again).contains(Self.saved) && again.headers[.setCookie] == nil)
            #expect(EditStage.text(again).contains("<h1><bdi>Hall</bdi>"), "the other parameters stay")
            // A notice of another page has not been shown.
            let other = try await stage.get(address + "&x=1", reload)
            #expect(EditStage.text(other).contains(Self.saved))
            // Nor has another window that opens this one.
            let elsewhere = try await stage.get(address, [.cookie: cookie])
            #expect(EditStage.text(elsewhere).contains(Self.saved))
        }
    }

    @Test func theNextChangeHasItsNotice() async throws {
        try await EditStage.run { stage in
            try await stage.save("hall", ["title": .string("Hall")])
            let shown: HTTPFields = [.cookie: "skylight-notice=0123456789abcdef"]
            let answer = try await stage.post("zones/create", "name=Fresh", shown)
            #expect(
                answer.headers[values: .setCookie].contains {
                    $0.hasPrefix("skylight-notice=;") && $0.contains("Max-Age=0")
                })
        }
    }

    @Test func pagesWithoutNoticesSetNoCookie() async throws {
        try await EditStage.run { stage in
            let page = try await stage.get("query?type=Note&zone=Notes")
            #expect(page.status == .ok && page.headers[.setCookie] == nil)
        }
    }
}
