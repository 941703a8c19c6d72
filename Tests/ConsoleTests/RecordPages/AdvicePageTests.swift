import Console
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import Synchronization
import Testing

@testable import RecordPages

/// The console's advice for queries that are refused or slow, and its buttons.
@Suite struct AdvicePageTests {
    /// Two filters and a sort, none of which has its index.
    private static let question =
        "type=Item&filter1=author&is1=EQUALS&value1=ada&filter2=title&is2=BEGINS_WITH&value2=Item&sort1=year"

    @Test func allThatIsMissingIsNamedAndMadeAtOnce() async throws {
        try await SchemaStage.run { stage in
            let path = "query?\(Self.question)"
            let refused = try await stage.page(path)
            #expect(refused.contains("<strong>Field &#39;author&#39; is not marked queryable</strong>"))
            for reason in ["title&#39; is not marked queryable", "year&#39; is not marked sortable"] {
                #expect(refused.contains("<span>Field &#39;\(reason)</span>"))
            }
            #expect(
                refused.contains("author REFERENCE QUERYABLE,\ntitle STRING QUERYABLE,\nyear INT64 SORTABLE</code>"))
            #expect(refused.contains(">Run without the filter on author</a>"))
            let answer = try await stage.press("Add the selected indexes", on: refused)
            #expect(answer.status == .seeOther)
            let back = try #require(answer.headers[.location])
            #expect(back.hasPrefix("\(SchemaStage.there)/\(path)&notice="))
            let shown = try await stage.page(back)
            #expect(shown.contains("<b>3 records</b>") && shown.contains("Item &lt;1&gt;"))
            #expect(
                shown.contains(
                    "Added QUERYABLE to Item.author, QUERYABLE to Item.title, SORTABLE to Item.year in development."))
        }
    }

    @Test func oneFieldGetsOneLineAndAsFewIndexesAsWillDo() async throws {
        try await SchemaStage.run { stage in
            let page = try await stage.page("query?type=Item&filter1=title&is1=GREATER_THAN&value1=A&sort1=title")
            // SORTABLE, which the sort needs, serves the range too.
            #expect(page.contains("title STRING SORTABLE</code>"))
            #expect(page.contains("one more index"))
            #expect(
                page.contains(#"value="title:SORTABLE" checked> SORTABLE to title"#)
                    && page.contains(#"value="title:QUERYABLE"> QUERYABLE to title"#))
            _ = try await stage.press("Add the selected indexes", on: page)
            #expect(
                try await stage.page("query?type=Item&filter1=title&is1=GREATER_THAN&value1=A&sort1=title").contains(
                    "<b>3 records</b>"))
        }
    }

    @Test func aTypeWithoutAnyIndexHidesNothing() async throws {
        try await SchemaStage.run { stage in
            _ = try await stage.database(.development).require(.editSchema).edit([
                .setIndexes([], of: .custom("shelf"), in: "Item")
            ])
            let page = try await stage.page("query?\(Self.question)")
            #expect(page.contains("<strong>Type is not marked indexable: Item</strong>"))
            _ = try await stage.press("Add the selected indexes", on: page)
            #expect(try await stage.page("query?\(Self.question)").contains("<b>3 records</b>"))
        }
    }

    @Test func whatNoIndexHelpsHasNoButton() async throws {
        try await SchemaStage.run { stage in
            for question in [
                "type=Users", "type=Nothing", "type=Item&filter1=nothing&value1=x",
                "type=Item&filter1=shelf&is1=EQUALS&value1=left&sort1=author",
            ] {
                let page = try await stage.page("query?\(question)")
                #expect(page.contains("role=\"alert\"") && !page.contains(">Add "), "\(question)")
                #expect(!page.contains("In the schema file"), "\(question)")
            }
        }
    }

    @Test func productionIsAdvisedWithoutButtons() async throws {
        try await SchemaStage.run { stage in
            _ = try await stage.database(.production).require(.deploySchema).deploy(
                try await stage.database(.development).require(.showSchema).schema(), waitingForIndexes: true)
            let page = try await stage.page("query?\(Self.question)", in: "production")
            #expect(
                page.contains("The production schema can&#39;t be edited")
                    || page.contains("The production schema can't be edited"))
            #expect(!page.contains(">Add the selected indexes</button>"))
            #expect(page.contains("author REFERENCE QUERYABLE"))
        }
    }

    @Test func anIndexThatIsBeingBuiltIsWaitedFor() async throws {
        try await SchemaStage.run(isStaged: true) { stage in
            let question = "type=Item&filter1=shelf&is1=EQUALS&value1=left"
            stage.staged.builds.withLock {
                $0 = [
                    IndexBuildProgress(
                        .building, of: .field(.custom("shelf"), .queryable), in: "Item", done: 430, total: 1000)
                ]
            }
            let waiting = try await stage.page("query?\(question)")
            #expect(waiting.contains("TRY_AGAIN_LATER") && waiting.contains("(43 %)"))
            #expect(waiting.contains("data-reload") && waiting.contains("<noscript><meta http-equiv=\"refresh\""))
            #expect(waiting.contains("<progress max=\"100\" value=\"43\""))
            #expect(!waiting.contains(">Add "))
            // The page does not wait for indexes that nobody is building.
            let missing = try await stage.page("query?\(question)&sort1=year")
            #expect(!missing.contains("data-reload") && missing.contains(">Add SORTABLE to year</button>"))
            stage.staged.builds.withLock { $0 = [] }
            let done = try await stage.page("query?\(question)")
            #expect(done.contains("<b>3 records</b>") && !done.contains("http-equiv=\"refresh\""))
        }
    }

    // MARK: Explain

    @Test func aQueryIsExplained() async throws {
        try await SchemaStage.run { stage in
            let question = "type=Item&filter1=shelf&is1=EQUALS&value1=left"
            let query = try await stage.page("query?\(question)")
            #expect(query.contains("formaction=\"\(SchemaStage.there)/explain\""))
            let page = try await stage.page("explain?\(question)")
            #expect(page.contains("Item where shelf is left"))
            #expect(page.contains("records returned</dt><dd>3"))
            #expect(page.contains("shelf QUERYABLE"))
            #expect(page.contains("NSPredicate") && page.contains("performQuery") && page.contains("records/query"))
        }
    }

    @Test func theFormOfAnExplanationStaysThere() async throws {
        try await SchemaStage.run { stage in
            let added = try await stage.get("explain?type=Item&filter1=shelf&value1=left&add=sort")
            #expect(added.status == .seeOther)
            #expect(added.headers[.location]?.hasPrefix("\(SchemaStage.there)/explain?type=Item&filter1=shelf") == true)
            #expect(
                try await stage.page("explain?type=Item&filter1=year&value1=soon").contains(
                    "Not explained: a value is not valid"))
            #expect(try await stage.page("explain?type=Item&draft=1").contains("Not explained yet"))
        }
    }

    @Test func anExplanationOfWhatIsRefusedLeadsBackToItself() async throws {
        try await SchemaStage.run { stage in
            let page = try await stage.page("explain?\(Self.question)")
            #expect(page.contains("Field &#39;author&#39; is not marked queryable"))
            #expect(!page.contains("records returned"))
            let answer = try await stage.press("Add the selected indexes", on: page)
            let back = try #require(answer.headers[.location])
            #expect(back.hasPrefix("\(SchemaStage.there)/explain?\(Self.question)&notice="))
            let run = try await stage.page("explain?\(Self.question)")
            #expect(run.contains("records returned</dt><dd>3") && run.contains(/<dt>time<\/dt><dd>[0-9.]+ ms<\/dd>/))
        }
    }

    @Test func candidatesAreShownInWords() {
        let composite = CompositeIndex(filter: .custom("shelf"), sort: .custom("year"))
        let explanation = QueryExplanation(
            candidates: [
                QueryExplanation.Candidate(
                    index: .field(.custom("shelf"), .queryable), clause: "filter shelf EQUALS", use: .servesFilter,
                    reason: "Few", entries: 1000,
                    isCutOff: true),
                QueryExplanation.Candidate(
                    index: .composite(composite), clause: "filter and sort", use: .missing, reason: "Not there"),
            ],
            summary: "Read and sorted.", entriesRead: 100_000, recordsRead: 100_000, recordsReturned: 50, hasMore: true,
            milliseconds: 812.4,
            advice: [composite])
        let candidates = explanation.candidates
        #expect(candidates.map(\.use.words.standing) == ["serves the filter", "missing"])
        #expect(candidates.map(\.entriesWords) == ["1,000 or more", nil])
        #expect(candidates.map(\.use.words.tone) == ["has", "lacks"])
    }

    @Test func theFunnelNarrowsFromEntriesToRecords() throws {
        func funnel(_ entries: Int, _ records: Int, _ returned: Int) -> QueryFunnel? {
            QueryFunnel(
                QueryExplanation(
                    candidates: [], summary: "", entriesRead: entries, recordsRead: records, recordsReturned: returned,
                    hasMore: false, milliseconds: 1))
        }
        let funnel4 = try #require(funnel(400, 100, 1))
        #expect(
            funnel4.stages.map(\.height) == ["60.00", "15.00", "1.50"] && funnel4.stages.map(\.x) == [0, 100, 200])
        #expect(funnel4.stages.map(\.y) == ["0.00", "22.50", "29.25"])
        #expect(funnel4.joints == ["M76 0.00L100 22.50V37.50L76 60.00z", "M176 22.50L200 29.25V30.75L176 37.50z"])
        #expect(funnel4.label == "400 entries and 100 records read, 1 record returned")
        #expect(funnel(0, 20, 20)?.stages.map(\.height) == ["1.50", "60.00", "60.00"])
        #expect(funnel(0, 0, 0) == nil)
    }

    // MARK: The page Query advice

    @Test func refusedQueriesAreServedFromTheAdvice() async throws {
        try await SchemaStage.run { stage in
            let database = try await stage.database(.development)
            let query = Query(
                recordType: "Item",
                filters: [Query.Filter("author", .equals, FieldInput(.reference(Reference(recordName: "ada"))))],
                sorts: [Query.Sort("year", ascending: false)])
            for _ in 0..<2 {
                await #expect(throws: RecordError.self) { _ = try await database.query(QueryRequest(query)) }
            }
            let page = try await stage.page("advice")
            #expect(page.contains("Item where author is ada, sorted by year largest first"))
            #expect(page.contains("author QUERYABLE, year SORTABLE") && page.contains(">2 times, last <"))
            // No query used the existing index, but hardly any query ran.
            #expect(
                page.contains(">shelf QUERYABLE</td>") && page.contains("<summary>1 unused index so far</summary>"))
            #expect(page.contains("So far, indexes have served 0 queries."))
            let answer = try await stage.press("Add 2 indexes", on: page)
            #expect(answer.headers[.location]?.hasPrefix("\(SchemaStage.there)/advice") == true)
            #expect(try await database.query(QueryRequest(query)).records.count == 3)
            let served = try await stage.page("advice")
            #expect(served.contains("No query was refused") && !served.contains("Item where author"))
            #expect(served.contains(">author QUERYABLE</td><td class=\"num\" data-label=\"queries\">1</td>"))
            #expect(served.contains("So far, indexes have served 1 query."), "a filter and a sort are one query")
        }
    }

    @Test func anIndexIsCalledUnusedAfterEnoughQueries() async throws {
        try await SchemaStage.run { stage in
            let database = try await stage.database(.development)
            _ = try await database.require(.editSchema).edit([.addIndexes(.sortable, of: .custom("year"), in: "Item")])
            let query = Query(
                recordType: "Item", filters: [Query.Filter("shelf", .equals, FieldInput(.string("left")))])
            for _ in 0..<99 { _ = try await database.query(QueryRequest(query)) }
            let early = try await stage.page("advice")
            #expect(
                early.contains("So far, indexes have served 99 queries.")
                    && early.contains("<summary>1 unused index so far</summary>"))
            _ = try await database.query(QueryRequest(query))
            let page = try await stage.page("advice")
            #expect(
                !page.contains("So far, indexes have served") && !page.contains("so far</summary>")
                    && page.contains(">year SORTABLE</td>"))
        }
    }

    @Test func queriesThatTheConsoleRefusesAreAmongThem() async throws {
        try await SchemaStage.run { stage in
            _ = try await stage.page("query?type=Item&filter1=title&is1=IN&value1=%22say%20%22%22hi%22%22%22,b")
            let page = try await stage.page("advice")
            #expect(page.contains("Item where title is one of &quot;say &quot;&quot;hi&quot;&quot;&quot;, b"))
            #expect(page.contains(">1 time, last <"))
        }
    }

    @Test func whatAFormCannotSayHasNoLink() async throws {
        try await SchemaStage.run { stage in
            let database = try await stage.database(.development)
            let nothing = Query(recordType: "Item", filters: [Query.Filter("title", .equals, .cleared)])
            let many = Query(
                recordType: "Item",
                filters: (0...QueryForm.rowLimit).map {
                    Query.Filter("year", .notEquals, FieldInput(.int64(Int64($0))))
                })
            for query in [nothing, many] {
                await #expect(throws: RecordError.self) { _ = try await database.query(QueryRequest(query)) }
            }
            let page = try await stage.page("advice")
            #expect(page.contains("<th scope=\"row\" class=\"wide\">Item where title is no value</th>"))
            #expect(page.contains("<th scope=\"row\" class=\"wide\">Item where year is not 0 and"))
        }
    }

    @Test func systemFieldsHaveTheNameOfRequests() async throws {
        try await SchemaStage.run { stage in
            let query = Query(recordType: "Item", sorts: [Query.Sort("modifiedTimestamp")])
            await #expect(throws: RecordError.self) {
                _ = try await stage.database(.development).query(QueryRequest(query))
            }
            let page = try await stage.page("advice")
            #expect(page.contains("recordName QUERYABLE, modifiedTimestamp SORTABLE"))
            _ = try await stage.press("Add 2 indexes", on: page)
            #expect(try await stage.page("advice").contains(">modifiedTimestamp SORTABLE</td>"))
        }
    }

    @Test func aCompositeIndexInTheMakingIsWaitedFor() async throws {
        try await SchemaStage.run(isStaged: true) { stage in
            let question = "type=Item&filter1=shelf&is1=EQUALS&value1=left&sort1=year"
            _ = try await stage.database(.development).require(.editSchema).edit([
                .addIndexes(.sortable, of: .custom("year"), in: "Item")
            ])
            func build(_ filter: FieldKey) -> IndexBuildProgress {
                IndexBuildProgress(
                    .building, of: .composite(CompositeIndex(filter: filter, sort: .custom("year"))), in: "Item",
                    done: 1, total: 4)
            }
            // A build of an index that would not serve the query does not make the page wait.
            stage.staged.builds.withLock { $0 = [build(.custom("author"))] }
            #expect(!(try await stage.page("explain?\(question)")).contains("data-reload"))
            stage.staged.builds.withLock { $0 = [build(.custom("shelf"))] }
            let waiting = try await stage.page("explain?\(question)")
            #expect(
                waiting.contains("data-reload") && waiting.contains("http-equiv=\"refresh\"")
                    && waiting.contains("value=\"25\""))
            #expect(waiting.contains("Explain it now, without the index"))
        }
    }

    @Test func anUnusedIndexIsDropped() async throws {
        try await SchemaStage.run { stage in
            _ = try await stage.press("Delete", on: try await stage.page("advice"))
            #expect(try await stage.type("Item")?.fields["shelf"]?.indexes == [])
            #expect(try await stage.page("advice").contains("Every index was used"))
        }
    }
}
