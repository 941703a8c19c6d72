import RecordStore
import Records
import RequestLog
import Testing

@testable import Console

/// The page Clients, and the explanation on a record's page if a client did not receive the record.
@Suite struct DeliveryPageTests {
    /// The result for a client in the panel of a record, with its reason.
    private func answer(_ stage: RequestStage, _ name: String, record: String = "wanted") async throws -> (
        verdict: String, because: String
    ) {
        let page = try await stage.page("record?zone=Notes&name=\(record)")
        let panel = try #require(page.firstMatch(of: /<section class="tabbed deliveries"[\s\S]*?<\/section>/)).output
        let rows = panel.split(separator: "<tr>").filter { $0.contains(">\(name)</a>") }
        let row = try #require(rows.first, "\(name) is not on the page")
        #expect(rows.count == 1)
        let verdict = try #require(row.firstMatch(of: /<span class="kind [a-z]*">([^<]*)</)).output.1
        return (String(verdict), String(row))
    }

    @Test func aClientThatPullsEverythingHasIt() async throws {
        try await RequestStage.with { stage in
            try await stage.save("first")
            var token = try await stage.pull(from: "good")
            try await stage.save("wanted")
            token = try await stage.pull(from: "good", since: token)
            let request = try #require(stage.log.latest(1).first)
            for _ in 0..<3 { token = try await stage.pull(from: "good", since: token) }
            let (verdict, because) = try await answer(stage, "good")
            #expect(verdict == "yes" && because.contains("id=\(request.id)"))
        }
    }

    @Test func theRequestIsFoundThoughManyPullsCameAfter() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            var token = try await stage.pull(from: "good")
            let request = try #require(stage.log.latest(1).first)
            for number in 0..<(ClientFeed.deliveryLimit + 8) {
                if number % 4 == 0 { try await stage.save(Name("other\(number)")) }
                token = try await stage.pull(from: "good", since: token)
            }
            let (verdict, because) = try await answer(stage, "good")
            #expect(verdict == "yes" && because.contains("id=\(request.id)"))
        }
    }

    @Test func aClientThatIgnoresMoreComingIsNamed() async throws {
        try await RequestStage.with { stage in
            for number in 0..<5 { try await stage.save(Name("n\(number)")) }
            try await stage.save("wanted")
            try await stage.pull(from: "hasty", limit: 2)
            let (verdict, because) = try await answer(stage, "hasty")
            #expect(verdict == "no" && because.contains("moreComing"))
            // Starting over repeatedly does not help.
            for _ in 0..<3 { try await stage.pull(from: "hasty", limit: 2) }
            let again = try await answer(stage, "hasty")
            #expect(again.verdict == "no" && again.because.contains("moreComing"))
            let clients = try await stage.page("clients")
            #expect(clients.contains("more pages to fetch") && clients.contains("moreComing not followed"))
        }
    }

    @Test func aClientThatNeverPullsIsNamed() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            stage.note(
                stage.request("records/query", from: "asker"),
                answered: #"{"records":[{"recordName":"other","recordType":"Note"}]}"#)
            let (verdict, because) = try await answer(stage, "asker")
            #expect(verdict == "no" && because.contains("It never pulled"))
            #expect(
                try await stage.page("clients").contains("It never fetched changes. Its requests: 1 records/query."))
            // A reference to the record does not count as delivery.
            stage.note(
                stage.request("records/query", from: "asker"),
                answered:
                    #"{"records":[{"recordName":"other","recordType":"Note","fields":{"to":{"value":{"recordName":"wanted","action":"NONE"}}}}]}"#
            )
            #expect(try await answer(stage, "asker").verdict == "no")
            var found = stage.request("records/query", from: "asker")
            found.zoneIDs = [RequestStage.zone]
            let request = stage.note(
                found, answered: #"{"records":[{"recordName":"wanted","recordType":"Note","fields":{}}]}"#)
            let (verdictNow, becauseNow) = try await answer(stage, "asker")
            #expect(verdictNow == "yes" && becauseNow.contains("id=\(request.id)"))
        }
    }

    @Test func whoSavedTheRecordHasIt() async throws {
        try await RequestStage.with { stage in
            for number in 0..<5 { try await stage.save(Name("n\(number)")) }
            try await stage.pull(from: "writer", limit: 2)
            func noted(_ record: StoredRecord, _ refusal: RecordError? = nil) -> ServedRequest {
                var request = stage.request("records/modify", from: "writer")
                request.zoneIDs = [RequestStage.zone]
                request.itemErrors = refusal.map { [ServedRequest.ItemError($0, name: "wanted")] } ?? []
                return stage.note(
                    request,
                    answered:
                        #"{"records":[{"recordName":"wanted","recordType":"Note","fields":{},"recordChangeTag":"\#(record.recordChangeTag)"}]}"#
                )
            }
            let first = try await stage.save("wanted")
            // A refused save can return the record of the server. The client did not save that.
            _ = noted(first, RecordError(.conflict, "record to insert already exists"))
            #expect(try await answer(stage, "writer").verdict == "no")
            let request = noted(first)
            let (verdict, because) = try await answer(stage, "writer")
            #expect(
                verdict == "yes" && because.contains("It saved this version itself")
                    && because.contains("id=\(request.id)"))
            // Its pull is another matter.
            #expect(because.contains("It did not fetch all pages") && because.contains("the record at"))
            // A later version is not the one it saved.
            try await stage.save("wanted")
            #expect(try await answer(stage, "writer").verdict == "no")
        }
    }

    @Test func whatIsSavedLaterWasNotPulledSince() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            try await stage.pull(from: "late")
            try await stage.save("wanted")
            let (verdict, because) = try await answer(stage, "late")
            #expect(
                verdict == "no" && because.contains("It has not pulled since")
                    && because.contains("It may have an earlier version"))
            try await stage.save("new")
            let other = try await answer(stage, "late", record: "new")
            #expect(other.because.contains("It has not pulled since") && !other.because.contains("earlier version"))
            let clients = try await stage.page("clients")
            #expect(clients.contains("2 changes"))
        }
    }

    @Test func typesAndFieldsThatWereLeftOut() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            try await stage.pull(from: "typed", types: ["Photo"])
            let (verdict, because) = try await answer(stage, "typed")
            #expect(verdict == "no" && because.contains("requested only Photo (desiredRecordTypes)"))
            try await stage.pull(from: "keyed", keys: ["title"])
            let keyed = try await answer(stage, "keyed")
            #expect(keyed.verdict == "in part" && keyed.because.contains("without rank"))
            try await stage.pull(from: "typed")
            #expect(try await answer(stage, "typed").verdict == "yes")
        }
    }

    @Test func whoTakesTheTokenForNowSkipsWhatIsThere() async throws {
        try await RequestStage.with { stage in
            stage.note(stage.request("zones/list", from: "skipper"))
            try await RequestStage.nextMillisecond()
            try await stage.save("wanted")
            let zones = try await stage.database.fetchZones([RequestStage.zone])
            let now = try #require(try zones.first?.get().syncToken)
            try await stage.pull(from: "skipper", since: now)
            let (verdict, because) = try await answer(stage, "skipper")
            #expect(verdict == "no" && because.contains("with a token that no pull returned"))
            // For a client that first appeared after the record, there is no certain answer.
            try await stage.pull(from: "unknown", since: now)
            #expect(try await answer(stage, "unknown").verdict == "likely")
        }
    }

    @Test func otherZonesDatabasesEnvironmentsAndUsers() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            let other = ZoneID(zoneName: "Other")
            _ = try await stage.database.modifyZones([.create(other)])
            try await stage.pull(from: "astray", zone: other)
            let astray = try await answer(stage, "astray")
            #expect(astray.verdict == "no" && astray.because.contains("never pulled this zone. It pulls Other"))
            var address = stage.address
            address.environment = .production
            stage.note(stage.request("records/query", from: "shipped", in: address))
            let shipped = try await answer(stage, "shipped")
            #expect(shipped.verdict == "no" && shipped.because.contains("production, private"))
            address = stage.address
            address.scope = .public
            stage.note(stage.request("records/query", from: "public one", in: address))
            #expect(try await answer(stage, "public one").because.contains("development, public"))
            let stranger = Caller(userRecordName: "_00000000000000000000000000000000")
            stage.note(stage.request("changes/zone", from: "stranger", as: stranger))
            let page = try await stage.page("record?zone=Notes&name=wanted")
            #expect(page.contains("1 client acts as a user who can&#39;t see the zone: _0000"))
        }
    }

    @Test func aPullThatIsRefusedIsTheReason() async throws {
        try await RequestStage.with { stage in
            try await stage.pull(from: "loser")
            try await stage.save("wanted")
            try await stage.pull(from: "loser", since: ChangeToken(text: "nonsense"))
            let (verdict, because) = try await answer(stage, "loser")
            #expect(verdict == "no" && because.contains("BAD_REQUEST, Unknown sync continuation type"))
            #expect(try await stage.page("clients").contains("Unknown sync continuation type"))
        }
    }

    @Test func newestFirstIsUnderstood() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            for number in 0..<4 { try await stage.save(Name("n\(number)")) }
            let first = try await stage.pull(from: "backwards", limit: 2, reverse: true)
            #expect(try await answer(stage, "backwards").verdict == "no")
            #expect(try await answer(stage, "backwards", record: "n3").verdict == "yes")
            let second = try await stage.pull(from: "backwards", since: first, limit: 2, reverse: true)
            try await stage.pull(from: "backwards", since: second, limit: 2, reverse: true)
            #expect(try await answer(stage, "backwards").verdict == "yes")
        }
    }

    @Test func manyClientsAreAnsweredForAtOnce() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted")
            for number in 0..<60 {
                var request = stage.request("records/query", from: "asker \(number)")
                request.zoneIDs = [RequestStage.zone]
                request.started = Timestamp(milliseconds: request.started.milliseconds + Int64(number))
                stage.note(
                    request,
                    answered:
                        #"{"records":[{"recordName":"\#(number % 2 == 0 ? "wanted" : "other")","recordType":"Note","fields":{}}]}"#
                )
            }
            let latest = try #require(stage.log.latest(2).last)
            #expect(try await answer(stage, "asker 59").verdict == "no")
            let found = try await answer(stage, "asker 58")
            #expect(found.verdict == "yes" && found.because.contains("id=\(latest.id)"))
            let page = try await stage.page("record?zone=Notes&name=wanted")
            #expect(page.contains("It has the 50 clients seen last; 10 more are not shown."))
            // Half of the listed clients received it.
            #expect(page.matches(of: /<span class="kind created">yes</).count == 25)
        }
    }

    @Test func databasesWithoutFeedsSaySo() async throws {
        try await RequestStage.with { stage in
            try await stage.save("wanted", in: .default)
            let page = try await stage.page("record?zone=_defaultZone&name=wanted")
            #expect(page.contains("The default zone has no changes feed"))
        }
    }
}
