import Foundation
import Hummingbird
import HummingbirdTesting
import RecordStore
import Records
import StoreScenarios
import Testing

/// The table of the tab Query: the folded form above it, its heads, and the filters by its values.
@Suite struct QueryTableTests {
    private static let shelf = "type=Item&filter1=shelf&is1=EQUALS&value1=left"

    @Test func aFormIsFoldedOnceItHasAnAnswer() async throws {
        try await SchemaStage.run { stage in
            let answered = try await stage.page("query?\(Self.shelf)")
            #expect(answered.contains(">shelf is <b>left</b></a>") && !answered.contains("<details open>"))
            #expect(answered.contains("<h1>Item</h1>") && answered.contains("<b class=\"outcome\">3 records</b>"))
            for question in [
                "\(Self.shelf)&edit=1", "\(Self.shelf)&draft=1", "\(Self.shelf)&filter2=shelf&value2=",
                "type=Item&filter1=year&value1=soon", "\(Self.shelf)&where=and+and",
            ] {
                #expect(try await stage.page("query?\(question)").contains("<details open>"), "\(question)")
            }
            // A value that can't be read is explained at its row, and nothing is asked.
            let unread = try await stage.page("query?type=Item&filter1=year&value1=soon")
            let row = try #require(unread.split(separator: "aria-label=\"Value of filter 1\"").last?.prefix(400))
            #expect(row.contains("role=\"alert\">‘soon’ is not a 64-bit whole number"))
            #expect(!unread.contains("<tbody>"))
            // A refusal is an answer too.
            let refused = try await stage.page("query?type=Item&filter1=author&is1=EQUALS&value1=ada")
            #expect(refused.contains("<b>ada</b> <small>no index</small></a>") && !refused.contains("<details open>"))
            // A filter goes with one click, and another comes with one.
            #expect(
                answered.contains("href=\"\(SchemaStage.there)/query?type=Item\" aria-label=\"Remove shelf is left\"")
                    && answered.contains("+ Filter"))
            // Links from an open form do not keep it open.
            #expect(!(try await stage.page("query?\(Self.shelf)&edit=1").contains("edit=1\"")))
        }
    }

    @Test func headsSortOrLeadToTheIndexThatTheyNeed() async throws {
        try await SchemaStage.run { stage in
            let page = try await stage.page("query?\(Self.shelf)")
            #expect(page.contains(/<a href="[^"]*sort1=year" class="lacks" title="[^"]*">year<\/a>/))
            #expect(!page.contains(/sort1=author"/), "no index sorts by a reference")
            let refused = try await stage.page("query?\(Self.shelf)&sort1=year")
            let added = try #require(try await stage.press("Add SORTABLE to year", on: refused).headers[.location])
            let told = try await stage.page(added)
            #expect(
                told.contains("Added SORTABLE to Item.year in development.") && told.contains("aria-sort=\"ascending\"")
            )
            let sorted = try await stage.page("query?\(Self.shelf)&sort1=year")
            #expect(
                sorted.contains("aria-sort=\"ascending\"")
                    && sorted.contains(/<a href="[^"]*sort1=year&amp;order1=descending">year<\/a>/))
        }
    }

    @Test func sortedAndFilteredColumnsComeFirst() async throws {
        try await SchemaStage.run { stage in
            func columns(_ question: String) async throws -> [String] {
                try await stage.page("query?\(question)").matches(of: /<th scope="col"[^>]*>(?:<a [^>]*>)?([^<]+)/).map
                { String($0.output.1) }.filter { $0 != "zone" }
            }
            _ = try await stage.press(
                "Add SORTABLE to year", on: try await stage.page("query?\(Self.shelf)&sort1=year"))
            let usual = try await columns(Self.shelf)
            #expect(usual.prefix(3) == ["title", "recordName", "shelf"])
            #expect(usual.last == "modified" && Set(usual).count == usual.count)
            let sorted = try await columns("\(Self.shelf)&sort1=year")
            #expect(sorted.prefix(4) == ["title", "recordName", "year", "shelf"] && Set(sorted) == Set(usual))
            // Chosen columns keep their order.
            #expect(
                try await columns("\(Self.shelf)&sort1=year&key=author&key=year").prefix(3) == [
                    "recordName", "author", "year",
                ])
        }
    }

    @Test func aFieldWithoutAnIndexCanBeChosen() async throws {
        try await SchemaStage.run { stage in
            let page = try await stage.page("query?type=Item&draft=1")
            #expect(page.contains("<option value=\"title\">title – no index</option>"))
            #expect(page.contains("<option value=\"shelf\">shelf</option>"))
            #expect(page.contains("<option value=\"author\" disabled>author – can&#39;t be sorted</option>"))
        }
        try await EditStage.run { stage in
            let page = try await stage.page("query?type=Note&zone=Notes&filter1=rank&is1=EQUALS&value1=1&edit=1")
            #expect(page.contains("<option value=\"file\" disabled>file – can&#39;t be queried</option>"))
            // The latest moments come first.
            try await stage.save("note", ["rank": .int64(1), "due": .timestamp(Timestamp(milliseconds: 0))])
            #expect(
                try await stage.page("query?type=Note&zone=Notes&filter1=rank&is1=EQUALS&value1=1").contains(
                    "sort1=due&amp;order1=descending"))
        }
    }

    @Test func moreColumnsThanAnybodyReadsAreShownOnRequest() async throws {
        try await EditStage.run { stage in
            let fields = (10..<40).map { (Name("f\($0)"), FieldInput(.int64(1))) }
            let names = ["a", "b"] as [Name]
            let wide = names.map {
                RecordOperation(
                    .create, recordName: $0, recordType: "Wide", fields: Dictionary(uniqueKeysWithValues: fields))
            }
            try await stage.database().apply(wide, in: EditStage.notes)
            let question = "query?zone=Notes&type=Wide&filter1=f39&is1=EQUALS&value1=1&limit=1"
            let some = try await stage.page(question)
            #expect(
                some.contains("data-field=\"f39\"") && !some.contains("data-field=\"f38\""), "what is asked is shown")
            let link = try #require(some.firstMatch(of: /<a[^>]* href="([^"]*)"[^>]*>Show all 30 columns/)?.output.1)
            let all = try await stage.page(String(link).replacing("&amp;", with: "&"))
            #expect(all.contains("data-field=\"f38\"") && !all.contains("Show all"))
            // The choice holds on the next page, and when the query runs again.
            #expect(all.contains(/href="[^"]*columns=all[^"]*" rel="next"/))
            #expect(all.contains("name=\"columns\" value=\"all\""))
        }
    }

    @Test func aValueOfARecordBecomesAFilter() async throws {
        try await SchemaStage.run { stage in
            func location(_ question: String) async throws -> String? {
                try await stage.get("query?\(question)").headers[.location]
            }
            let pick = PercentEncoding.encoded("_defaultZone\nitem2\n1")
            for (field, filter) in [
                ("title", "filter2=title&is2=EQUALS&value2=Item%20%3C2%3E"),
                ("year", "filter2=year&is2=EQUALS&value2=1992"),
                ("author", "filter2=author&is2=EQUALS&value2=ada"),
                ("recordName", "filter2=recordName&is2=EQUALS&value2=item2"),
            ] {
                let there = try #require(
                    try await location("\(Self.shelf)&limit=10&alike=\(field)&pick=\(pick)"), "\(field)")
                #expect(there == "\(SchemaStage.there)/query?\(Self.shelf)&\(filter)&limit=10", "\(field)")
            }
            // A second value of a field replaces the first.
            #expect(
                try await location("type=Item&filter1=shelf&is1=EQUALS&value1=right&alike=shelf&pick=\(pick)")
                    == "\(SchemaStage.there)/query?\(Self.shelf)")
            for (question, status) in [
                ("alike=nothing&pick=\(pick)", 400), ("alike=title", 400),
                ("alike=title&pick=\(PercentEncoding.encoded("_defaultZone\nnobody\n1"))", 404),
            ] {
                #expect(try await stage.get("query?type=Item&\(question)").status.code == status, "\(question)")
            }
        }
    }
}
