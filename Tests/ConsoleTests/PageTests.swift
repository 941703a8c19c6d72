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
    private func withConsole(_ body: @Sendable (RequestStage) async throws -> Void) async throws {
        try await RequestStage.with { stage in
            func save(_ name: Name, _ rank: Int64, parent: RecordOperation.Parent = .unchanged) async throws {
                try await stage.database.save(
                    name, type: "Note", in: ZoneID(zoneName: "Notes"),
                    ["title": .string("<\(name)>"), "rank": .int64(rank)], parent: parent)
            }
            try await save("first", 1)
            try await save("second", 2, parent: .record("first"))
            try await save("third", 3, parent: .record("first"))
            try await save("first", 4)
            try await body(stage)
        }
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
        try await withConsole { stage in
            let answer = try await stage.get(path)
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
        try await withConsole { stage in
            let answer = try await stage.get(path)
            #expect(answer.status == .notFound)
            #expect(String(buffer: answer.body).contains("<main id=\"main\""))
            #expect(try await !stage.page("/").contains("Other"))
        }
    }

    @Test func aRefusedQueryGetsItsIndexAndRuns() async throws {
        try await withConsole { stage in
            let refused = try await stage.page("query?type=Note")
            #expect(refused.contains("Field &#39;recordName&#39; is not marked queryable"))
            #expect(refused.contains("&quot;___recordID&quot; REFERENCE QUERYABLE"))
            #expect(refused.contains("/changes\">Browse through Changes"))
            let form = "type=Note&add=___recordID%3AQUERYABLE&back=\(Self.there)/query%3Ftype%3DNote"
            let answer = try await stage.post("type/indexes", form)
            #expect(answer.status == .seeOther)
            #expect(answer.headers[.location]?.hasPrefix("\(Self.there)/query?type=Note&notice=") == true)
            let page = try await stage.page("query?type=Note")
            #expect(page.contains("<b>3 records</b> of 3"))
            #expect(page.contains("&lt;second&gt;") && !page.contains("<second>"))
        }
    }

    @Test func buttonsOfTheFormLeadToItsURL() async throws {
        try await withConsole { stage in
            let added = try await stage.get("query?type=Note&filter1=&sort1=rank&add=filter")
            #expect(added.status == .seeOther)
            #expect(
                added.headers[.location]
                    == "\(Self.there)/query?type=Note&filter1=title&is1=EQUALS&value1=&sort1=rank&edit=1")
            let removed = try await stage.get(
                "query?type=Note&filter1=&filter2=title&value2=x&filter3=rank&value3=1&remove=filter3&draft=1"
            )
            #expect(removed.headers[.location] == "\(Self.there)/query?type=Note&filter1=title&value1=x&draft=1&edit=1")
        }
    }

    @Test func aChildBeforeItsParentIsMarked() async throws {
        try await withConsole { stage in
            let page = try await stage.page("changes?zone=Notes")
            #expect(page.matches(of: />parent comes later</).count == 1)
            #expect(page.contains("first, its parent, was saved again later, at position"))
            #expect(
                page.contains("2 records here come before a record they depend on. The first before each is marked."))
            let reverse = try await stage.page("changes?zone=Notes&order=reverse")
            #expect(!reverse.contains("parent comes later"))
        }
    }

    @Test func aRecordIsDeletedAsItWasSeen() async throws {
        try await withConsole { stage in
            let question = try await stage.page("record/delete?zone=Notes&name=second")
            let tag = try #require(question.firstMatch(of: /name="tag" value="([^"]*)"/)?.output.1)
            _ = try await stage.database.modify(
                ModifyRequest(
                    [RecordOperation(.forceUpdate, recordName: "second", recordType: "Note")],
                    zoneID: ZoneID(zoneName: "Notes")))
            let path = "record/delete?zone=Notes"
            let late = try await stage.post(path, "name=second&tag=\(tag)")
            #expect(late.status == .conflict)
            let again = try await stage.page("record/delete?zone=Notes&name=second")
            let current = try #require(again.firstMatch(of: /name="tag" value="([^"]*)"/)?.output.1)
            #expect(try await stage.post(path, "name=second&tag=\(current)").status == .seeOther)
            #expect(
                try await stage.page("record?zone=Notes&name=second").contains(
                    "<p>Deleted <time"))
        }
    }

    @Test func zonesAreMadeSharedAndEnded() async throws {
        try await withConsole { stage in
            #expect(
                try await stage.post("zones/create", "zoneName=New+one").headers[.location]?.contains(
                    "zone=New%20one") == true)
            for (name, reason) in [("_bad zone", "zoneName"), ("Notes", "The zone &#39;Notes&#39; exists already")] {
                let refused = try await stage.post(
                    "zones/create", "zoneName=\(name.replacing(" ", with: "+"))")
                let page = String(buffer: refused.body)
                #expect(
                    refused.status == .badRequest && page.contains(reason) && page.contains("<h1>Zones</h1>"), "\(name)"
                )
                #expect(
                    page.contains("name=\"zoneName\" value=\"\(name)\"")
                        && page.contains(">Open Notes</a>") == (name == "Notes"), "\(name)")
            }
            let share = try await stage.post("zone/share?zone=Notes", "with=grace&permission=READ_ONLY")
            #expect(share.status == .seeOther)
            let shared = "/c/iCloud.com.example.App/development/shared"
            #expect(try await stage.page("\(shared)/zones?user=grace").contains(">Notes</a>"))
            let zone = try await stage.page("zone?zone=Notes")
            #expect(zone.contains(">Act as Grace</a>"))
            let stop = try #require(zone.firstMatch(of: /href="([^"]*)">Stop sharing…/)?.output.1)
            let asked = String(stop).replacing("&amp;", with: "&")
            #expect(try await stage.page(asked).contains("<h1>Stop sharing Notes with "))
            let user = User.recordName(ofHandle: "grace")
            #expect(
                try await stage.post("zone/unshare?zone=Notes", "with=\(user)").status == .seeOther)
            let gone = try await stage.page("\(shared)/zones?user=grace")
            #expect(gone.contains("no longer shared") && !gone.contains(">Notes</a>"))
            #expect(
                try await stage.post("zone/share?zone=Notes", "with=nobody&permission=READ_ONLY").status
                    == .badRequest)
            #expect(try await stage.post("zone/delete?zone=Notes", "").status == .seeOther)
            #expect(try await stage.post("zone/purge?zone=New%20one", "").status == .seeOther)
            #expect(try await stage.database.zones().map(\.zoneID.zoneName) == ["_defaultZone"])
        }
    }

    @Test func anAddressThatEndsBeforeThePageLeadsToSync() async throws {
        try await withConsole { stage in
            for (address, home) in [
                ("/c/iCloud.com.example.App", "development/private"),
                ("/c/iCloud.com.example.App/production", "production/private"),
                ("/c/iCloud.com.example.App/production/public", "production/public"),
            ] {
                let answer = try await stage.get(address)
                #expect(
                    answer.status == .seeOther && answer.headers[.location] == "/c/iCloud.com.example.App/\(home)/sync",
                    "\(address)")
            }
            #expect(
                try await stage.get("/c/iCloud.com.example.App/development/private?user=grace").headers[.location]
                    == "\(Self.there)/sync?user=grace")
            for address in [
                "/c/none", "/c/iCloud.com.example.App/staging", "/c/iCloud.com.example.App/production/secret",
            ] {
                #expect(try await stage.get(address).status == .notFound, "\(address)")
            }
        }
    }

    @Test func manyZonesAreSearched() async throws {
        try await withConsole { stage in
            #expect(try await !stage.page("query").contains("Find a zone"))
            _ = try await stage.database.modifyZones((0..<60).map { .create(ZoneID(zoneName: Name("Room \($0)"))) })
            let left = try await stage.database.zones().count - Frame.zoneLimit
            let page = try await stage.page("query")
            #expect(
                page.contains("aria-label=\"Find a zone\"") && page.contains("\(left) more zones")
                    && page.contains("action=\"\(Self.there)/zones\""))
            // The search is above the choices, and a zone that it finds leads back to the page, as do those of the list
            // of all.
            let menu = try #require(page.firstMatch(of: /(?s)<small>zone<\/small>.*?<\/details>/)).output
            #expect(
                menu.contains(/(?s)<input type="search".*<ul>/) && menu.contains("name=\"for\" value=\"query\"")
                    && menu.contains("/zones?for=query\""))
            let choice = try await stage.page("zones?for=query&type=Note&find=Room%207")
            #expect(
                choice.contains("A zone leads back to Query.")
                    && choice.contains("href=\"\(Self.there)/query?zone=Room%207&amp;type=Note\">Room 7<")
                    && choice.contains("name=\"type\" value=\"Note\""))
            #expect(
                try await stage.page("zones?for=nowhere&find=Room%207").contains(
                    "href=\"\(Self.there)/zone?zone=Room%207\">Room 7<"))
            // A form offers no more zones than a person reads, and the one that is chosen.
            _ = try await stage.database.modifyZones((60..<160).map { .create(ZoneID(zoneName: Name("Room \($0)"))) })
            let form = try await stage.page("query?zone=Room%2099")
            let select = try #require(form.firstMatch(of: /(?s)<select name="zone".*?<\/select>/)).output
            #expect(
                select.matches(of: /<option/).count == 103 && select.contains("more on the page Zones")
                    && select.contains(">Room 99<"))
            for page in ["record/new", "importing"] {
                let form = try await stage.page("\(page)?zone=Room%2099")
                let select = try #require(form.firstMatch(of: /(?s)<select[^>]* name="zone".*?<\/select>/), "\(page)")
                    .output
                #expect(select.matches(of: /<option/).count == 102 && select.contains(">Room 99<"), "\(page)")
            }
            let found = try await stage.page("zones?find=ROOM%205")
            #expect(
                found.matches(of: /<th scope="row"><a/).count == 11 && found.contains(">Room 59</a>")
                    && found.contains("value=\"ROOM 5\""))
            let nothing = try await stage.page("zones?find=%3Cx%3E")
            #expect(nothing.contains("No zone’s name contains ‘&lt;x&gt;’.") && !nothing.contains(">Room 59</a>"))
        }
    }

    @Test func productionSchemaIsNotEdited() async throws {
        try await withConsole { stage in
            let answer = try await stage.post("type/indexes", "type=Users&add=roles%3AQUERYABLE", in: "production")
            #expect(answer.status == .forbidden)
            #expect(String(buffer: answer.body).contains("ACCESS_DENIED"))
        }
    }

    @Test func staticFilesAreAskedForOnce() async throws {
        try await withConsole { stage in
            let home = try await stage.page("/")
            let path = try #require(home.firstMatch(of: /href="(\/static\/[^"\/]+\/skylight\.css)"/)?.output.1)
            let answer = try await stage.get(String(path))
            #expect(answer.status == .ok)
            #expect(answer.headers[.contentType] == "text/css; charset=utf-8")
            #expect(answer.headers[.cacheControl]?.contains("immutable") == true)
            let tag = try #require(answer.headers[.eTag])
            for value in [tag, "W/\(tag)", "\"other\", \(tag)"] {
                let headers: HTTPFields = [.ifNoneMatch: value]
                let again = try await stage.get("/static/skylight.css", headers)
                #expect(again.status == .notModified)
                #expect(again.headers[.cacheControl] == "no-cache")
            }
            #expect(
                try await stage.get("/static/palette.js").headers[.contentType] == "text/javascript; charset=utf-8")
            // A script imports others from its own folder, so their addresses have the version too.
            let imported = try await stage.get(String(path).replacing("skylight.css", with: "columns.js"))
            #expect(imported.status == .ok && imported.headers[.cacheControl]?.contains("immutable") == true)
            // A page from before an update asks for an old version.
            let old = try await stage.get("/static/old/columns.js")
            #expect(old.status == .ok && old.headers[.cacheControl] == "no-cache")
            #expect(try await stage.get("/static/old/nothing.js").status == .notFound)
        }
    }

    @Test func theVersionOfStaticFilesDependsOnNamesAndBorders() {
        let folders: [[String: [UInt8]]] = [
            ["a.js": [1, 2], "b.js": [3]], ["a.js": [1], "b.js": [2, 3]], ["a.js": [1, 2], "c.js": [3]],
        ]
        #expect(Set(folders.map { StaticFiles.version(of: $0) }).count == folders.count)
    }
}
