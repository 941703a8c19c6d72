import Records
import RequestLog
import Testing

/// A filter must show exactly the matching requests.
@Suite("Request filter") struct RequestFilterTests {
    private static let request = Requests.request("0e9e3bd2", operation: "changes/zone", client: "Notes") { request in
        request.pulls = [Requests.pull("1", nil, changes: 0, zone: ZoneID(zoneName: "Küche"), error: Requests.expired)]
        request.itemErrors = [Requests.expired]
        request.recordType = "Message"
        request.rehearsals = "pages-of-one, expired-token"
    }

    struct Part: Sendable {
        let isFound: Bool
        let change: @Sendable (inout RequestFilter) -> Void

        init(_ isFound: Bool, _ change: @escaping @Sendable (inout RequestFilter) -> Void) {
            (self.isFound, self.change) = (isFound, change)
        }
    }

    static let parts: [Part] = [
        Part(true) { $0.operation = "changes/zone" }, Part(false) { $0.operation = "changes" },
        Part(true) { $0.userRecordName = "_anna" }, Part(false) { $0.userRecordName = "_ben" },
        Part(true) { $0.client = "Notes" }, Part(false) { $0.client = "notes" },
        Part(true) { $0.errorsOnly = true }, Part(false) { $0.warningsOnly = true },
        Part(true) { $0.scope = .private }, Part(false) { $0.scope = .public },
        Part(true) { $0.environment = .development }, Part(false) { $0.environment = .production },
        Part(true) { $0.container = Requests.container }, Part(false) { $0.container = ContainerID("iCloud.other") },
        Part(true) { $0.text = "KNOWLEDGE differs" }, Part(true) { $0.text = "message bad_request" },
        Part(false) { $0.text = "knowledge missing" },
        Part(true) { $0.text = "Küche" }, Part(true) { $0.text = "0e9e" }, Part(true) { $0.text = "  " },
        Part(false) { $0.text = "\u{1F4AC}" },
        Part(true) { $0.text = RequestFilter.text(ofRehearsal: "expired-token") },
        Part(false) { $0.text = RequestFilter.text(ofRehearsal: "slow") },
    ]

    @Test("Each part decides", arguments: parts)
    func part(_ part: Part) {
        var filter = RequestFilter()
        #expect(filter.matches(Self.request))
        part.change(&filter)
        #expect(filter.matches(Self.request) == part.isFound)
    }

    @Test("A filter with too many words uses the first ones")
    func manyWords() {
        var filter = RequestFilter()
        filter.text =
            String(repeating: "notes ", count: RequestFilter.wordLimit) + String(repeating: "missing ", count: 16_000)
        #expect(filter.matches(Self.request))
        filter.text = String(repeating: "notes ", count: RequestFilter.wordLimit - 1) + "missing"
        #expect(!filter.matches(Self.request))
        filter.text = ""
        #expect(filter.matches(Self.request))
    }

    @Test("A request failed if it did as a whole, in an item, or if nobody was left to be answered")
    func errors() {
        #expect(!Requests.request("ok").hasErrors)
        #expect(
            Requests.request("status") { $0.status = 404 }.hasErrors
                && Requests.request("gone") { $0.status = 0 }.hasErrors)
        #expect(Requests.request("item") { $0.itemErrors = [Requests.expired] }.hasErrors)
    }
}
