import Accounts
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console

/// Pages over the in-memory engine, without scripts.
@Suite struct PageTests {
    private static let there = "/c/iCloud.com.example.App/development/private"

    /// A console over a container with a zone of three notes, the first of which is the parent of the others and was
    /// saved last.
    private func withConsole(_ body: @Sendable (any TestClientProtocol, any RecordDatabase) async throws -> Void)
        async throws
    {
        try await RequestStage.with { stage in
            let database = stage.database
            func save(_ name: Name, _ rank: Int64, parent: RecordOperation.Parent = .unchanged) async throws {
                try await database.save(
                    name, type: "Note", in: ZoneID(zoneName: "Notes"),
                    ["title": .string("<\(name)>"), "rank": .int64(rank)], parent: parent)
            }
            try await save("first", 1)
            try await save("second", 2, parent: .record("first"))
            try await save("third", 3, parent: .record("first"))
            try await save("first", 4)
            try await body(stage.client, database)
        }
    }

    private func get(_ path: String, _ client: any TestClientProtocol) async throws -> TestResponse {
        try await client.execute(uri: path, method: .get) { $0 }
    }

    private func post(_ path: String, _ form: String, _ client: any TestClientProtocol) async throws -> TestResponse {
        try await client.execute(uri: path, method: .post, body: ByteBuffer(string: form)) { $0 }
    }

    @Test(arguments: [
        "query", "query?type=Note", "query?type=Nothing", "fetch", "fetch?names=first%0Anobody", "changes",
        "changes?zone=Notes", "changes?zone=nowhere",
        "changes?zone=Notes&since=1&token=x", "record?zone=Notes&name=first", "record?zone=Notes&name=nobody", "zones",
        "zone?zone=Notes",
        "zone/delete?zone=Notes", "zone/purge?zone=Notes", "types", "type?type=Note", "schema", "token",
        "token?token=x", "rehearsals",
        "rehearsals/confirm?start=reset-zone&of=Notes", "users", "find?q=nobody", "record/delete?zone=Notes&name=first",
        "objects", "objects/entity?type=CD_Note", "type?type=Users", "type?type=Note&usage=1",
        "type/remove?type=Note", "field/remove?type=Note&field=title", "indexes", "indexes?show=all",
        "indexes?find=title", "indexes?find=nothing", "roles", "roles?type=Note", "history",
    ])
    func everyPageAnswers(path: String) async throws {
        try await withConsole { client, _ in
            let answer = try await get("\(Self.there)/\(path)", client)
            #expect(answer.status == .ok)
            let text = String(buffer: answer.body)
            #expect(text.contains("<main id=\"main\"") && text.hasSuffix("</html>"))
            #expect(!text.contains("{{") && !text.contains("Optional("))
        }
    }

    @Test(arguments: [
        "/c/iCloud.com.example.Other/development/private/query", "/c/nonsense/development/private/query",
        "/c/iCloud.com.example.App/staging/private/query",
        "\(there)/nothing", "\(there)/query?user=nobody", "\(there)/zone?zone=nowhere", "\(there)/type?type=Nothing",
        "\(there)/type/remove?type=Nothing", "\(there)/field/remove?type=Nothing&field=title",
        "\(there)/field/remove?type=Note&field=nothing", "\(there)/roles?type=Nothing",
        "\(there)/record/delete?zone=Notes&name=nobody", "/static/nothing.css", "/static/layout.mustache",
        // What a form posts to.
        "\(there)/zones/create", "\(there)/zone/share?zone=Notes", "\(there)/type/indexes", "\(there)/types/create",
        "\(there)/type/title", "\(there)/composites/change", "\(there)/roles/add", "\(there)/roles/remove",
        "\(there)/roles/grants",
        "\(there)/users/add", "\(there)/keys/token", "\(there)/keys/key",
        "\(there)/rehearsals/start", "\(there)/rehearsals/stop", "/rehearsals/stop",
    ])
    func whatIsNotThereHasAPage(path: String) async throws {
        try await withConsole { client, _ in
            let answer = try await get(path, client)
            #expect(answer.status == .notFound)
            #expect(String(buffer: answer.body).contains("<main id=\"main\""))
            #expect(!String(buffer: try await get("/", client).body).contains("Other"))
        }
    }

    @Test func aRefusedQueryGetsItsIndexAndRuns() async throws {
        try await withConsole { client, _ in
            let refused = String(buffer: try await get("\(Self.there)/query?type=Note", client).body)
            #expect(refused.contains("Field &#39;recordName&#39; is not marked queryable"))
            #expect(refused.contains("&quot;___recordID&quot; REFERENCE QUERYABLE"))
            #expect(refused.contains("/changes\">Browse through Changes"))
            let form = "type=Note&add=___recordID%3AQUERYABLE&back=\(Self.there)/query%3Ftype%3DNote"
            let answer = try await post("\(Self.there)/type/indexes", form, client)
            #expect(answer.status == .seeOther)
            #expect(answer.headers[.location]?.hasPrefix("\(Self.there)/query?type=Note&notice=") == true)
            let page = String(buffer: try await get("\(Self.there)/query?type=Note", client).body)
            #expect(page.contains("<b>3 records</b> of 3"))
            #expect(page.contains("&lt;second&gt;") && !page.contains("<second>"))
        }
    }

    @Test func buttonsOfTheFormLeadToItsURL() async throws {
        try await withConsole { client, _ in
            let added = try await get("\(Self.there)/query?type=Note&filter1=&sort1=rank&add=filter", client)
            #expect(added.status == .seeOther)
            #expect(
                added.headers[.location]
                    == "\(Self.there)/query?type=Note&filter1=title&is1=EQUALS&value1=&sort1=rank&edit=1")
            let removed = try await get(
                "\(Self.there)/query?type=Note&filter1=&filter2=title&value2=x&filter3=rank&value3=1&remove=filter3&draft=1",
                client)
            #expect(removed.headers[.location] == "\(Self.there)/query?type=Note&filter1=title&value1=x&draft=1&edit=1")
        }
    }

    @Test func aChildBeforeItsParentIsMarked() async throws {
        try await withConsole { client, _ in
            let page = String(buffer: try await get("\(Self.there)/changes?zone=Notes", client).body)
            #expect(page.matches(of: />parent comes later</).count == 1)
            #expect(page.contains("first, its parent, was saved again later, at position"))
            #expect(
                page.contains("2 records here come before a record they depend on. The first before each is marked."))
            let reverse = String(buffer: try await get("\(Self.there)/changes?zone=Notes&order=reverse", client).body)
            #expect(!reverse.contains("parent comes later"))
        }
    }

    @Test func aRecordIsDeletedAsItWasSeen() async throws {
        try await withConsole { client, database in
            let question = String(
                buffer: try await get("\(Self.there)/record/delete?zone=Notes&name=second", client).body)
            let tag = try #require(question.firstMatch(of: /name="tag" value="([^"]*)"/)?.output.1)
            _ = try await database.modify(
                ModifyRequest(
                    [RecordOperation(.forceUpdate, recordName: "second", recordType: "Note")],
                    zoneID: ZoneID(zoneName: "Notes")))
            let path = "\(Self.there)/record/delete?zone=Notes"
            let late = try await post(path, "name=second&tag=\(tag)", client)
            #expect(late.status == .conflict)
            let again = String(buffer: try await get("\(Self.there)/record/delete?zone=Notes&name=second", client).body)
            let current = try #require(again.firstMatch(of: /name="tag" value="([^"]*)"/)?.output.1)
            #expect(try await post(path, "name=second&tag=\(current)", client).status == .seeOther)
            #expect(
                String(buffer: try await get("\(Self.there)/record?zone=Notes&name=second", client).body).contains(
                    "<p>Deleted <time"))
        }
    }

    @Test func zonesAreMadeSharedAndEnded() async throws {
        try await withConsole { client, database in
            #expect(
                try await post("\(Self.there)/zones/create", "zoneName=New+one", client).headers[.location]?.contains(
                    "zone=New%20one") == true)
            for (name, reason) in [("_bad zone", "zoneName"), ("Notes", "The zone &#39;Notes&#39; exists already")] {
                let refused = try await post(
                    "\(Self.there)/zones/create", "zoneName=\(name.replacing(" ", with: "+"))", client)
                let page = String(buffer: refused.body)
                #expect(
                    refused.status == .badRequest && page.contains(reason) && page.contains("<h1>Zones</h1>"), "\(name)"
                )
                #expect(
                    page.contains("name=\"zoneName\" value=\"\(name)\"")
                        && page.contains(">Open Notes</a>") == (name == "Notes"), "\(name)")
            }
            let share = try await post("\(Self.there)/zone/share?zone=Notes", "with=grace&permission=READ_ONLY", client)
            #expect(share.status == .seeOther)
            let shared = "/c/iCloud.com.example.App/development/shared"
            #expect(String(buffer: try await get("\(shared)/zones?user=grace", client).body).contains(">Notes</a>"))
            let zone = String(buffer: try await get("\(Self.there)/zone?zone=Notes", client).body)
            #expect(zone.contains(">Act as Grace</a>"))
            let stop = try #require(zone.firstMatch(of: /href="([^"]*)">Stop sharing…/)?.output.1)
            let asked = String(stop).replacing("&amp;", with: "&")
            #expect(String(buffer: try await get(asked, client).body).contains("<h1>Stop sharing Notes with "))
            let user = User.recordName(ofHandle: "grace")
            #expect(
                try await post("\(Self.there)/zone/unshare?zone=Notes", "with=\(user)", client).status == .seeOther)
            let gone = String(buffer: try await get("\(shared)/zones?user=grace", client).body)
            #expect(gone.contains("no longer shared") && !gone.contains(">Notes</a>"))
            #expect(
                try await post("\(Self.there)/zone/share?zone=Notes", "with=nobody&permission=READ_ONLY", client).status
                    == .badRequest)
            #expect(try await post("\(Self.there)/zone/delete?zone=Notes", "", client).status == .seeOther)
            #expect(try await post("\(Self.there)/zone/purge?zone=New%20one", "", client).status == .seeOther)
            #expect(try await database.zones().map(\.zoneID.zoneName) == ["_defaultZone"])
        }
    }

    @Test func anAddressThatEndsBeforeThePageLeadsToSync() async throws {
        try await withConsole { client, _ in
            for (address, home) in [
                ("/c/iCloud.com.example.App", "development/private"),
                ("/c/iCloud.com.example.App/production", "production/private"),
                ("/c/iCloud.com.example.App/production/public", "production/public"),
            ] {
                let answer = try await get(address, client)
                #expect(
                    answer.status == .seeOther && answer.headers[.location] == "/c/iCloud.com.example.App/\(home)/sync",
                    "\(address)")
            }
            #expect(
                try await get("/c/iCloud.com.example.App/development/private?user=grace", client).headers[.location]
                    == "\(Self.there)/sync?user=grace")
            for address in [
                "/c/none", "/c/iCloud.com.example.App/staging", "/c/iCloud.com.example.App/production/secret",
            ] {
                #expect(try await get(address, client).status == .notFound, "\(address)")
            }
        }
    }

    @Test func manyZonesAreSearched() async throws {
        try await withConsole { client, database in
            #expect(!String(buffer: try await get("\(Self.there)/query", client).body).contains("Find a zone"))
            _ = try await database.modifyZones((0..<60).map { .create(ZoneID(zoneName: Name("Room \($0)"))) })
            let left = try await database.zones().count - Frame.zoneLimit
            let page = String(buffer: try await get("\(Self.there)/query", client).body)
            #expect(
                page.contains("aria-label=\"Find a zone\"") && page.contains("\(left) more zones")
                    && page.contains("action=\"\(Self.there)/zones\""))
            // The search is above the choices, and a zone that it finds leads back to the page, as do those of the list
            // of all.
            let menu = try #require(page.firstMatch(of: /(?s)<small>zone<\/small>.*?<\/details>/)).output
            #expect(
                menu.contains(/(?s)<input type="search".*<ul>/) && menu.contains("name=\"for\" value=\"query\"")
                    && menu.contains("/zones?for=query\""))
            let choice = String(
                buffer: try await get("\(Self.there)/zones?for=query&type=Note&find=Room%207", client).body)
            #expect(
                choice.contains("A zone leads back to Query.")
                    && choice.contains("href=\"\(Self.there)/query?zone=Room%207&amp;type=Note\">Room 7<")
                    && choice.contains("name=\"type\" value=\"Note\""))
            #expect(
                String(buffer: try await get("\(Self.there)/zones?for=nowhere&find=Room%207", client).body).contains(
                    "href=\"\(Self.there)/zone?zone=Room%207\">Room 7<"))
            // A form offers no more zones than a person reads, and the one that is chosen.
            _ = try await database.modifyZones((60..<160).map { .create(ZoneID(zoneName: Name("Room \($0)"))) })
            let form = String(buffer: try await get("\(Self.there)/query?zone=Room%2099", client).body)
            let select = try #require(form.firstMatch(of: /(?s)<select name="zone".*?<\/select>/)).output
            #expect(
                select.matches(of: /<option/).count == 103 && select.contains("more on the page Zones")
                    && select.contains(">Room 99<"))
            for page in ["record/new", "importing"] {
                let form = String(buffer: try await get("\(Self.there)/\(page)?zone=Room%2099", client).body)
                let select = try #require(form.firstMatch(of: /(?s)<select[^>]* name="zone".*?<\/select>/), "\(page)")
                    .output
                #expect(select.matches(of: /<option/).count == 102 && select.contains(">Room 99<"), "\(page)")
            }
            let found = String(buffer: try await get("\(Self.there)/zones?find=ROOM%205", client).body)
            #expect(
                found.matches(of: /<th scope="row"><a/).count == 11 && found.contains(">Room 59</a>")
                    && found.contains("value=\"ROOM 5\""))
            let nothing = String(buffer: try await get("\(Self.there)/zones?find=%3Cx%3E", client).body)
            #expect(nothing.contains("No zone’s name contains ‘&lt;x&gt;’.") && !nothing.contains(">Room 59</a>"))
        }
    }

    @Test func productionSchemaIsNotEdited() async throws {
        try await withConsole { client, _ in
            let there = Self.there.replacing("development", with: "production")
            let answer = try await post("\(there)/type/indexes", "type=Users&add=roles%3AQUERYABLE", client)
            #expect(answer.status == .forbidden)
            #expect(String(buffer: answer.body).contains("ACCESS_DENIED"))
        }
    }

    @Test func staticFilesAreAskedForOnce() async throws {
        try await withConsole { client, _ in
            let home = String(buffer: try await get("/", client).body)
            let path = try #require(home.firstMatch(of: /href="(\/static\/[^"\/]+\/skylight\.css)"/)?.output.1)
            let answer = try await get(String(path), client)
            #expect(answer.status == .ok)
            #expect(answer.headers[.contentType] == "text/css; charset=utf-8")
            #expect(answer.headers[.cacheControl]?.contains("immutable") == true)
            let tag = try #require(answer.headers[.eTag])
            for value in [tag, "W/\(tag)", "\"other\", \(tag)"] {
                let headers: HTTPFields = [.ifNoneMatch: value]
                let again = try await client.execute(uri: "/static/skylight.css", method: .get, headers: headers) { $0 }
                #expect(again.status == .notModified)
                #expect(again.headers[.cacheControl] == "no-cache")
            }
            #expect(
                try await get("/static/palette.js", client).headers[.contentType] == "text/javascript; charset=utf-8")
            // A script imports others from its own folder, so their addresses have the version too.
            let imported = try await get(String(path).replacing("skylight.css", with: "columns.js"), client)
            #expect(imported.status == .ok && imported.headers[.cacheControl]?.contains("immutable") == true)
            // A page from before an update asks for an old version.
            let old = try await get("/static/old/columns.js", client)
            #expect(old.status == .ok && old.headers[.cacheControl] == "no-cache")
            #expect(try await get("/static/old/nothing.js", client).status == .notFound)
        }
    }

    @Test func theVersionOfStaticFilesDependsOnNamesAndBorders() {
        let folders: [[String: [UInt8]]] = [
            ["a.js": [1, 2], "b.js": [3]], ["a.js": [1], "b.js": [2, 3]], ["a.js": [1, 2], "c.js": [3]],
        ]
        #expect(Set(folders.map { StaticFiles.version(of: $0) }).count == folders.count)
    }
}
