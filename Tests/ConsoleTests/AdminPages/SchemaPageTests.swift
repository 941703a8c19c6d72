import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import Synchronization
import Testing

/// The pages of types, fields and indexes, without scripts.
@Suite struct SchemaPageTests {
    // MARK: Types and fields

    @Test func aTypeIsMadeGetsAFieldAndIsRemoved() async throws {
        try await SchemaPageStage.with { stage in
            let made = try await stage.post("types/create", "name=+Song+&listable=1")
            #expect(made.headers[.location] == "\(SchemaPageStage.there)/type?type=Song&notice=type-created")
            #expect(try await stage.type("Song") == RecordType(name: "Song", systemIndexes: [.recordID: .queryable]))
            for name in ["Song", "9lives"] {
                let refused = try await stage.post("types/create", "name=\(name)")
                let page = String(buffer: refused.body)
                #expect(
                    refused.status == .badRequest && page.contains("name=\"name\" value=\"\(name)\"")
                        && page.contains(">Open Song</a>") == (name == "Song"))
                #expect(page.contains("name=\"listable\" value=\"1\">"), "the tick is kept")
            }
            let added = try await stage.post(
                "type/indexes", "type=Song&field=verses&fieldType=LIST%3CSTRING%3E&index=QUERYABLE")
            #expect(added.headers[.location] == "\(SchemaPageStage.there)/type?type=Song&notice=field-added")
            #expect(
                try await stage.type("Song").fields == [
                    "verses": FieldDefinition(type: .list(.string), indexes: .queryable)
                ])
            let page = try await stage.page("type?type=Song&notice=field-added")
            #expect(page.contains("The field is added.") && page.contains("LIST&lt;STRING&gt;"))
            let question = try await stage.page("type/remove?type=Song")
            #expect(
                question.contains("Delete the record type Song?")
                    && question.contains("There is no record of this type."))
            #expect(
                try await stage.post("type/remove", "type=Song").headers[.location]
                    == "\(SchemaPageStage.there)/types?notice=type-removed")
            #expect(try await stage.database.require(.showSchema).schema().types["Song"] == nil)
        }
    }

    @Test(arguments: [
        ("type=Note&field=title&fieldType=STRING", "already has a field &#39;title&#39;"),
        ("type=Note&field=9&fieldType=STRING", "must start with a letter"),
        ("type=Note&field=extra&fieldType=NONSENSE", "A field needs a type"),
        ("type=Note&field=extra&fieldType=ASSET&index=QUERYABLE", "it can&#39;t have an index"),
        ("type=Note&field=extra&fieldType=STRING&index=FAST", "Unknown index &#39;FAST&#39;"),
        ("type=Nothing&field=extra&fieldType=STRING", "Did not find record type: Nothing"),
    ])
    func aFieldThatCannotBeAddedSaysWhyAndStaysTyped(form: String, reason: String) async throws {
        try await SchemaPageStage.with { stage in
            let before = try await stage.database.require(.showSchema).schema()
            let answer = try await stage.post(
                "type/indexes",
                form
                    + "&was=Note/title:QUERYABLE&has=Note/rank:SORTABLE&from=\(SchemaPageStage.there)/type%3Ftype%3DNote"
            )
            let page = String(buffer: answer.body)
            #expect(answer.status == .badRequest || answer.status == .notFound)
            #expect(page.contains(reason))
            if answer.status == .notFound {
                #expect(page.contains("<a class=\"button\" href=\"\(SchemaPageStage.there)/type?type=Note\">Back</a>"))
            } else {
                let name = try #require(form.firstMatch(of: /field=(\w+)/)?.output.1)
                #expect(page.contains("name=\"field\" value=\"\(name)\""))
                #expect(page.contains("SORTABLE on rank of Note\" checked"))
                #expect(page.contains("QUERYABLE on title of Note\">"))
            }
            #expect(try await stage.database.require(.showSchema).schema() == before)
        }
    }

    @Test func aWayBackStaysHere() async throws {
        try await SchemaPageStage.with { stage in
            for from in ["https%3A%2F%2Fexample.com", "%2F%2Fexample.com", "javascript%3Aalert(1)"] {
                let page = String(
                    buffer: try await stage.post("type/indexes", "type=Nothing&field=x&from=\(from)").body)
                #expect(
                    page.contains(">Back to the records</a>") && !page.contains("example.com")
                        && !page.contains("alert(1)"))
                let answer = try await stage.post("type/indexes", "type=Note&add=title%3AQUERYABLE&back=\(from)")
                #expect(
                    answer.status == .seeOther && answer.headers[.location]?.hasPrefix(SchemaPageStage.there) == true)
            }
        }
    }

    @Test func aFieldIsRemovedWithItsValuesOnceAsked() async throws {
        try await SchemaPageStage.with { stage in
            let question = try await stage.page("field/remove?type=Note&field=rank")
            #expect(
                question.contains("Delete the field rank from Note?")
                    && question.contains("1 record with a value in the field"))
            #expect(try await stage.type("Note").fields["rank"] != nil)
            let answer = try await stage.post("field/remove", "type=Note&field=rank")
            #expect(answer.headers[.location] == "\(SchemaPageStage.there)/type?type=Note&notice=field-removed")
            #expect(try await stage.type("Note").fields["rank"] == nil)
            let records = try await stage.database.fetch(
                [RecordID(recordName: "a", zoneID: .default)], desiredKeys: nil)
            #expect(try records.first?.get().fields.decoded().map(\.name) == ["title"])
        }
    }

    @Test func whatIsDeployedCannotBeDeleted() async throws {
        try await SchemaPageStage.with { stage in
            let container = try #require(ContainerID("iCloud.com.example.App"))
            let address = DatabaseAddress(container: container, environment: .production, scope: .private)
            let production = try await stage.engine.database(address, as: stage.database.caller)
            let before = try await stage.database.require(.showSchema).schema()
            _ = try await production.require(.deploySchema).deploy(before, waitingForIndexes: true)
            let type = "\(SchemaPageStage.there)/type?type=Note"
            for (path, form, reason) in [
                ("field/remove", "type=Note&field=rank", "The field 'rank' of type 'Note' is in production"),
                ("type/remove", "type=Note", "The type 'Note' is in production"),
            ] {
                let from = "&from=\(SchemaPageStage.there)/type%3Ftype%3DNote"
                for answer in try await [stage.get("\(path)?\(form)\(from)"), stage.post(path, form + from)] {
                    let page = String(buffer: answer.body).replacing("&#39;", with: "'")
                    #expect(answer.status == .badRequest && page.contains(reason), "\(path)")
                    #expect(page.contains("href=\"\(type)\">Back</a>"), "\(path)")
                }
            }
            #expect(try await stage.database.require(.showSchema).schema() == before)
            _ = try await stage.database.require(.editSchema).edit([
                .addType(RecordType(name: "Note", fields: ["later": FieldDefinition(type: .string)]))
            ])
            #expect(try await stage.post("field/remove", "type=Note&field=later").status == .seeOther)
        }
    }

    @Test func lookingAtAQuestionMakesNoProduction() async throws {
        try await SchemaPageStage.with { stage in
            _ = try await stage.page("type/remove?type=Note")
            let container = try #require(ContainerID("iCloud.com.example.App"))
            #expect(try await stage.engine.require(.listEnvironments).environments(of: container) == [.development])
        }
    }

    @Test func theSystemsTypeStays() async throws {
        try await SchemaPageStage.with { stage in
            let page = try await stage.page("type?type=Users")
            #expect(!page.contains("Delete…") && !page.contains("name=\"has\""))
            #expect(try await stage.post("type/remove", "type=Users").status == .badRequest)
            #expect(
                try await stage.post("type/indexes", "type=Users&field=nickname&fieldType=STRING").status == .seeOther)
            #expect(try await stage.page("type?type=Users").contains("Delete the field nickname"))
        }
    }

    // MARK: Usage

    @Test func usageIsShownWhenItIsAskedFor() async throws {
        try await SchemaPageStage.with { stage in
            let long = RecordID(recordName: "<long>", zoneID: .default)
            let here = RecordID(recordName: "a", zoneID: .default)
            stage.engine.usage.withLock {
                $0 = TypeUsage(
                    recordType: "Note", records: 1500,
                    fields: [
                        .init(key: .custom("cover")),
                        .init(
                            key: .custom("rank"), records: 3, distinctValues: 2, largestBytes: 20, largestRecord: here),
                        .init(
                            key: .custom("title"), records: 1500, distinctValues: TypeUsage.distinctLimit,
                            isCutOff: true, largestBytes: 4_200_000, largestRecord: long,
                            entryBytes: 9_000, tokenBytes: 1_000),
                        .init(
                            key: .system(.recordID), records: 1500, distinctValues: 1500, largestBytes: 8,
                            entryBytes: 64_000),
                    ])
            }
            let plain = try await stage.page("type?type=Note")
            #expect(plain.contains("Measure usage") && !plain.contains("no values"))
            let page = try await stage.page("type?type=Note&usage=1")
            #expect(
                page.contains("1,500 records of this type") && page.contains("No record has a value in: <b>cover</b>"))
            #expect(page.matches(of: /no values/).count == 1)
            #expect(
                page.contains("4.0 MB") && page.contains("100,000 or more") && page.contains("9.8 KB")
                    && page.contains("62.5 KB"))
            // Only records of this database have pages here.
            #expect(page.contains("title=\"In the record &lt;long&gt;, in another database\">4.0 MB</span>"))
            #expect(page.contains("record?zone=_defaultZone&amp;name=a\" title=\"In the record a\">20 bytes</a>"))
            // A small share is not shown as 0 %, and an almost full one not as all.
            #expect(
                page.contains("<span class=\"faint\">1 %</span>") && page.contains("<span class=\"faint\">all</span>"))
        }
    }

    @Test func usageOfTheRealRecordsIsMeasured() async throws {
        try await SchemaPageStage.with { stage in
            let page = try await stage.page("type?type=Note&usage=1")
            #expect(page.contains("3 records of this type") && page.contains("No record has a value in: <b>cover</b>"))
        }
    }

    // MARK: Indexes

    @Test func theTableOfIndexesIsOfAllTypesAndIsFiltered() async throws {
        try await SchemaPageStage.with { stage in
            let page = try await stage.page("indexes")
            #expect(page.matches(of: /<tr data-words=/).count == 2)
            #expect(page.contains("<b>3 indexes</b>"))
            #expect(
                page.contains("because they have no index: <a href=\"\(SchemaPageStage.there)/type?type=Tag\">Tag</a>"))
            #expect(page.contains("recordName <span class=\"faint\">___recordID</span>"))
            let all = try await stage.page("indexes?show=all")
            #expect(all.matches(of: /<tr data-words=/).count == 4 + 2 * 7)
            #expect(all.contains("value=\"Tag/name:SEARCHABLE\"") && !all.contains("value=\"Note/cover:"))
            for (filter, count) in [
                ("sortable", 1), ("note%20queryable", 2), ("___record", 1), ("RECORDNAME", 1), ("note%20nothing", 0),
            ] {
                #expect(
                    try await stage.page("indexes?find=\(filter)").matches(of: /<tr data-words=/).count == count,
                    "\(filter)")
            }
            #expect(try await stage.page("indexes?find=%3Cb%3E").contains("No field matches ‘&lt;b&gt;’."))
        }
    }

    @Test func indexesOfSeveralTypesChangeAtOnceAndLeadBack() async throws {
        try await SchemaPageStage.with { stage in
            let form =
                "add=Tag%2Fname%3ASORTABLE&add=Tag%2Fname%3AQUERYABLE&drop=Note%2Ftitle%3ASORTABLE&add=Note%2F___modTime%3ASORTABLE"
            let answer = try await stage.post(
                "type/indexes", form + "&back=\(SchemaPageStage.there)/indexes%3Fshow%3Dall")
            let back = try #require(answer.headers[.location])
            #expect(back.hasPrefix("\(SchemaPageStage.there)/indexes?show=all&notice="))
            #expect(try await stage.type("Tag").fields["name"]?.indexes == [.queryable, .sortable])
            #expect(try await stage.type("Note").fields["title"]?.indexes == .queryable)
            #expect(try await stage.type("Note").systemIndexes == [.recordID: .queryable, .modTime: .sortable])
            // The query page sends the type as a separate parameter.
            #expect(try await stage.post("type/indexes", "type=Note&add=rank%3ASORTABLE").status == .seeOther)
            #expect(try await stage.type("Note").fields["rank"]?.indexes == .sortable)
        }
    }

    /// The grid was loaded before somebody else added SEARCHABLE and deleted SORTABLE.
    @Test func aGridSavesOnlyItsOwnChanges() async throws {
        try await SchemaPageStage.with { stage in
            let page = try await stage.page("type?type=Note")
            let was = try #require(page.firstMatch(of: /name="was" value="([^"]*)"/)?.output.1)
            #expect(was == "Note/title:QUERYABLE Note/title:SORTABLE Note/___recordID:QUERYABLE")
            _ = try await stage.database.require(.editSchema).edit([
                .setIndexes([.queryable, .searchable], of: .custom("title"), in: "Note")
            ])
            let form =
                "type=Note&field=&was=\(was.replacing(" ", with: "+"))&has=Note/title:SORTABLE"
                + "&has=Note/rank:SORTABLE&has=Note/___recordID:QUERYABLE"
            #expect(try await stage.post("type/indexes", form).status == .seeOther)
            #expect(try await stage.type("Note").fields["title"]?.indexes == .searchable)
            #expect(try await stage.type("Note").fields["rank"]?.indexes == .sortable)
            #expect(try await stage.type("Note").systemIndexes == [.recordID: .queryable])
            // A field that is gone is not forgotten silently, and nothing is saved.
            _ = try await stage.database.require(.editSchema).edit([.removeField("rank", in: "Note")])
            let refused = try await stage.post(
                "type/indexes", "type=Note&field=&was=Note/title:SEARCHABLE&has=Note/rank:QUERYABLE")
            #expect(refused.status == .badRequest)
            #expect(
                String(buffer: refused.body).contains("The field &#39;rank&#39; of Note was deleted after this page"))
            #expect(try await stage.type("Note").fields["title"]?.indexes == .searchable)
        }
    }

    /// The page to which the answer of a form leads.
    private static func page(after answer: TestResponse, _ stage: SchemaPageStage) async throws -> String {
        let address = try #require(answer.headers[.location])
        return try await stage.page(address.replacing("\(SchemaPageStage.there)/", with: ""))
    }

    @Test(arguments: ["indexes?show=all", "type?type=Note"])
    func aDeletedIndexIsNamedAndComesBack(path: String) async throws {
        try await SchemaPageStage.with { stage in
            let page = "\(SchemaPageStage.there)/\(path)"
            let way = "&back=\(page.replacing("?", with: "%3F").replacing("=", with: "%3D"))"
            let deleted = try await stage.post("type/indexes", "drop=Note%2Ftitle%3ASORTABLE" + way)
            let after = try await Self.page(after: deleted, stage)
            #expect(
                after.contains("<span>Deleted SORTABLE on Note.title in development.</span>")
                    && after.contains(">Undo</button>"))
            #expect(after.contains("name=\"add\" value=\"Note/title:SORTABLE\"><input"))
            let added = try await stage.post("type/indexes", "add=Note%2Ftitle%3ASORTABLE" + way)
            #expect(try await stage.type("Note").fields["title"]?.indexes == [.queryable, .sortable])
            let again = try await Self.page(after: added, stage)
            #expect(again.contains("<span>Added SORTABLE to Note.title in development.</span>"))
        }
    }

    /// A link can't tell what did not happen.
    @Test(arguments: [
        "-Note/title:SORTABLE", "+Note/title:SEARCHABLE", "-Note/nothing:SORTABLE", "-Nothing/title:SORTABLE",
        "-Note/title:FAST", "x", "-", "+/",
    ])
    func aNoticeThatIsNotTrueOfTheSchemaIsNotShown(word: String) async throws {
        try await SchemaPageStage.with { stage in
            let encoded = word.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing(":", with: "%3A")
            for kind in ["field-indexes", "composite-indexes"] {
                let page = try await stage.page("indexes?notice=\(kind)%20\(encoded)")
                #expect(!page.contains("class=\"notice\""), "\(kind)")
            }
        }
    }

    /// Simultaneous changes are both made, because each request only names its own change.
    @Test func twoChangesAtOnceAreBothMade() async throws {
        try await SchemaPageStage.with { stage in
            for _ in 0..<15 {
                _ = try await stage.database.require(.editSchema).edit([
                    .setIndexes(.searchable, of: .custom("title"), in: "Note")
                ])
                async let one = stage.post("type/indexes", "add=Note%2Ftitle%3AQUERYABLE")
                async let two = stage.post("type/indexes", "add=Note%2Ftitle%3ASORTABLE")
                async let three = stage.post("type/indexes", "drop=Note%2Ftitle%3ASEARCHABLE")
                for answer in try await [one, two, three] { #expect(answer.status == .seeOther) }
                #expect(try await stage.type("Note").fields["title"]?.indexes == [.queryable, .sortable])
            }
        }
    }

    @Test func withoutAWayBackThePageIndexesFollows() async throws {
        try await SchemaPageStage.with { stage in
            let answer = try await stage.post("type/indexes", "add=Note%2Frank%3ASORTABLE")
            #expect(answer.headers[.location]?.hasPrefix("\(SchemaPageStage.there)/indexes?") == true)
        }
    }

    /// Measuring is slow, so only its button starts it.
    @Test func onlyWhoAsksMeasures() async throws {
        try await SchemaPageStage.with { stage in
            stage.engine.builds.withLock {
                $0 = [
                    IndexBuildProgress(
                        .building, of: .field(.custom("title"), .sortable), in: "Note", done: 1, total: 2)
                ]
            }
            let page = try await stage.page("type?type=Note&usage=1")
            #expect(!page.contains("data-live") && page.contains("<p class=\"remark\">The page <a href="))
            let back = try #require(page.firstMatch(of: /name="back" value="([^"]*)"/)?.output.1)
            #expect(!back.contains("usage"))
        }
    }

    @Test func theTextOfATypeIsOneStatement() async throws {
        try await SchemaPageStage.with { stage in
            let page = try await stage.page("type?type=Note")
            let code = try #require(
                page.firstMatch(of: /<code data-copy-source>(RECORD TYPE Note \([^<]*\);)<\/code>/)?.output.1)
            #expect(!code.contains("Users") && code.contains("    title STRING"))
            let text = String(code).replacing("&quot;", with: "\"")
            let type = try await stage.type("Note")
            #expect(try Schema(text: "DEFINE SCHEMA\n" + text).types["Note"]?.fields == type.fields)
        }
    }

    @Test(arguments: [
        "add=Note%2Fcover%3AQUERYABLE", "add=Note%2Ftitle", "add=title%3AQUERYABLE", "add=Note%2Fnothing%3AQUERYABLE",
        "drop=Note%2Ftitle%3AFAST",
    ])
    func aChangeOfIndexesThatMakesNoSenseChangesNothing(form: String) async throws {
        try await SchemaPageStage.with { stage in
            let before = try await stage.database.require(.showSchema).schema()
            #expect(try await stage.post("type/indexes", "add=Tag%2Fname%3ASORTABLE&" + form).status == .badRequest)
            #expect(try await stage.database.require(.showSchema).schema() == before)
        }
    }

    @Test func compositeIndexesAreListedApart() async throws {
        try await SchemaPageStage.with { stage in
            _ = try await stage.database.require(.editSchema).edit([
                .setIndexes(.sortable, of: .custom("rank"), in: "Note")
            ])
            #expect(try await stage.page("type?type=Tag").contains("It needs a QUERYABLE field and a SORTABLE field."))
            let offered = try await stage.page("type?type=Note")
            for name in ["title", "rank"] {
                #expect(offered.contains("<option value=\"\(name)\" selected>\(name)</option>"))
            }
            let added = try await stage.post(
                "composites/change", "type=Note&filter=title&sort=rank&back=\(SchemaPageStage.there)/type%3Ftype%3DNote"
            )
            #expect(added.headers[.location]?.hasPrefix("\(SchemaPageStage.there)/type?type=Note&notice=") == true)
            let index = CompositeIndex(filter: .custom("title"), sort: .custom("rank"))
            #expect(try await stage.type("Note").compositeIndexes == [index])
            let page = try await stage.page("type?type=Note")
            #expect(
                page.contains("value=\"Note/title:rank\"") && page.contains("<span class=\"pill has\">complete</span>"))
            #expect(
                !(page.firstMatch(of: /<code data-copy-source>RECORD[^<]*/)?.output.contains("rank INT64 rank") ?? false)
            )
            let all = try await stage.page("indexes")
            #expect(all.contains(">Composite indexes</h2>") && all.contains("<b>5 indexes</b>"))
            #expect(
                try await stage.post("composites/change", "type=Note&filter=title&sort=title").status == .badRequest)
            let dropped = try await stage.post(
                "composites/change", "drop=Note%2Ftitle%3Arank&back=\(SchemaPageStage.there)/indexes")
            #expect(try await stage.type("Note").compositeIndexes.isEmpty)
            let after = try await Self.page(after: dropped, stage)
            #expect(after.contains("<span>Deleted the composite index of Note on title by rank in development.</span>"))
            #expect(try await stage.post("composites/change", "add=Note%2Ftitle%3Arank").status == .seeOther)
            #expect(try await stage.type("Note").compositeIndexes == [index])
        }
    }

    /// The fields of the system, such as recordName, have an index here and do not count.
    @Test func theListOfTypesCountsTheirOwnFields() async throws {
        try await SchemaPageStage.with { stage in
            let page = try await stage.page("types")
            let row = try #require(
                page.firstMatch(
                    of: /type=Note">Note<\/a><\/th>\s*<td class="num"[^>]*>(\d+)<\/td>\s*<td[^>]*>([^<]*)<\/td>/)?
                    .output)
            #expect(row.1 == "3" && row.2 == "1 field")
            #expect(page.contains("<b>2 record types and Users</b>"))
        }
    }

    @Test func workUnderWayIsShownAndThePageLooksAgain() async throws {
        try await SchemaPageStage.with { stage in
            #expect(!(try await stage.page("indexes")).contains("http-equiv"))
            stage.engine.builds.withLock {
                $0 = [
                    IndexBuildProgress(
                        .building, of: .field(.custom("title"), .sortable), in: "Note", done: 430_000, total: 1_000_000),
                    IndexBuildProgress(
                        .dropping, of: .field(.custom("name"), .queryable), in: "Tag", done: 1, total: 2),
                ]
            }
            for path in ["indexes?show=all", "type?type=Note"] {
                let page = try await stage.page(path)
                // A page with an input field does not reload itself.
                #expect(
                    page.contains("<noscript><meta http-equiv=\"refresh\"") == (path != "type?type=Note"), "\(path)")
                #expect(page.contains("<div id=\"indexes\" data-live="), "\(path)")
                #expect(page.contains("430,000 of 1,000,000") && page.contains("value=\"43\""), "\(path)")
                #expect(page.contains("<span class=\"pill lacks\">building, 43 %</span>"), "\(path)")
            }
            #expect(
                try await stage.page("indexes?show=all").contains(
                    "<span class=\"pill lacks\">being deleted, 50 %</span>"))
            #expect(!(try await stage.page("types")).contains("http-equiv"))
        }
    }
}
