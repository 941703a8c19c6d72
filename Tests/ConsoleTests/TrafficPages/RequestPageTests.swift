import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import RecordStore
import Records
import RequestLog
import TestSupport
import Testing

@testable import Console
@testable import TrafficPages

/// The page Requests, and that of one request.
@Suite struct RequestPageTests {
    @Test func aConsoleThatWasAskedNothingSaysSo() async throws {
        try await RequestStage.with { stage in
            let page = try await stage.page("requests")
            #expect(
                page.contains("No request yet")
                    && page.contains("/database/1/iCloud.com.example.App/development/private/zones/list"))
            #expect(try await stage.page("clients").contains("No clients yet"))
        }
    }

    @Test func requestsAreFoundByAllThatIsKnownOfThem() async throws {
        try await RequestStage.with { stage in
            var failed = stage.request("records/modify", from: "<mac>")
            failed.itemErrors = [
                ServedRequest.ItemError(name: "note-7", code: .conflict, reason: "client oplock error updating record")
            ]
            stage.note(failed, sent: #"{"operations":[]}"#)
            var refused = stage.request("records/query")
            refused.status = 400
            refused.error = ServedRequest.ItemError(
                name: nil, code: .badRequest, reason: "Field 'recordName' is not marked queryable")
            stage.note(refused, sent: #"{"query":{"recordType":"Note"}}"#)
            stage.note(stage.request("records/lookup"), sent: #"{"records":[{"recordName":"needle"}]}"#)
            var elsewhere = stage.request("zones/list")
            elsewhere.environment = .production
            stage.note(elsewhere)
            func rows(_ query: String) async throws -> [String] {
                try await stage.page("requests?\(query)").matches(
                    of: /<th scope="row" class="name"><a href="[^"]*">([^<]*)</
                ).map { String($0.output.1) }
            }
            #expect(try await rows("") == ["zones/list", "records/lookup", "records/query", "records/modify"])
            #expect(try await rows("errors=1") == ["records/query", "records/modify"])
            #expect(try await rows("operation=records/query") == ["records/query"])
            #expect(try await rows("client=%3Cmac%3E") == ["records/modify"])
            #expect(try await rows("by=grace") == [])
            #expect(try await rows("by=nobody") == [])
            #expect(try await rows("text=NOTE-7") == ["records/modify"])
            #expect(try await rows("text=needle") == ["records/lookup"], "bodies are searched")
            #expect(try await rows("in=database") == ["records/lookup", "records/query", "records/modify"])
            let page = try await stage.page("requests")
            #expect(page.contains("1 item CONFLICT") && page.contains("private, production"))
            #expect(page.contains("&lt;mac&gt;") && !page.contains("<mac>"))
            #expect(try await stage.page("requests?text=nowhere").contains("No request found"))
        }
    }

    @Test func aRowSaysWhyItFailedAndWhatWasRehearsed() async throws {
        try await RequestStage.with { stage in
            var slow = stage.request("records/query")
            slow.rehearsals = "slow"
            stage.note(slow)
            var conflict = stage.request("records/modify")
            conflict.rehearsals = "conflict"
            conflict.itemErrors = [
                ServedRequest.ItemError(name: "a", code: .conflict, reason: "client oplock error updating record")
            ]
            stage.note(conflict)
            let list = try await stage.page("requests")
            #expect(list.contains(#"<small class="reason"><span class="pill lacks">rehearsed: slow</span>"#))
            #expect(list.contains("rehearsed: conflict</span> a: client oplock error updating record</small>"))
            let page = try await stage.page("requests?id=\(conflict.id)")
            #expect(page.contains("<strong>rehearsed: conflict</strong> The server did this on purpose."))
        }
    }

    @Test func aSaveThatCreatesATypeIsMarked() async throws {
        try await RequestStage.with { stage in
            try await stage.save("first")
            try await RequestStage.nextMillisecond()
            func noted(_ request: ServedRequest, type: String) -> String {
                var request = request
                // The answer ends after the save.
                request.milliseconds = 10_000
                return stage.note(
                    request, answered: #"{"records":[{"recordName":"slip","recordType":"\#(type)","fields":{}}]}"#
                ).id
            }
            let (slip, beside) = (stage.request("records/modify"), stage.request("records/modify"))
            try await stage.save("slip", type: "Messag")
            let id = noted(slip, type: "Messag")
            #expect(try await stage.page("requests").contains(">created record type Messag and 2 fields</span>"))
            let page = try await stage.page("requests?id=\(id)")
            #expect(
                page.contains("created record type Messag and 2 fields")
                    && page.contains("Messag: type added with 2 fields"))
            // The other saves created nothing: one at the same time, and one later.
            #expect(try await !stage.page("requests?id=\(noted(beside, type: "Note"))").contains("created record type"))
            try await RequestStage.nextMillisecond()
            let later = stage.request("records/modify")
            try await stage.save("slip", type: "Messag")
            #expect(
                try await !stage.page("requests?id=\(noted(later, type: "Messag"))").contains("created record type"))
        }
    }

    @Test func aQuerySaysWhichIndexItUsedAndLeadsToItsExplanation() async throws {
        try await RequestStage.with { stage in
            try await stage.save("one")
            var query = stage.request("records/query")
            query.recordType = "Note"
            query.plan = ServedRequest.Plan(
                index: "<rank> QUERYABLE", sentence: "The names under the value were walked.")
            let asked = #"""
                {"query":{"recordType":"Note","filterBy":[{"fieldName":"rank","comparator":"GREATER_THAN","fieldValue":{"value":41,"type":"INT64"}},
                {"systemFieldName":"modifiedTimestamp","comparator":"LESS_THAN","fieldValue":{"value":1790000000000,"type":"TIMESTAMP"}}],
                "sortBy":[{"fieldName":"title","ascending":false}]},"zoneID":{"zoneName":"Notes"}}
                """#
            stage.note(query, sent: asked)
            var unserved = stage.request("records/query")
            unserved.plan = ServedRequest.Plan(index: nil, sentence: "All were read.")
            stage.note(unserved, sent: #"{"query":{"recordType":"Note"},"zoneWide":true}"#)
            stage.note(
                stage.request("records/query"),
                sent: #"{"query":{"recordType":"Note","filterBy":[{"fieldName":"rank"}]}}"#)
            let list = try await stage.page("requests")
            #expect(
                list.contains("title=\"The names under the value were walked.\">&lt;rank&gt; QUERYABLE<")
                    && list.contains("title=\"All were read.\">none<"))
            let page = try await stage.page("requests?id=\(query.id)")
            #expect(page.contains("&lt;rank&gt; QUERYABLE") && page.contains("The names under the value were walked."))
            #expect(page.contains("/requests/explain\"") && page.contains("name=\"id\" value=\"\(query.id)\""))
            #expect(!page.contains(/value\d*=41/), "what it compares with is not shown unless it is asked for")
            let led = try await stage.get("requests/explain?id=\(query.id)")
            let location = try #require(led.headers[.location])
            #expect(led.status == .seeOther && location.hasPrefix("\(RequestStage.there)/explain?"))
            // The page Query has the buttons that add missing indexes.
            let open = try await stage.get("requests/explain?id=\(query.id)&on=query")
            #expect(open.headers[.location]?.hasPrefix("\(RequestStage.there)/query?") ?? false)
            #expect(!page.contains("Open in Query"), "it was not refused")
            for part in [
                "type=Note", "filter1=rank", "is1=GREATER_THAN", "value1=41", "filter2=___modTime", "sort1=title",
                "order1=descending", "zone=Notes",
            ] {
                #expect(location.contains(part), "\(part) in \(location)")
            }
            let wide = try await stage.get("requests/explain?id=\(unserved.id)")
            #expect(wide.headers[.location]?.contains("zone=&") ?? false, "\(wide.headers[.location] ?? "")")
            // Requests with unreadable filters have no link to the explanation, nor do requests that are gone.
            let unread = try #require(stage.log.latest(1).first)
            #expect(try await !stage.page("requests?id=\(unread.id)").contains("requests/explain"))
            for id in [unread.id, "gone"] {
                #expect(try await stage.page("requests/explain?id=\(id)").contains("no longer has the query"))
            }
            // A query of another user is not explained as the developer's.
            for user: Name in ["_nobody", stage.user.userRecordName] {
                let strange = stage.note(stage.request("records/query", as: Caller(userRecordName: user)), sent: asked)
                let said = try await stage.page("requests/explain?id=\(strange.id)")
                #expect(said.contains("user _nobody, who no longer exists on this server") == (user == "_nobody"))
            }
        }
    }

    @Test func longListsHavePages() async throws {
        try await RequestStage.with { stage in
            for number in 0..<230 { stage.note(stage.request("records/op\(number)")) }
            var seen: [String] = []
            var path: String? = "requests"
            while let next = path {
                let page = try await stage.page(next)
                seen += page.matches(of: />records\/op(\d+)</).map { String($0.output.1) }
                path = page.firstMatch(of: /href="[^"]*\/(requests\?[^"]*)" rel="next"/).map {
                    String($0.output.1).replacing("&amp;", with: "&")
                }
            }
            #expect(seen == (0..<230).reversed().map(String.init))
        }
    }

    @Test func whatComesLaterComesOnce() async throws {
        try await RequestStage.with(log: RequestLog(capacity: 500)) { stage in
            stage.note(stage.request("records/op0"))
            let first = try await stage.page("requests")
            var after = String(try #require(first.firstMatch(of: /data-after="([^"]*)"/)).output.1)
            var seen = 0
            func rest() async throws -> (numbers: [Int], missed: Int) {
                var numbers: [Int] = []
                var missed = 0
                var hasMore = true
                while hasMore {
                    let page = try await stage.page("requests?after=\(after)")
                    // Newest first within an answer.
                    numbers += page.matches(of: />records\/op(\d+)</).compactMap { Int($0.output.1) }.reversed()
                    after = String(try #require(page.firstMatch(of: /data-newest="([^"]*)"/)).output.1)
                    missed += page.firstMatch(of: /data-missed="(\d+)"/).flatMap { Int($0.output.1) } ?? 0
                    hasMore = page.contains(" data-more")
                }
                return (numbers, missed)
            }
            #expect(try await rest().numbers.isEmpty)
            for number in 1...450 { stage.note(stage.request("records/op\(number)")) }
            #expect(try await rest().numbers == Array(1...450))
            seen = 450
            for number in (seen + 1)...(seen + 700) { stage.note(stage.request("records/op\(number)")) }
            let late = try await rest()
            #expect(late.numbers == Array((seen + 201)...(seen + 700)) && late.missed == 200)
            // A position from another server run is detected, even if its number is higher.
            for other in ["1000000", "-1", "", "0123456789abcdef.50", String(after.dropLast()) + "x"] {
                #expect(try await stage.page("requests?after=\(other)").contains(" data-another-run"))
                after = other
                #expect(try await rest().numbers.count == 500)
                #expect(try await !stage.page("requests?after=\(after)").contains(" data-another-run"))
            }
        }
    }

    @Test func withoutALogThePagesSayWhyTheyAreEmpty() async throws {
        try await RequestStage.with(log: RequestLog(capacity: 0)) { stage in
            try await stage.save("wanted")
            stage.note(stage.request("records/query"))
            for page in ["requests", "clients", "telemetry", "record?zone=Notes&name=wanted"] {
                let text = try await stage.page(page)
                #expect(text.contains("he request log is off"), "\(page)")
                #expect(
                    !text.contains("No clients yet") && !text.contains("No requests yet")
                        && !text.contains("No client has sent"))
            }
        }
    }

    @Test func aBodyThatWasNeverReadIsNotSentAgain() async throws {
        try await RequestStage.with(answering: Self.echo("{}")) { stage in
            var refused = stage.request("records/query")
            refused.status = 413
            refused.hasUnreadBody = true
            let noted = stage.note(refused)
            let page = try await stage.page("requests?id=\(noted.id)")
            #expect(
                page.contains("the request failed before it was read") && page.contains("nor be replayed")
                    && !page.contains(">Replay")
                    && !page.contains("<code data-copy-source>curl"))
            #expect(try await stage.post("requests/replay", "id=\(noted.id)").status == .badRequest)
        }
    }

    @Test func readsNeedNoQuestion() async throws {
        try await RequestStage.with(answering: Self.echo("{}")) { stage in
            for (operation, isWrite) in [
                ("records/resolve", false), ("records/accept", true), ("subscriptions/list", false),
                ("subscriptions/lookup", false), ("subscriptions/modify", true), ("users/discover", false),
                ("users/lookup/contacts", false), ("users/lookup/email", false), ("users/lookup/id", false),
                ("tokens/create", true),
                ("skylight/records/explain", false), ("skylight/keyvalues/changes", false),
                ("skylight/schema/diff", false), ("skylight/schema/edit", true), ("skylight/records/revert", true),
            ] {
                let noted = stage.note(stage.request(operation), sent: "{}")
                let page = try await stage.page("requests?id=\(noted.id)")
                #expect(page.contains(">Replay…</a>") == isWrite, "\(operation)")
            }
        }
    }

    @Test func valuesAreHiddenOnAServerThatAsksForCredentials() async throws {
        try await RequestStage.with { stage in
            let sent =
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"n1","fields":{"title":{"value":"my secret","type":"STRING"},"raw":"also secret"}}}]}"#
            let request = stage.note(
                stage.request("records/modify"), sent: sent,
                answered: #"{"records":[{"recordName":"n1","fields":{"title":{"value":"my secret"}}}]}"#)
            // An open server shows them.
            let open = try await stage.page("requests?id=\(request.id)")
            #expect(open.contains("my secret") && open.contains("values=0\">Hide values"))
            let hidden = try await stage.page("requests?id=\(request.id)&values=0")
            #expect(!hidden.contains("secret") && hidden.contains("‹9 characters hidden›") && hidden.contains("n1"))
            #expect(hidden.contains("Show the values to see the request as a command"))
            let shown = try await stage.page("requests?id=\(request.id)&values=1")
            #expect(shown.contains("my secret") && shown.contains("also secret") && shown.contains("--data-raw &#39;{"))
            let query = stage.note(
                stage.request("records/query"),
                sent:
                    #"{"query":{"recordType":"Note","filterBy":[{"fieldName":"title","fieldValue":{"value":"my secret"}}]}}"#
            )
            #expect(try await !stage.page("requests?id=\(query.id)&values=0").contains("secret"))
            let cut = String(repeating: "x", count: 80_000)
            let long = stage.note(
                stage.request("records/modify"), sent: #"{"a":1,"fields":{"b":"secret","c":"\#(cut)"}}"#)
            let page = try await stage.page("requests?id=\(long.id)&values=0")
            #expect(
                page.contains("Only the first 64 KB of") && !page.contains("secret")
                    && page.contains("Not all of the body is kept"))
        }
        try await RequestStage.with(access: .required) { stage in
            let request = stage.note(
                stage.request("records/modify"), sent: #"{"fields":{"title":{"value":"my secret"}}}"#)
            let hidden = try await stage.page("requests?id=\(request.id)")
            #expect(!hidden.contains("secret") && hidden.contains("values=1\">Show values"))
            #expect(try await stage.page("requests?id=\(request.id)&values=1").contains("my secret"))
        }
    }

    @Test func theFindBoxLeadsToARequest() async throws {
        try await RequestStage.with { stage in
            let request = stage.note(stage.request("records/query"))
            let found = try await stage.get("find?q=\(request.id.uppercased())")
            #expect(found.headers[.location] == "\(RequestStage.there)/requests?id=\(request.id)")
        }
    }

    @Test func textIsFoundInWhatComesLaterToo() async throws {
        try await RequestStage.with { stage in
            for number in 0..<2500 {
                stage.note(stage.request("records/op\(number)"), sent: number % 500 == 7 ? #"{"needle":1}"# : "{}")
            }
            var after = "-1"
            var found: [String] = []
            var hasMore = true
            while hasMore {
                let page = try await stage.page("requests?text=needle&after=\(after)")
                found += page.matches(of: />records\/op(\d+)</).map { String($0.output.1) }.reversed()
                after = String(try #require(page.firstMatch(of: /data-newest="([^"]*)"/)).output.1)
                hasMore = page.contains(" data-more")
            }
            #expect(found == ["7", "507", "1007", "1507", "2007"])
        }
    }

    @Test func aRequestThatIsGoneHasAPage() async throws {
        try await RequestStage.with { stage in
            let answer = try await stage.get("requests?id=nothing")
            #expect(
                answer.status == .notFound && String(buffer: answer.body).contains("The log does not have the request"))
        }
    }

    @Test func pullsAreTheirPositions() async throws {
        try await RequestStage.with { stage in
            for name in ["a", "b", "c"] as [Name] { try await stage.save(name) }
            let middle = try await stage.pull(limit: 2)
            try await stage.pull(since: middle)
            let latest = try #require(stage.log.latest(1).first)
            let page = try await stage.page("requests?id=\(latest.id)")
            #expect(page.contains("Pulls") && page.contains("nothing more") && page.contains(", unfinished pull"))
            let before = try #require(stage.log.latest(2).last)
            let first = try await stage.page("requests?id=\(before.id)")
            #expect(first.contains("the start") && first.contains("more coming"))
        }
    }

    @Test func aMistakeIsMarkedAndExplained() async throws {
        try await RequestStage.with { stage in
            for name: Name in ["a", "b", "c"] { try await stage.save(name) }
            for _ in 0..<2 { try await stage.pull(from: "hasty", limit: 1) }
            stage.note(stage.request("records/lookup", from: "hasty"))
            let list = try await stage.page("requests?warnings=1")
            #expect(list.contains("aria-label=\"Warnings about these requests\""))
            let row = try #require(list.firstMatch(of: /requests\?([^"]*id=[^"]*)">changes\/zone</)?.output.1)
            #expect(!list.contains(/<th scope="row" class="name"><a href="[^"]*">records\/lookup</))
            #expect(
                try await stage.page("requests?\(String(row).replacing("&amp;", with: "&"))").contains(
                    "The later pages were not fetched"))
        }
    }

    // MARK: Replay

    private static func echo(_ body: String, status: HTTPResponse.Status = .ok)
        -> @Sendable (Request, ServingRequestContext, RequestLog) async throws -> Response
    {
        { request, context, log in
            var served = ServedRequest(
                id: context.requestID, started: .now(), method: request.method.rawValue,
                target: request.head.path ?? "", operation: "records/query",
                client: ClientIdentity(
                    name: HTTPField.Name("X-Skylight-Client").flatMap { request.headers[$0] }, deviceID: nil,
                    userAgent: nil))
            served.status = status.code
            let sent = try await request.bodyBytes()
            served.bytesIn = sent.count
            served.bytesOut = body.utf8.count
            served.userRecordName = HTTPField.Name("X-Skylight-User").flatMap { request.headers[$0] }.map { Name($0) }
            log.note(
                served,
                bodies: RequestBodies(request: RequestBodies.Body(sent), response: RequestBodies.Body(Array(body.utf8)))
            )
            return Response.text(body, status: status)
        }
    }

    @Test func aReadIsSentAgainAndBothAnswersCompared() async throws {
        let answer = #"{"records":[{"recordName":"a"}],"x":1}"#
        try await RequestStage.with(answering: Self.echo(answer)) { stage in
            let same = stage.note(
                stage.request("records/query"), sent: #"{"query":{"recordType":"Note"}}"#, answered: answer)
            let sent = try await stage.post("requests/replay", "id=\(same.id)")
            #expect(sent.status == .seeOther)
            let location = try #require(sent.headers[.location])
            let replay = try #require(stage.log.latest(1).first)
            #expect(location == "\(RequestStage.there)/requests?id=\(same.id)&with=\(replay.id)")
            #expect(
                replay.client.isOfSkylight && replay.userRecordName == stage.user.userRecordName
                    && replay.target == same.target)
            #expect(stage.log.bodies(of: replay.id)?.request == stage.log.bodies(of: same.id)?.request)
            #expect(try await stage.page("requests?id=\(same.id)&with=\(replay.id)").contains("The same response."))
            let other = stage.note(
                stage.request("records/query"), sent: "{}", answered: #"{"records":[{"recordName":"b"}],"x":1}"#)
            let page = try await stage.page("requests?id=\(other.id)&with=\(replay.id)")
            #expect(page.contains("Different response: 1 line differs.") && page.contains("side-changed"))
            // The console's own requests do not count as a client.
            #expect(try await !stage.page("clients").contains("Skylight replay"))
        }
    }

    @Test func aPageThatFollowsChangesIsNoRequestOfAClient() async throws {
        try await RequestStage.with { stage in
            var followed = stage.request("skylight/changes/follow", from: ClientIdentity.consoleName)
            (followed.isStream, followed.isBrokenOff, followed.milliseconds) = (true, true, 30_017)
            stage.note(followed)
            #expect(try await stage.page("requests").contains("No request yet"))
            #expect(stage.log.telemetry.operations.isEmpty)
            let asked = try await stage.page("requests?client=Skylight+console")
            #expect(asked.contains("<span class=\"warn\">200, incomplete</span>") && asked.contains(">30,017 ms</td>"))
        }
    }

    @Test func aRefusedQueryLeadsToThePageThatMendsIt() async throws {
        try await RequestStage.with { stage in
            var refused = stage.request("records/query")
            refused.status = 400
            refused.error = ServedRequest.ItemError(
                name: nil, code: .badRequest, reason: "Field 'rank' is not marked queryable")
            stage.note(
                refused,
                sent:
                    #"{"query":{"recordType":"Note","filterBy":[{"fieldName":"rank","comparator":"EQUALS","fieldValue":{"value":4,"type":"INT64"}}]}}"#
            )
            let page = try await stage.page("requests?id=\(refused.id)")
            #expect(page.contains("name=\"on\" value=\"query\"><button>Open in Query</button>"))
            #expect(page.contains("which also adds missing indexes"))
            #expect(page.contains("<b>Cause:</b> The filter uses a field without an index."))
            refused.error = ServedRequest.ItemError(
                name: nil, code: .notFound, reason: "Did not find record type: Nte")
            let unknown = stage.note(refused, sent: #"{"query":{"recordType":"Nte"}}"#)
            let other = try await stage.page("requests?id=\(unknown.id)")
            #expect(other.contains("Open in Query") && other.contains("The type does not exist in this environment."))
            #expect(!other.contains("adds missing indexes"), "no index is missing")
        }
    }

    /// Items with the same error share its explanation.
    @Test func failedItemsAreExplained() async throws {
        try await RequestStage.with { stage in
            let saved = try await stage.save("a")
            var request = stage.request("records/modify")
            request.zoneIDs = [RequestStage.zone]
            let conflict = "client oplock error updating record"
            request.itemErrors = [
                ServedRequest.ItemError(name: "a", code: .conflict, reason: conflict),
                ServedRequest.ItemError(name: "b", code: .conflict, reason: conflict),
                ServedRequest.ItemError(name: "c", code: .badRequest, reason: "nothing that is known"),
            ]
            let noted = stage.note(
                request,
                sent:
                    #"{"operations":[{"operationType":"update","record":{"recordName":"a","recordChangeTag":"0z"}},{"operationType":"update","record":{"recordName":"b"}}]}"#
            )
            let page = try await stage.page("requests?id=\(noted.id)")
            #expect(page.matches(of: /class="errorcard"/).count == 2)
            #expect(page.matches(of: /Someone else saved the record after/).count == 1)
            #expect(page.contains("You sent the tag <code>0z</code>") && page.contains("You sent no tag"))
            #expect(page.contains("the current tag is <code>\(saved.recordChangeTag)</code>, saved by Developer"))
            #expect(page.contains(/href="[^"]*\/record\?[^"]*name=a"/))
            #expect(page.contains("nothing that is known") && page.contains("<b>Meaning:</b>"))
        }
    }

    @Test func aZoneOfAnotherSpellingIsOffered() async throws {
        try await RequestStage.with { stage in
            var query = stage.request("records/query")
            query.status = 404
            query.zoneIDs = [ZoneID(zoneName: "nOTES")]
            query.error = ServedRequest.ItemError(.zoneNotFound)
            var pull = stage.request("changes/zone")
            pull.itemErrors = [ServedRequest.ItemError(.zoneNotFound, name: "notes")]
            for request in [query, pull] {
                let page = try await stage.page("requests?id=\(stage.note(request).id)")
                #expect(page.contains(/Did you mean <a [^>]*zone=Notes"[^>]*>Notes<\/a>\?/), "\(request.operation)")
            }
            pull.itemErrors = [ServedRequest.ItemError(.zoneNotFound, name: "Nope")]
            #expect(try await !stage.page("requests?id=\(stage.note(pull).id)").contains("Did you mean"))
        }
    }

    /// A request that waited for a change is a read, and the replay is answered at once.
    @Test func aReplayDoesNotWait() async throws {
        let answer = #"{"changes":[],"syncToken":"t","keys":0,"bytes":0}"#
        try await RequestStage.with(answering: Self.echo(answer)) { stage in
            var inBody = stage.request("skylight/keyvalues/changes")
            inBody.hasWaited = true
            var inTarget = inBody
            (inTarget.method, inTarget.target) = ("GET", inBody.target + "?wait=55&syncToken=t")
            for (request, sent) in [(inBody, #"{"syncToken":"t","wait":55}"#), (inTarget, "")] {
                let noted = stage.note(request, sent: sent, answered: answer)
                #expect(try await stage.post("requests/replay", "id=\(noted.id)").status == .seeOther)
                let replay = try #require(stage.log.latest(1).first)
                let body = stage.log.bodies(of: replay.id)?.request?.bytes ?? []
                #expect(
                    replay.id != noted.id && replay.client.isOfSkylight && !replay.target.contains("wait")
                        && !String(decoding: body, as: UTF8.self).contains("wait"))
                #expect(
                    replay.target.contains("syncToken=t")
                        || String(decoding: body, as: UTF8.self) == #"{"syncToken":"t"}"#)
            }
        }
    }

    @Test func anErrorSentAgainIsTheSameThoughItsUUIDIsAnother() async throws {
        let answer = #"{"uuid":"2","serverErrorCode":"BAD_REQUEST","reason":"no"}"#
        try await RequestStage.with(answering: Self.echo(answer, status: .badRequest)) { stage in
            var request = stage.request("records/query")
            request.status = 400
            let refused = stage.note(
                request, sent: "{}", answered: #"{"uuid":"1","serverErrorCode":"BAD_REQUEST","reason":"no"}"#)
            _ = try await stage.post("requests/replay", "id=\(refused.id)")
            let replay = try #require(stage.log.latest(1).first)
            #expect(try await stage.page("requests?id=\(refused.id)&with=\(replay.id)").contains("The same response."))
        }
    }

    private static func answer(withFileAt address: String, size: Int = 5) -> String {
        let file = #"{"size":\#(size),"downloadURL":"\#(address)"}"#
        return #"{"records":[{"recordName":"a","fields":{"file":{"type":"ASSETID","value":\#(file)}}}]}"#
    }

    /// The address of a file is signed anew for each answer.
    @Test func addressesOfFilesAreNotCompared() async throws {
        try await RequestStage.with(answering: Self.echo(Self.answer(withFileAt: "http://h/2"))) { stage in
            for (size, words) in [(5, "Addresses of files, which are another each time"), (6, "1 line differs")] {
                let answer = Self.answer(withFileAt: "http://h/1", size: size)
                let pull = stage.note(stage.request("records/query"), sent: "{}", answered: answer)
                _ = try await stage.post("requests/replay", "id=\(pull.id)")
                let replay = try #require(stage.log.latest(1).first)
                #expect(try await stage.page("requests?id=\(pull.id)&with=\(replay.id)").contains(words))
            }
        }
    }

    @Test func aWriteIsSentAgainOnlyAfterAQuestion() async throws {
        try await RequestStage.with(answering: Self.echo("{}")) { stage in
            let write = stage.note(stage.request("records/modify"), sent: "{}")
            let page = try await stage.page("requests?id=\(write.id)")
            #expect(
                page.contains(">Replay…</a>") && !page.contains("method=\"post\"><input type=\"hidden\" name=\"id\""))
            let question = try await stage.page("requests/replay?id=\(write.id)")
            #expect(question.contains("Replay records/modify?") && question.contains("changes stored data again"))
            #expect(stage.log.latest(10).count == 1)
            // A truncated body is not sent again.
            let long = stage.note(stage.request("records/query"), sent: String(repeating: " ", count: 70_000))
            #expect(try await stage.post("requests/replay", "id=\(long.id)").status == .badRequest)
            #expect(try await stage.post("requests/replay", "id=nothing").status == .notFound)
            #expect(stage.log.latest(10).count == 2)
        }
    }

    @Test func nothingIsSentAgainWhereTheServicesAreNot() async throws {
        try await RequestStage.with { stage in
            let read = stage.note(stage.request("records/query"), sent: "{}")
            let page = try await stage.page("requests?id=\(read.id)")
            #expect(!page.contains("Replay"))
            let answer = try await stage.post("requests/replay", "id=\(read.id)")
            #expect(answer.status == .notFound)
        }
    }
}
