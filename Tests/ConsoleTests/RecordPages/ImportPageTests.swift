import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import Testing

/// Importing files on a page: preview, invalid rows, and the background import.
@Suite struct ImportPageTests {
    private func send(
        _ stage: EditStage, _ path: String, _ fields: [(String, String)], file: (name: String, text: String)? = nil
    ) async throws -> TestResponse {
        try await stage.send(path, fields, file: file?.text ?? "", named: file?.name ?? "")
    }

    private func upload(_ page: String) throws -> String {
        String(try #require(page.firstMatch(of: /name="upload" value="([^"]+)"/)?.output.1))
    }

    private func mark(_ page: String) throws -> String {
        String(try #require(page.firstMatch(of: /name="previewed" value="([^"]+)"/)?.output.1))
    }

    @Test func ofManyColumnsThePageShowsTheFirst() async throws {
        try await EditStage.run { stage in
            let names = (1...300).map { "column\($0)" }
            let text = names.joined(separator: ",") + ",name\n" + names.map { _ in "1" }.joined(separator: ",") + ",a\n"
            let fields = [("type", "Wide"), ("zone", "Notes"), ("nameField", "name")]
            let page = EditStage.text(try await send(stage, "importing/preview", fields, file: ("wide.csv", text)))
            #expect(page.contains(">column200<") && !page.contains(">column201<"))
            #expect(page.contains("… and 101 fields more. They are also imported."))
            #expect(page.contains(#"<option value="name" selected"#))
            #expect(page.contains("1 row will become records"))
        }
    }

    private static var tick: Regex<Substring> { /aria-label="Add [A-Z]+ to [a-z]+" checked/ }
    private static let airports =
        "iata,elevation,opened,latitude,longitude\nSEA,433,1944-10-31,47.45,-122.31\nAMS,-11,1916-09-19,52.31,4.76\n"

    @Test func aFileIsPreviewedAndImported() async throws {
        try await EditStage.run { stage in
            #expect(try await stage.page("importing").contains("<h1>Import</h1>"))
            let answer = try await send(
                stage, "importing/preview", [("type", "Airport"), ("zone", "Notes"), ("format", "")],
                file: ("airports.csv", Self.airports))
            let page = EditStage.text(answer)
            for text in [
                "airports.csv", "2 rows will become records", "INT64", "TIMESTAMP", "LOCATION",
                "The import creates the record type Airport.",
            ] {
                #expect(page.contains(text), "\(text)")
            }
            #expect(
                try await stage.database().require(.showSchema).schema().types["Airport"] == nil,
                "a preview changes nothing")
            let chosen = [("upload", try upload(page)), ("type", "Airport"), ("zone", "Notes"), ("nameField", "iata")]
            let named = EditStage.text(try await send(stage, "importing/preview", chosen))
            #expect(named.contains("<p>2 new records.</p>") && named.contains(#"SEA <span class="pill">new</span>"#))
            let fields = chosen + [("previewed", try mark(named))]
            let begun = try await send(stage, "importing/run", fields)
            let over = try await stage.end(begun)
            #expect(
                over.contains(">done<") && over.contains("<dt>saved</dt><dd>2 <small>of 2</small></dd>")
                    && !over.contains("<dt>seen</dt>"))
            #expect(
                over.contains(
                    "query.csv?zone=Notes&amp;type=Airport&amp;all=1\">Export CSV of all Airport records in zone Notes</a>"
                ))
            #expect(over.contains(/importing[^"]*" aria-current="true"/))
            let values = try await stage.values("SEA")
            #expect(values["elevation"] == .int64(433))
            #expect(values["location"] == .location(Location(latitude: 47.45, longitude: -122.31)))
            let again = try await send(stage, "importing/run", fields)
            #expect(
                try stage.location(again) == stage.location(begun), "a second click leads to the import of the first")
            let kept = try await send(stage, "importing/preview", chosen)
            #expect(
                EditStage.text(kept).contains("no longer stored"), "the file is not kept for longer than it is needed")
        }
    }

    /// A column that can name the records is suggested, and the user's choice counts.
    @Test(arguments: [
        ("iata,title\nSEA,Seattle Tacoma\nAMS,Schiphol\n", "iata"), ("title,code\nThe first,a\nThe second,a\n", "-"),
        ("weight,code\n1.5,x\n2.5,y\n", "code"), ("code,title\nx,a b\n,c d\n", "-"), ("code\nx\n", "-"),
        ("recordName,code\na,x\nb,y\n", "recordName"),
    ])
    func aColumnWithDifferentValuesIsSuggestedAsTheName(text: String, column: String) async throws {
        try await EditStage.run { stage in
            let fields = [("type", "Place"), ("zone", "Notes")]
            let page = EditStage.text(try await send(stage, "importing/preview", fields, file: ("places.csv", text)))
            #expect(
                page.contains("<option value=\"\(column)\" selected>")
                    && page.contains("suggested: each row") == (column != "-"))
            let chosen = fields + [("upload", try upload(page)), ("nameField", "-")]
            let random = EditStage.text(try await send(stage, "importing/preview", chosen))
            #expect(random.contains("<option value=\"-\" selected>") && !random.contains("suggested: each row"))
        }
    }

    /// What the console exports as CSV, it imports again.
    @Test func anExportIsImportedAgain() async throws {
        try await EditStage.run { stage in
            let fields: [Name: FieldValue] = [
                "title": .string("a \"b\", c\nd"), "rank": .int64(.max), "weight": .double(1e-7),
                "due": .timestamp(Timestamp(milliseconds: 1_795_888_800_123)),
                "place": .location(Location(latitude: 52.52, longitude: 13.405)),
                "room": .reference(Reference(recordName: "Room/1")),
                "data": .bytes([0, 255, 10]), "tags": .list([.string("x, y"), .string("")], of: .string),
                "secret": .string("hidden"),
            ]
            try await stage.save("full", fields)
            try await stage.save("empty", [:])
            let child = RecordOperation(.forceUpdate, recordName: "empty", recordType: "Note", parent: .record("full"))
            _ = try await stage.database().modify(ModifyRequest([child], zoneID: EditStage.notes))
            let export = String(buffer: try await stage.get("query.csv?zone=Notes&type=Note&all=1").body)
            #expect(export.contains("\"52.52, 13.405\""))
            let chosen = [("type", "Note"), ("zone", "Other")]
            let page = EditStage.text(try await send(stage, "importing/preview", chosen, file: ("Note.csv", export)))
            let note =
                "Left out: recordChangeTag, createdTimestamp, createdUserRecordName, modifiedTimestamp, modifiedUserRecordName: the server sets them."
            #expect(
                page.contains(note) && page.contains("2 rows will become records")
                    && !page.contains("can’t be imported"))
            #expect(page.contains("References in &#39;room&#39; keep their action"))
            let begun = try await send(
                stage, "importing/run",
                chosen + [("upload", try upload(page)), ("previewed", try mark(page)), ("nameField", "recordName")])
            let over = try await stage.end(begun)
            #expect(over.contains(">done<") && over.contains(note) && over.contains(">Show all Note records</a>"))
            let other = ZoneID(zoneName: "Other")
            #expect(try await stage.values("full", in: other) == fields)
            #expect(try await stage.values("empty", in: other) == [:])
            #expect(try await stage.record("empty", in: other).parent == "full")
        }
    }

    /// A file with some of the fields changes these alone, unless the user replaces whole records.
    @Test func existingRecordsKeepWhatTheFileLacks() async throws {
        try await EditStage.run { stage in
            for number in 1...3 {
                let fields: [Name: FieldValue] = [
                    "title": .string("Note \(number)"), "rank": .int64(1), "weight": .double(2),
                ]
                try await stage.save(Name("n\(number)"), fields)
            }
            let rows = "recordName,title\nn1,Note 1\nn2,Other\nn3,Note 3\nn4,Note 4\n"
            let form = [("type", "Note"), ("zone", "Notes")]
            let page = EditStage.text(try await send(stage, "importing/preview", form, file: ("notes.csv", rows)))
            #expect(page.contains(#"<option value="keep" selected>keep what the file lacks</option>"#))
            #expect(page.contains("<p>1 new record, 3 existing: 1 changed, 2 unchanged.</p>"))
            for (name, standing) in [("n1", "unchanged"), ("n2", "changed"), ("n4", "new")] {
                #expect(page.contains("\(name) <span class=\"pill\">\(standing)</span>"), "\(name)")
            }
            #expect(!page.contains("id=\"loss\"") && !page.contains("zoneName is ignored"))
            let chosen = form + [("upload", try upload(page)), ("nameField", "recordName")]
            let replacing = chosen + [("existing", "replace")]
            let warned = EditStage.text(try await send(stage, "importing/preview", replacing))
            #expect(warned.contains("<p>1 new record, 3 replaced.</p>"))
            #expect(
                warned.contains(#"<span class="warn" id="loss">3 existing records lose rank, weight</span>"#)
                    && warned.contains(#"aria-describedby="loss">Import 4 records"#))
            // Only a previewed import runs.
            let stale = EditStage.text(
                try await send(stage, "importing/run", replacing + [("previewed", try mark(page))]))
            #expect(stale.contains("Nothing was imported"))
            let before = try await stage.record("n1").recordChangeTag
            let over = try await stage.end(
                try await send(stage, "importing/run", chosen + [("previewed", try mark(page))]))
            #expect(
                over.contains("<dt>saved</dt><dd>2 <small>of 4</small></dd>")
                    && over.contains("2 records had the values of the file already, and were not saved again."))
            #expect(try await stage.record("n1").recordChangeTag == before)
            #expect(
                try await stage.values("n2") == ["title": .string("Other"), "rank": .int64(1), "weight": .double(2)])
            // The choice to replace takes away what the page said.
            let again = EditStage.text(
                try await send(
                    stage, "importing/preview", form + [("existing", "replace")], file: ("notes.csv", rows)))
            let sent =
                form + [
                    ("existing", "replace"), ("upload", try upload(again)), ("nameField", "recordName"),
                    ("previewed", try mark(again)),
                ]
            _ = try await stage.end(try await send(stage, "importing/run", sent))
            #expect(try await stage.values("n1") == ["title": .string("Note 1")])
        }
    }

    /// Of many rows, those that the page shows are compared.
    @Test func ofManyRowsTheShownOnesAreCompared() async throws {
        try await EditStage.run { stage in
            try await stage.save("n1", ["title": .string("a"), "rank": .int64(1)])
            let rows = "recordName,title\n" + (1...1_001).map { "n\($0),b\n" }.joined()
            let form = [("type", "Note"), ("zone", "Notes"), ("existing", "replace")]
            let page = EditStage.text(try await send(stage, "importing/preview", form, file: ("notes.csv", rows)))
            #expect(page.contains("In the first 10 rows: 9 new records, 1 replaced."))
            #expect(page.contains("In the first 10 rows: 1 existing record loses rank"))
        }
    }

    @Test func aColumnOfZonesIsSaidToBeIgnored() async throws {
        try await EditStage.run { stage in
            let rows = "recordName,zoneName,title,recordChangeTag\na,Other,A,1\n"
            let page = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Note"), ("zone", "Notes")], file: ("a.csv", rows)))
            #expect(page.contains("for all rows: the file’s zoneName is ignored"))
        }
    }

    @Test func oneBadCellIsNamed() async throws {
        try await EditStage.run { stage in
            let rows = "code,count\na,1\nb,2\nc,none\n"
            let page = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Place"), ("zone", "Notes")], file: ("places.csv", rows)))
            #expect(page.contains("because places.csv:4 has &#39;none&#39;"))
            let chosen = [
                ("type", "Place"), ("zone", "Notes"), ("upload", try upload(page)), ("previewed", try mark(page)),
                ("nameField", "code"),
            ]
            let offered = String(try #require(page.firstMatch(of: /name="offered" value="([^"]+)"/)?.output.1))
            let fresh = EditStage.text(try await send(stage, "importing/preview", chosen + [("offered", offered)]))
            let sent = chosen.filter { $0.0 != "previewed" } + [("offered", offered), ("previewed", try mark(fresh))]
            #expect(
                try await stage.end(try await send(stage, "importing/run", sent)).contains(">Show the 3 records</a>"))
        }
    }

    @Test func indexesAreTickedInThePreview() async throws {
        try await EditStage.run { stage in
            let fields = [("type", "Airport"), ("zone", "Notes")]
            let page = EditStage.text(
                try await send(stage, "importing/preview", fields, file: ("airports.csv", Self.airports)))
            #expect(page.contains("name=\"index\" value=\"elevation:SORTABLE\" form=\"import\""))
            #expect(!page.contains("value=\"elevation:SEARCHABLE\""), "a number has no words")
            // New fields have the ticks that a save would give them, until the user chooses.
            #expect(page.matches(of: Self.tick).count == 8)
            let offered = String(try #require(page.firstMatch(of: /name="offered" value="([^"]+)"/)?.output.1))
            let none = fields + [("upload", try upload(page)), ("offered", offered)]
            #expect(EditStage.text(try await send(stage, "importing/preview", none)).matches(of: Self.tick).isEmpty)
            // The ticks of another type do not count.
            let ofPort = [
                ("type", "Port"), ("zone", "Notes"), ("upload", try upload(page)), ("offered", offered),
                ("index", "iata:SORTABLE"),
            ]
            #expect(
                EditStage.text(try await send(stage, "importing/preview", ofPort)).matches(of: Self.tick).count == 8)
            let chosen =
                fields + [
                    ("upload", try upload(page)), ("nameField", "iata"), ("index", "elevation:SORTABLE"),
                    ("index", "elevation:QUERYABLE"),
                ]
            let ticked = EditStage.text(try await send(stage, "importing/preview", chosen))
            #expect(ticked.matches(of: /aria-label="Add (QUERYABLE|SORTABLE) to elevation" checked/).count == 2)
            #expect(ticked.contains("elevation QUERYABLE SORTABLE"))
            // An import with other indexes than the preview had is previewed again.
            let other = chosen.dropLast() + [("previewed", try mark(ticked))]
            #expect(
                EditStage.text(try await send(stage, "importing/run", Array(other))).contains("Nothing was imported"))
            _ = try await stage.end(try await send(stage, "importing/run", chosen + [("previewed", try mark(ticked))]))
            let type = try #require(try await stage.database().require(.showSchema).schema().types["Airport"])
            #expect(
                type.fields["elevation"]?.indexes == [.queryable, .sortable] && type.fields["opened"]?.indexes == [])
            let again = EditStage.text(
                try await send(stage, "importing/preview", fields, file: ("airports.csv", Self.airports)))
            #expect(!again.contains("value=\"elevation:SORTABLE\"") && again.contains("value=\"opened:SORTABLE\""))
        }
    }

    @Test func theZoneIsAskedFor() async throws {
        try await EditStage.run { stage in
            let page = try await stage.page("importing")
            #expect(page.contains("<option value=\"\" selected>choose a zone</option>"))
            #expect(try await stage.page("importing?zone=Other").contains("<option value=\"Other\" selected>"))
            let asked = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Note"), ("zone", "")], file: ("a.csv", "title\nMilk\n")))
            #expect(asked.contains("Choose the zone for the records") && !asked.contains("Import 1 record"))
            // The file is kept meanwhile.
            let chosen = [("upload", try upload(asked)), ("type", "Note"), ("zone", "Notes")]
            #expect(EditStage.text(try await send(stage, "importing/preview", chosen)).contains("Import 1 record"))
            #expect(try await stage.page("importing?user=developer").contains("importing/preview?user=developer"))
        }
    }

    /// A double click imports once. With generated record names, a second import would double the records.
    @Test func aDoubleClickImportsOnce() async throws {
        try await EditStage.run { stage in
            let page = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Note"), ("zone", "Notes")], file: ("a.csv", "title\nMilk\n"))
            )
            let fields = [
                ("upload", try upload(page)), ("type", "Note"), ("zone", "Notes"), ("nameField", "-"),
                ("previewed", try mark(page)),
            ]
            async let one = send(stage, "importing/run", fields)
            async let two = send(stage, "importing/run", fields)
            let (first, second) = try await (one, two)
            #expect(try stage.location(first) == stage.location(second))
            _ = try await stage.end(first)
            let changes = try await stage.database().zoneChanges(ZoneChangesRequest(EditStage.notes)).changes
            #expect(changes.count == 1)
        }
    }

    @Test func nothingIsImportedThatWasNotShown() async throws {
        try await EditStage.run { stage in
            let page = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Note"), ("zone", "Notes")], file: ("a.csv", "title\nMilk\n"))
            )
            let shown = [
                ("upload", try upload(page)), ("type", "Note"), ("zone", "Notes"), ("nameField", "-"),
                ("previewed", try mark(page)),
            ]
            func changed(_ name: String, _ value: String) -> [(String, String)] {
                shown.map { $0.0 == name ? (name, value) : $0 }
            }
            let another = EditStage.text(
                try await send(stage, "importing/run", shown, file: ("b.csv", "title\nBread\nButter\n")))
            #expect(
                another.contains("Nothing was imported") && another.contains("2 rows will become records")
                    && another.contains(">Bread</td>"))
            let task = EditStage.text(try await send(stage, "importing/run", changed("type", "Task")))
            #expect(task.contains("Nothing was imported") && task.contains("The import creates the record type Task."))
            for fields in [
                changed("zone", "Other"), changed("nameField", "title"), shown + [("format", "ndjson")],
                shown + [("text", "title\nJam")],
            ] {
                #expect(EditStage.text(try await send(stage, "importing/run", fields)).contains("Nothing was imported"))
            }
            #expect(try await stage.database().zoneChanges(ZoneChangesRequest(EditStage.notes)).changes.isEmpty)
            #expect(try await stage.database().require(.showSchema).schema().types["Task"] == nil)
            // The import matches the updated preview.
            let fields = changed("type", "Task").dropLast() + [("previewed", try mark(task))]
            #expect(
                try await stage.end(try await send(stage, "importing/run", Array(fields))).contains(
                    "<dt>saved</dt><dd>1 <small>of 1</small></dd>"))
        }
    }

    @Test func anImportIsCancelled() async throws {
        try await EditStage.run { stage in
            // Enough rows that the cancellation arrives before the end, even on a slow machine.
            let count = 40_000
            let rows = "title\n" + (0..<count).map { "note \($0)\n" }.joined()
            let page = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Note"), ("zone", "Notes")], file: ("a.csv", rows)))
            let fields = [
                ("upload", try upload(page)), ("type", "Note"), ("zone", "Notes"), ("nameField", "-"),
                ("previewed", try mark(page)),
            ]
            let begun = try await send(stage, "importing/run", fields)
            let run = try await stage.page(try stage.location(begun))
            _ = try await stage.send("run/cancel", of: run)
            #expect(try await stage.end(begun).contains(">cancelled<"))
            let saved = try await stage.database().zoneChanges(
                ZoneChangesRequest(EditStage.notes, limit: PageLimit(records: count)))
            #expect(saved.changes.count < count)
        }
    }

    @Test func badRowsAreListedAndLeftOutOnlyWhenThatIsMeant() async throws {
        try await EditStage.run { stage in
            let text =
                "[{\"title\":\"a\",\"rank\":1},{\"title\":\"b\",\"rank\":\"many\"},7,{\"title\":\"d\",\"rank\":4}]"
            let answer = try await send(
                stage, "importing/preview", [("type", "Note"), ("zone", "Notes"), ("nameField", "-")],
                file: ("notes.json", text))
            let page = EditStage.text(answer)
            #expect(
                page.contains("2 rows can’t be imported") && page.contains("the field &#39;rank&#39; has type INT64")
                    && page.contains("Import 2 records"))
            // Scripts disable the button; without them it answers why nothing was imported.
            #expect(
                page.contains("data-blocked")
                    && page.contains("2 rows can’t be imported. Skip them, or correct the file."))
            let fields = [
                ("upload", try upload(page)), ("type", "Note"), ("zone", "Notes"), ("nameField", "-"),
                ("previewed", try mark(page)),
            ]
            let refused = try await send(stage, "importing/run", fields)
            #expect(EditStage.text(refused).contains("Nothing was imported"))
            let skipping = EditStage.text(try await send(stage, "importing/preview", fields + [("skip", "1")]))
            #expect(skipping.contains(">Import 2, skip 2</button>") && !skipping.contains("data-blocked"))
            let over = try await stage.end(try await send(stage, "importing/run", fields + [("skip", "1")]))
            #expect(
                over.contains("<dt>saved</dt><dd>2 <small>of 2</small></dd>") && over.contains(">2 rows</dd>")
                    && over.contains("Skipped 2 rows"))
            #expect(over.contains(">done<") && !over.contains("done, with errors"))
        }
    }

    @Test func aColumnGetsTheTypeThatIsChosen() async throws {
        try await EditStage.run { stage in
            let form = [("type", "Item"), ("zone", "Notes"), ("nameField", "-")]
            let page = EditStage.text(
                try await send(stage, "importing/preview", form, file: ("items.csv", "sku;a:b\n17;x\n1E5;y\n")))
            #expect(page.contains("is read with &#39;;&#39; between the cells."))
            #expect(
                page.contains("items.csv:3 has &#39;1E5&#39;")
                    && page.contains(#"<option value="" selected>STRING</option>"#))
            let chosen =
                form + [
                    ("upload", try upload(page)), ("column", "sku:DOUBLE"), ("column", "a:b:STRING"),
                    ("column", "gone:INT64"), ("column", "x:ASSET"),
                ]
            let typed = EditStage.text(try await send(stage, "importing/preview", chosen))
            #expect(
                typed.contains(#"<option value="sku:DOUBLE" selected>"#)
                    && typed.contains(#"<option value="a:b:STRING" selected>"#))
            let stale = EditStage.text(try await send(stage, "importing/run", chosen + [("previewed", try mark(page))]))
            #expect(stale.contains("the preview is out of date"))
            let over = try await stage.end(
                try await send(stage, "importing/run", chosen + [("previewed", try mark(typed))]))
            #expect(over.contains("<dt>saved</dt><dd>2 <small>of 2</small></dd>"))
            #expect(
                try await stage.database().require(.showSchema).schema().types["Item"]?.fields["sku"]?.type == .double)
        }
    }

    @Test(arguments: [("id,v\n1\n2,3,4\n", "a.csv"), ("{\"id\"\n7\n", "a.ndjson")])
    func whereEachRowIsBadThePageNamesThem(text: String, name: String) async throws {
        try await EditStage.run { stage in
            let page = EditStage.text(
                try await send(
                    stage, "importing/preview", [("type", "Item"), ("zone", "Notes"), ("nameField", "id")],
                    file: (name, text)))
            #expect(
                page.contains("2 rows can’t be imported") && !page.contains("formaction")
                    && !page.contains("has no values"))
        }
    }

    @Test(arguments: [
        ("title,rank\r\nMilk,1\r\n", "CSV"), ("title\trank\r\nMilk\t1\r\n", "TSV"),
        ("[{\"title\":\"Milk\",\"rank\":1}]", "JSON"),
        ("{\"title\":\"Milk\",\"rank\":1}", "NDJSON"),
    ])
    func pastedRowsSayTheirFormatThemselves(text: String, format: String) async throws {
        try await EditStage.run { stage in
            let page = EditStage.text(
                try await send(stage, "importing/preview", [("type", "Note"), ("zone", "Notes"), ("text", text)]))
            #expect(
                page.contains("1 row will become records") && page.contains("selected>\(format)<")
                    && page.contains(">Milk</td>"))
        }
    }

    @Test(arguments: [
        ("", "Note", "There is nothing to import"), ("title\nMilk\n", "", "Enter a record type"),
        ("title\nMilk\n", "Users", "CloudKit&#39;s own"),
        ("title\nMilk\n", "9 lives", "must start with a letter"), ("\"never closed", "Note", "is not closed"),
    ])
    func unreadableFilesAreExplained(text: String, type: String, complaint: String) async throws {
        try await EditStage.run { stage in
            let answer = try await send(
                stage, "importing/preview", [("type", type), ("zone", "Notes")],
                file: text.isEmpty ? nil : ("rows.csv", text))
            let page = EditStage.text(answer)
            #expect(page.contains(complaint))
            // The page must not reveal the path of the stored file.
            #expect(!page.contains("skylight-imports"))
        }
    }

    @Test func theNameOfAFileLeadsNowhere() async throws {
        try await EditStage.run { stage in
            for name in ["../../../etc/passwd", "..", ".", "/etc/cron.d/x", "..\\..\\x.csv", "a\u{1}b"] {
                let fields = [("type", "Note"), ("zone", "Notes"), ("format", "csv")]
                let page = EditStage.text(
                    try await send(stage, "importing/preview", fields, file: (name, "title\nMilk\n")))
                #expect(page.contains("1 row will become records"), "\(name)")
                #expect(!page.contains("../") && !page.contains("/etc"), "\(name)")
            }
        }
    }

    @Test func productionTakesWhatItsSchemaHas() async throws {
        try await EditStage.run { stage in
            let form = "type=Note&zone=_defaultZone&text=title"
            let answer = try await stage.post("importing/preview", form + "%2Cnovel%0AMilk%2C1", in: "production")
            let page = EditStage.text(answer)
            #expect(
                page.contains("The production schema has no such type") && !page.contains(">Import 1 record</button>"))
            let known = try await stage.post("importing/preview", form + "%0AMilk", in: "production")
            #expect(EditStage.text(known).contains(">Import 1 record</button>"))
        }
    }
}
