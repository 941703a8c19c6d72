import Records
import Testing

@testable import RequestLog

/// Texts that several requests share are stored once.
@Suite("Shared texts") struct SharedTextsTests {
    @Test("Clients and users in turns share each their own")
    func turns() {
        var texts = SharedTexts()
        for turn in 0..<10 {
            for client in ["Notes", "caf\u{E9}", "cafe\u{301}"] {
                for user in ["_anna", "_ben"] as [Name] {
                    var request = Requests.request("\(turn)", client: client, user: user)
                    texts.share(&request)
                    #expect(request.client.name.map { Name($0) } == Name(client) && request.userRecordName == user)
                }
            }
        }
        // Six texts hash to 64 slots. Two in the same slot displace each other; that all of them collide is very
        // unlikely.
        #expect(texts.hits >= 9 && texts.hits <= 54, "\(texts.hits)")
    }

    @Test("Long texts and many zones are not kept")
    func limits() {
        var texts = SharedTexts()
        for change in [
            { $0.zoneIDs = (0..<9).map { ZoneID(zoneName: Name("Z\($0)")) } },
            { $0.target = String(repeating: "x", count: 513) },
            { $0.client.userAgent = String(repeating: "x", count: 2000) },
        ] as [(inout ServedRequest) -> Void] {
            for _ in 0..<3 {
                var request = Requests.request("a", change)
                texts.share(&request)
            }
        }
        #expect(texts.hits == 0)
        var few = Requests.request("a") { $0.zoneIDs = [Requests.zone] }
        texts.share(&few)
        texts.share(&few)
        #expect(texts.hits == 1)
    }
}
