import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

/// The tab Fetch in all zones, and its answers about names that are not there.
@Suite struct FetchPageTests {
    private static let other = ZoneID(zoneName: "Other")

    @Test(arguments: ["", "&as=table", "&assets=with"])
    func namesAreFoundInAllZones(shape: String) async throws {
        try await EditStage.run { stage in
            try await stage.save("note", ["title": .string("in Notes")])
            try await stage.save("far", ["title": .string("in Other")], in: Self.other)
            try await stage.save("both", ["title": .string("twice")])
            try await stage.save("both", ["title": .string("twice")], in: Self.other)
            for zone in ["", "&zone="] {
                let page = try await stage.page("fetch?names=far%0Anote%0Aboth%0Anobody\(zone)\(shape)")
                #expect(page.contains("<option value=\"\" selected>all zones</option>"))
                #expect(page.contains("<b>4 records</b> found") && page.contains("1 not found"))
                // One name has a record in each zone.
                #expect(page.contains(">4 records found, 1 not found<"))
                #expect(
                    page.contains("record?zone=Other&amp;name=far") && page.contains("record?zone=Notes&amp;name=note"))
                #expect(
                    page.contains("record?zone=Other&amp;name=both") && page.contains("record?zone=Notes&amp;name=both")
                )
                if shape != "&assets=with" { #expect(page.contains(">zone<") && page.contains("Other</")) }
            }
            // In one zone, the zone is not repeated on each line.
            let one = try await stage.page("fetch?zone=Notes&names=note\(shape)")
            #expect(one.contains("<b>1 record</b> found") && !one.contains("<th scope=\"col\">zone"))
        }
    }

    @Test(arguments: ["", "&as=table"])
    func onlyTheFieldsThatAreAskedForAreReturned(shape: String) async throws {
        try await EditStage.run { stage in
            try await stage.save("a", ["title": .string("Milk"), "body": .string("two litres")])
            try await stage.save("b", ["title": .string("Bread"), "body": .string("rye")])
            // The name from the suggestions is one more.
            let page = try await stage.page("fetch?zone=Notes&names=a&name=b&key=title\(shape)")
            #expect(page.contains(">2 records found<") && page.contains("Milk") && page.contains("Bread"))
            #expect(!page.contains("two litres") && !page.contains("rye"))
            #expect(page.contains("name=\"key\" value=\"title\" checked") && page.contains("data-names=\""))
            #expect(page.contains(/returning <[^>]*>title</) && page.contains("desiredKeys: [&quot;title&quot;]"))
            let file = String(buffer: try await stage.get("fetch.csv?zone=Notes&names=a&key=title").body)
            #expect(file.contains("Milk") && !file.contains("two litres"))
        }
    }

    @Test(arguments: ["", "&as=table", "&assets=with"])
    func aNameThatIsNotThereSaysWhereItIs(shape: String) async throws {
        try await EditStage.run { stage in
            try await stage.save("far", [:], in: Self.other)
            try await stage.save("gone", ["title": .string("x")])
            try await stage.database().delete("gone", in: EditStage.notes)
            let page = try await stage.page("fetch?zone=Notes&names=far%0Agone%0Anobody\(shape)")
            #expect(page.contains(">in Other</a>") && page.contains("record?zone=Other&amp;name=far"))
            #expect(page.contains(/>deleted [^<]* by Developer<\/a>/) && page.matches(of: />restore<\/a>/).count == 1)
            #expect(page.contains("3 not found") && page.matches(of: />NOT_FOUND</).count == 3)
            let restore = try #require(page.firstMatch(of: /\(<a href="([^"]*record\/restore[^"]*)"/)?.output.1)
            #expect(try await stage.get(String(restore).replacing("&amp;", with: "&")).status == .ok)
            let everywhere = try await stage.page("fetch?names=gone\(shape)")
            #expect(everywhere.contains(/>deleted in Notes [^<]* by Developer<\/a>/))
            let elsewhere = try await stage.page("fetch?zone=Other&names=gone\(shape)")
            #expect(elsewhere.contains(/>deleted in Notes [^<]* by Developer<\/a>/))
        }
    }

    @Test func thePageOfARecordThatIsNotThereSaysWhereItIs() async throws {
        try await EditStage.run { stage in
            try await stage.save("far", [:], in: Self.other)
            try await stage.save("gone", ["title": .string("x")])
            try await stage.database().delete("gone", in: EditStage.notes)
            let far = try await stage.page("record?zone=Notes&name=far")
            #expect(
                far.contains(
                    "A record with this name: <a href=\"\(EditStage.there)/record?zone=Other&amp;name=far\">in Other</a>"
                ) && !far.contains("It may have been deleted"))
            let gone = try await stage.page("record?zone=Other&name=gone")
            #expect(
                gone.contains(
                    /A record with this name: <a href="[^"]*">deleted in Notes [^<]* by Developer<\/a> \(<a href="[^"]*record\/restore/
                ))
            #expect(
                try await stage.page("record?zone=Notes&name=nobody").contains(
                    "It may have been deleted, or be in another zone or database."))
        }
    }

    @Test func aFileHasTheRecordsOfAllZones() async throws {
        try await EditStage.run { stage in
            try await stage.save("note", ["title": .string("a")])
            try await stage.save("far", ["title": .string("b")], in: Self.other)
            let text = String(buffer: try await stage.get("fetch.csv?names=far%0Anote%0Anobody").body)
            #expect(text.contains("far") && text.contains("Other") && text.contains("Notes") && text.contains("nobody"))
            let many = (0...200).map { "r\($0)" }.joined(separator: "%0A")
            #expect(try await stage.get("fetch.csv?names=\(many)").status == .badRequest)
            #expect(try await stage.page("fetch?names=\(many)").contains("A request may have 200 record names"))
        }
    }

    @Test func namesAreTypedLineByLine() async throws {
        try await EditStage.run { stage in
            #expect(try await stage.page("fetch?zone=Notes").contains("<details open>"))
            for name: Name in ["note", "Room/1"] { try await stage.save(name, ["title": .string("text of it")]) }
            let page = try await stage.page("fetch?zone=Notes&names=note%0A%0A%20Room/1%20%0Anobody%0A")
            #expect(page.contains(">2 records found, 1 not found<") && !page.contains("<details open>"))
            #expect(page.matches(of: /name="pick"/).count == 2, "what is not there can't be picked")
            // A name goes with one click.
            #expect(page.contains("names=note%0ARoom%2F1\" aria-label=\"Remove  nobody\""))
            let system = try await stage.page("fetch?zone=Notes&names=note&return=system")
            #expect(!system.contains("<dt>title</dt>") && page.contains("<dt>title</dt>"))
            // The first visit offers some.
            let first = try await stage.page("fetch?zone=Notes")
            let all = try #require(first.firstMatch(of: /href="([^"]*)">Fetch all of these/)?.output.1)
            #expect(try await stage.page(String(all).replacing("&amp;", with: "&")).contains(">2 records found<"))
        }
    }

    @Test func recordsOfSeveralTypesAreInOneTable() async throws {
        try await EditStage.run { stage in
            try await stage.save("note", ["title": .string("a")])
            try await stage.database().save(
                "room", as: .create, type: "Room", in: EditStage.notes, ["floor": .int64(1)])
            let page = try await stage.page("fetch?zone=Notes&names=note%0Aroom%0Anobody&as=table")
            #expect(page.contains("Records of Note, Room; a cell is blank if the type has no such field"))
            #expect(page.matches(of: /<tr class="group">/).count == 3 && page.contains("<span>Not found</span>"))
            #expect(page.contains("nofield\"></td>"))
            #expect(page.contains(">As a list</a>"))
            #expect(try await stage.page("fetch?zone=Notes&names=nobody&as=table").contains(">As a list</a>"))
            #expect(try await stage.page("fetch?zone=Notes&names=note").contains(">As a table</a>"))
        }
    }

    @Test func codeAsksForTheZoneOfTheRecords() async throws {
        try await EditStage.run { stage in
            try await stage.save("note", [:])
            try await stage.save("far", [:], in: Self.other)
            #expect(try await stage.page("fetch?names=far").contains("zoneName: &quot;Other&quot;"))
            let both = try await stage.page("fetch?names=far%0Anote")
            #expect(!both.contains("This fetch as code"))
        }
    }
}
