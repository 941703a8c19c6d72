import InMemoryRecordStore
import Accounts
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import RequestLog
import Testing

@testable import Console

/// The pages Tokens and Errors, over the in-memory engine.
@Suite struct WorkbenchPageTests {
    /// A token of a zone before and after two more saves, and one of the database.
    private static func tokens(_ stage: RequestStage) async throws -> (old: String, new: String, database: String) {
        for name: Name in ["a", "b", "c"] { try await stage.save(name) }
        let old = try await stage.database.zoneChanges(ZoneChangesRequest(RequestStage.zone)).syncToken.text
        for name: Name in ["d", "a"] { try await stage.save(name) }
        let new = try await stage.database.zoneChanges(ZoneChangesRequest(RequestStage.zone)).syncToken.text
        return (old, new, try await stage.database.databaseChanges(DatabaseChangesRequest()).syncToken.text)
    }

    @Test func tokensOfZonesAndDatabasesAreExplained() async throws {
        try await RequestStage.with { stage in
            let tokens = try await Self.tokens(stage)
            let zone = try await stage.page("token?token=\(tokens.old)")
            #expect(
                zone.contains("This token is valid") && zone.contains("zone token")
                    && zone.contains("<dt>changes after it</dt><dd>2"))
            #expect(zone.contains("aria-label=\"Continue with it\"") && zone.contains("/changes/zone"))
            let database = try await stage.page("token?token=\(tokens.database)")
            #expect(
                database.contains("database token") && database.contains("it is not valid for a zone")
                    && database.contains("/changes/database"))
            let current = try await stage.page("token?token=\(tokens.new)")
            #expect(current.contains("it is the current one"))
            let foreign = try await stage.page("token?user=grace&token=\(tokens.new)")
            #expect(
                foreign.contains("This token is not for this database")
                    && foreign.contains("Explain it in its database") && !foreign.contains("Continue with it"))
        }
    }

    @Test func anExpiredTokenOfAnUnfinishedPullIsNotContinued() async throws {
        try await RequestStage.with { stage in
            _ = try await Self.tokens(stage)
            let page = try await stage.database.zoneChanges(
                ZoneChangesRequest(RequestStage.zone, limit: PageLimit(records: 1)))
            #expect(page.moreComing)
            let path = "token?token=\(page.syncToken.text)"
            #expect(try await stage.page(path).contains("Continue with this token"))
            #expect(try await !stage.page("\(path)&user=grace").contains("Continue with this token"))
            try await stage.database.require(.expireTokens).expireTokens()
            let expired = try await stage.page(path)
            #expect(
                expired.contains("This token has expired") && expired.contains("stopped between pages")
                    && !expired.contains("Continue with this token"))
        }
    }

    @Test func otherValuesAreNamedForWhatTheyAre() async throws {
        try await RequestStage.with { stage in
            let token = try await Self.tokens(stage).old
            let query = QueryRequest(
                Query(recordType: "Note", filters: [Query.Filter("rank", .equals, FieldInput(.int64(1)))]),
                in: .zone(RequestStage.zone), limit: PageLimit(records: 1))
            let marker = try #require(try await stage.database.query(query).continuationMarker)
            for (text, words) in [
                (String(token.prefix(30)), "cut short: 22 of 36 bytes"),
                (marker, "This is a continuationMarker, not a change token"), (marker, "in zone Notes"),
                ("HwoECJGaGRgAIhYIBBESExQVFhcYGRAaGxwdHh8gISIBKAA=", "only iCloud can read it"),
                ("https://cvws.icloud-content.com/B/a", "the address of an asset’s file"),
            ] {
                let page = try await stage.page("token?token=\(PercentEncoding.encoded(text))")
                #expect(page.contains(words) && !page.contains("note bad"), "\(words)")
            }
            #expect(
                try await stage.page("changes?zone=Notes&since=1&token=\(token.prefix(30))").contains(
                    "cut short: 22 of 36 bytes"))
            // A token of the right form that no store issued.
            var bytes = ChangeToken(text: token).bytes
            bytes[35] ^= 1
            #expect(
                try await stage.page("token?token=\(ChangeToken(bytes: bytes).text)").contains(
                    "No store of this server issued this token"))
        }
    }

    @Test func credentialsAreNotRepeatedAndStayInNoAddress() async throws {
        try await RequestStage.with { stage in
            let address = stage.address
            let secret = try await stage.accounts.makeAPIToken(
                named: "app", container: address.container, environment: .development, allowedOrigins: [], callback: nil
            ).secret
            for path in ["token?token=\(secret)", "find?q=\(secret)", "token?token=%22\(secret)%22,"] {
                let answer = try await stage.get("\(path)")
                #expect(
                    answer.status == .seeOther
                        && answer.headers[.location] == "\(RequestStage.there)/token?kind=apiToken", "\(path)")
            }
            let page = try await stage.page("token?kind=apiToken")
            #expect(page.contains("This is an API token") && page.contains("neither shown nor kept"))
            #expect(try await !stage.page("find/list?q=\(secret)").contains(secret))
            for form in [
                "token?x=1|token=\(secret)", "token?x=1|token=ckWebAuthToken%3D54__54__\(secret)",
                "errors|error=CKError+9+ckWebAuthToken%3D54__54__\(secret)",
            ] {
                let parts = form.split(separator: "|").map(String.init)
                let answer = try await stage.post(parts[0], parts[1])
                #expect(answer.status == .ok && !String(buffer: answer.body).contains(secret), "\(parts[0])")
            }
            #expect(try await stage.page("token?kind=nonsense").contains("How change tokens work"))
        }
    }

    @Test func aTokenIsDrawnOnTheTimelineOfItsZone() async throws {
        try await RequestStage.with { stage in
            let tokens = try await Self.tokens(stage)
            func after(_ page: String) -> [String] {
                page.matches(
                    of:
                        #/<th scope="row" class="name"><a href="[^"]*">(?:<bdi>[^<]*</bdi> <small>)?([^<]*)(?:</small>)?</a>/#
                ).map { String($0.output.1) }
            }
            let old = try await stage.page("token?token=\(tokens.old)")
            #expect(
                old.contains("On the timeline of Notes") && old.contains(">A</text>") && old.contains("class=\"had\"")
                    && after(old) == ["d", "a"])
            #expect(!old.contains("All changes after it"))
            let new = try await stage.page("token?token=\(tokens.new)")
            #expect(new.contains(">A</text>") && after(new).isEmpty)
            for number in 0..<6 { try await stage.save(Name("late\(number)")) }
            let more = try await stage.page("token?token=\(tokens.old)")
            #expect(
                after(more).count == 5
                    && more.contains(
                        "/changes?zone=Notes&amp;since=1&amp;token=\(tokens.old)\">All changes after it</a>")
            )
            #expect(try await !stage.page("token?token=\(tokens.database)").contains("On the timeline"))
            #expect(try await !stage.page("token?user=grace&token=\(tokens.old)").contains("On the timeline"))
            // An expired token still has its place, but nothing can be fetched with it.
            try await stage.database.require(.expireTokens).expireTokens()
            let expired = try await stage.page("token?token=\(tokens.old)")
            #expect(
                expired.contains("On the timeline of Notes") && expired.contains(">A</text>") && after(expired).isEmpty)
        }
    }

    @Test func aTokenIsTakenInEveryForm() async throws {
        try await RequestStage.with { stage in
            let bytes = ChangeToken(text: try await Self.tokens(stage).old).bytes
            let base64 = Data(bytes).base64EncodedString()
            let digits = bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
            for text in [
                base64, PercentEncoding.encoded(base64), digits, "<\(digits)>",
                "{length = \(bytes.count), bytes = 0x\(digits)}", "{\"syncToken\":\"\(base64)\"}",
            ] {
                let page = try await stage.page("token?token=\(PercentEncoding.encoded(text))")
                #expect(page.contains("This token is valid"), "\(text)")
                #expect(page.contains("<code data-copy-source>\(digits)</code>"), "\(text)")
                #expect(
                    page.contains("<code data-copy-source>{length = \(bytes.count), bytes = 0x\(digits)}</code>"),
                    "\(text)")
            }
        }
    }

    /// A change token as NSKeyedArchiver archives it.
    private static let archive =
        "YnBsaXN0MDDUAQIDBAUGFBdZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKkBwgNDlUk"
        + "bnVsbNIJCgsMViRjbGFzc1tDaGFuZ2VUb2tlboADgAJPEDQDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkq"
        + "KywtLi8wMTIzNDU20g8QERJYJGNsYXNzZXNaJGNsYXNzbmFtZaISE18QE0NLU2VydmVyQ2hhbmdlVG9rZW5YTlNPYmplY3TRFRZU"
        + "cm9vdIABEgABhqAIERskKTJESU9UW2dpa6KnsLu+1N3g5ecAAAAAAAABAQAAAAAAAAAYAAAAAAAAAAAAAAAAAAAA7A=="

    @Test func anArchiveIsTakenApart() async throws {
        try await RequestStage.with { stage in
            let page = try await stage.page("token?token=\(PercentEncoding.encoded(Self.archive))")
            for text in [
                "a keyed archive of CKServerChangeToken", "aria-label=\"The archive&#39;s objects\"", "ChangeToken",
                "<h2>The token in every form</h2>", "<h2>The archive in every form</h2>",
            ] { #expect(page.contains(text), "\(text)") }
        }
    }

    @Test func aTokenOfAnotherContainerLeadsThere() async throws {
        try await RequestStage.with { stage in
            var address = stage.address
            address.container = try #require(ContainerID("iCloud.com.example.Other"))
            let database = try await stage.engine.database(address, as: stage.user)
            _ = try await database.modifyZones([.create(ZoneID(zoneName: "Z"))])
            let token = try #require(try await database.fetchZones([ZoneID(zoneName: "Z")])[0].get().syncToken).text
            #expect(
                try await stage.page("token?token=\(token)").contains(
                    /href="\/c\/iCloud\.com\.example\.Other\/[^"]*">It is from [^<]*: explain it there/))
        }
    }

    @Test func theCauseOfAPartialFailureIsNamed() async throws {
        try await RequestStage.with { stage in
            let text = """
                <CKError 0x1: "Partial Failure" (2/1011); partial errors: {
                \tA1:(zone:__defaultOwner__) = <CKError 0x2: "Invalid Arguments" (12/2006); server message = \
                "Cannot create or modify field 'f' in record 'R' in production schema">
                \tB2 = <CKError 0x3: "Batch Request Failed" (22/2024)>
                }>
                """
            let page = try await stage.page("errors?error=\(PercentEncoding.encoded(text))")
            for words in [
                "invalidArguments of A1", "partialFailure", "deploy the schema", "Another item of the batch failed",
            ] { #expect(page.contains(words), "\(words)") }
        }
    }

    @Test func shortTextsBecomeLinksAndLongOnesAreAnswered() async throws {
        try await RequestStage.with { stage in
            let short = try await stage.post("token?zone=Notes", "token=AQ%2BD&with=")
            #expect(
                short.status == .seeOther
                    && short.headers[.location] == "\(RequestStage.there)/token?zone=Notes&token=AQ%2BD")
            let long = try await stage.post("token", "token=" + String(repeating: "ab", count: 3_000))
            #expect(long.status == .ok && String(buffer: long.body).contains("2.9 KB"))
            let error = try await stage.post("errors", "error=CKError+21")
            #expect(error.headers[.location] == "\(RequestStage.there)/errors?error=CKError%2021")
            let longError = String(
                buffer: try await stage.post("errors", "error=CKError+21" + String(repeating: "+x", count: 10_000)).body
            )
            #expect(longError.contains("too long to show again") && longError.contains("changeTokenExpired"))
            let tooLong = try await stage.post("errors", "error=" + String(repeating: "x", count: 100_000))
            #expect(tooLong.status == .ok && String(buffer: tooLong.body).contains("longer than 64 KB"))
            let far = try await stage.post("token", "token=" + String(repeating: "x", count: 8 << 20))
            #expect(far.status == .contentTooLarge)
        }
    }

    @Test func anEmptyFormSaysWhatToPaste() async throws {
        try await RequestStage.with { stage in
            for (name, field, words) in [
                ("token", "token", "paste a token, an archive of one"),
                ("errors", "error", "paste an error from a log"),
            ] {
                let sent = try await stage.post(name, "\(field)=&with=")
                #expect(sent.headers[.location] == "\(RequestStage.there)/\(name)?\(field)=")
                #expect(try await stage.page("\(name)?\(field)=").contains(words))
                #expect(try await !stage.page(name).contains("There is nothing to explain"))
            }
        }
    }

    @Test func twoTokensAreCompared() async throws {
        try await RequestStage.with { stage in
            let tokens = try await Self.tokens(stage)
            func page(_ first: String, _ second: String) async throws -> String {
                try await stage.page("token?token=\(first)&with=\(second)")
            }
            let older = try await page(tokens.old, tokens.new)
            #expect(
                older.contains("The first is older")
                    && older.contains("2 records changed last between them, and 0 after the newer one"))
            #expect(
                older.contains(
                    "since=1&amp;token=\(tokens.old)&amp;upto=\(tokens.new)\">Fetch changes between them</a>"))
            #expect(try await page(tokens.new, tokens.old).contains("The second is older"))
            #expect(try await page(tokens.old, tokens.old).contains("They are the same token"))
            #expect(try await page(tokens.old, tokens.database).contains("One is a database token"))
            let strange = try await page(tokens.old, "AQIDBAUG")
            #expect(
                strange.contains("It is unknown which one is older")
                    && strange.contains("Only the first one is from this server."))
            #expect(try await page("", tokens.old).contains("it holds 0"))
            #expect(try await page(tokens.old, "%21").contains("The second text can&#39;t be read"))
        }
    }

    @Test func anAnswerIsSearchedForTokensInTheWrongPlace() async throws {
        try await RequestStage.with { stage in
            let tokens = try await Self.tokens(stage)
            let answer = """
                {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"\(tokens.new)"},{"zoneID":{"zoneName":"Other"},"syncToken":"\(tokens.new)"},
                {"zoneID":{"zoneName":"Notes"},"syncToken":"\(tokens.database)"}],"continuationMarker":"AQID","syncToken":"!"}
                """
            let page = try await stage.page("token?token=\(PercentEncoding.encoded(answer))")
            for text in [
                "zones[0].syncToken", ">valid<", "belongs to another zone than the named one",
                "a database token where a zone token belongs", "continuation marker", "unreadable",
            ] {
                #expect(page.contains(text), "\(text)")
            }
            #expect(try await stage.page("token?token=%7B%7D").contains("no token in it"))
        }
    }

    @Test func whatCanNotBeReadSaysWhy() async throws {
        try await RequestStage.with { stage in
            for (text, reason) in [
                ("42%20bytes", "base64EncodedString()"), ("AQID", "Unknown sync continuation type"),
                ("%3Cscript%3E", "belongs to neither base64 nor hexadecimal text"),
            ] {
                let page = try await stage.page("token?token=\(text)")
                #expect(page.contains(reason))
            }
        }
    }

    @Test func theExampleNamesTheCurrentPlace() async throws {
        try await RequestStage.with { stage in
            _ = try await Self.tokens(stage)
            let page = try await stage.page("token")
            #expect(page.contains("The zone Notes has 4 records"))
            #expect(
                page.contains(
                    "/database/1/iCloud.com.example.App/development/private/changes/zone&#39; -d &#39;{&quot;zones&quot;:[{&quot;zoneID&quot;:{&quot;zoneName&quot;:&quot;Notes&quot;},&quot;desiredKeys&quot;:[]}]}&#39;"
                ))
            #expect(try await stage.page("token?user=grace").contains("-H &#39;X-Skylight-User: grace&#39;"))
        }
    }

    @Test func theRequestOfAnErrorIsFound() async throws {
        try await RequestStage.with { stage in
            var request = stage.request("records/query")
            request.status = 400
            stage.log.note(request)
            let text =
                "{\"uuid\":\"\(request.id.uppercased())\",\"serverErrorCode\":\"BAD_REQUEST\",\"reason\":\"Type is not marked indexable: <T>\"}"
            let page = try await stage.page("errors?error=\(PercentEncoding.encoded(text))")
            #expect(
                page.contains("requests?id=\(PercentEncoding.encoded(request.id))") && page.contains("answered 400"))
            #expect(page.contains("has no index at all") && page.contains("&lt;T&gt;"))
            let other = try await stage.page(
                "errors?error=\(PercentEncoding.encoded(text.replacing(request.id.uppercased(), with: "0000")))")
            #expect(other.contains("The request log has no request with this uuid"))
        }
    }

    @Test func codesAreListedAndFiltered() async throws {
        try await RequestStage.with { stage in
            let all = try await stage.page("errors")
            #expect(all.matches(of: /data-words=/).count > 60 && all.utf8.count < 100_000)
            #expect(
                all.contains("Messages of CloudKit") && all.contains("few reports; the cause is likely, not certain"))
            let message = try await stage.page("errors?find=rootRecord")
            #expect(
                message.matches(of: /data-words=/).count == 1
                    && message.contains("An added share is being saved without its rootRecord"))
            let some = try await stage.page("errors?find=Old+token+zone")
            #expect(
                some.matches(of: /data-words=/).count == 1 && some.contains(">21</td>")
                    && some.contains("changeTokenExpired"))
            #expect(try await stage.page("errors?find=nonsense").contains("<p class=\"remark\" data-nothing>"))
            #expect(try await stage.page("errors?error=nonsense").contains("This text has no CloudKit error"))
        }
    }
}
