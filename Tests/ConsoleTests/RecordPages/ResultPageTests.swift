import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

/// Results as files, selected records, counted values, and saved queries.
@Suite struct ResultPageTests {
    private struct Stage: Sendable {
        let stage: RequestStage

        var database: any RecordDatabase { stage.database }

        func get(_ path: String) async throws -> (HTTPResponse.Status, String, HTTPFields) {
            let answer = try await stage.get(path)
            return (answer.status, String(buffer: answer.body), answer.headers)
        }

        func post(_ path: String, _ pairs: [(String, String)]) async throws -> (HTTPResponse.Status, String, HTTPFields)
        {
            let answer = try await stage.post(path, pairs)
            return (answer.status, String(buffer: answer.body), answer.headers)
        }

        func tag(of name: Name) async throws -> String {
            let results = try await database.fetch(
                [RecordID(recordName: name, zoneID: ZoneID(zoneName: "Notes"))], desiredKeys: [])
            return try #require(results.first).get().recordChangeTag
        }
    }

    /// 1,203 notes of three rooms in one zone, and one in another.
    private func withNotes(_ body: @Sendable (Stage) async throws -> Void) async throws {
        try await RequestStage.with { stage in
            let (notes, others) = (RequestStage.zone, ZoneID(zoneName: "Others"))
            let database = stage.database
            _ = try await database.modifyZones([.create(others)])
            for start in stride(from: 0, to: 1203, by: 200) {
                let operations = (start..<min(start + 200, 1203)).map { number in
                    let room: String = number < 3 ? "attic, \"old\"" : number % 3 == 0 ? "hall" : "cellar"
                    return RecordOperation(
                        .create, recordName: Name("note\(1000 + number)"), recordType: "Note",
                        fields: ["room": FieldInput(.string(room)), "rank": FieldInput(.int64(Int64(number)))])
                }
                try await database.apply(operations, in: notes)
            }
            try await database.save("note1000", as: .create, type: "Note", in: others, ["room": .string("hall")])
            _ = try await database.require(.editSchema).edit([
                .addIndexes([.queryable], of: .system(.recordID), in: "Note")
            ]
            )
            try await body(Stage(stage: stage))
        }
    }

    private static func records(_ text: String) throws -> [JSONValue] {
        guard case .object(let object) = try JSONReader.value(of: Array(text.utf8)),
            case .array(let records)? = object["records"]
        else { return [] }
        return records
    }

    // MARK: Files

    @Test func aPageAndAllPagesAsFiles() async throws {
        try await withNotes { stage in
            let query = "type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN&value1=2&sort1=rank&limit=10"
            let (status, page, headers) = try await stage.get("query.json?\(query)")
            #expect(status == .ok && headers[.contentType] == "application/json; charset=UTF-8")
            #expect(try Self.records(page).count == 10)
            let links = try await stage.get("query?\(query)").1.matches(
                of: /\/query\.(\w+)\?([^"]*)">(\w+) <small>([^<]*)</)
            #expect(
                links.map { "\($0.output.3) \($0.output.4)" }
                    == ["JSON", "NDJSON", "CSV"].flatMap { ["\($0) this page", "\($0) all pages"] })
            #expect(links.allSatisfy { $0.output.2.contains("all=1") == $0.output.4.contains("all") })
            guard case .object(let object) = try JSONReader.value(of: Array(page.utf8)),
                case .string(let next)? = object["next"]
            else {
                Issue.record("no next page")
                return
            }
            let there = try #require(next.firstRange(of: RequestStage.there + "/"))
            let second = try await stage.get(String(next[there.upperBound...])).1
            #expect(second.contains("\"note1013\"") && !second.contains("\"note1012\""))
            let all = try await stage.get("query.ndjson?\(query)&all=1").1.split(separator: "\n")
            #expect(all.count == 1200 && all[0].contains("\"note1003\"") && all[1199].contains("\"note2202\""))
            #expect(try Self.records(try await stage.get("query.json?\(query)&all=1").1).count == 1200)
            let (_, csv, csvHeaders) = try await stage.get("query.csv?\(query)&all=1&key=rank")
            let lines = csv.split(separator: "\r\n")
            #expect(
                lines.count == 1201 && lines[0].hasPrefix("recordName,rank,parent,")
                    && lines[1].hasPrefix("note1003,3,,"))
            #expect(csvHeaders[.contentDisposition] == "attachment; filename=\"Note.csv\"")
            let everywhere = try await stage.get("query.csv?type=Note&zone=").1.split(separator: "\r\n")
            #expect(everywhere[0].hasPrefix("recordName,zoneName,room,rank,"))
        }
    }

    @Test func refusalsAreJSON() async throws {
        try await withNotes { stage in
            for (path, status, words) in [
                (
                    "query.csv?type=Note&filter1=rank&is1=EQUALS&value1=x", HTTPResponse.Status.badRequest,
                    "not a 64-bit whole number"
                ),
                ("query.json?type=Nothing", .notFound, "Did not find record type"),
                ("fetch.json", .badRequest, "Enter record names"),
                ("query.ndjson?type=Note&zone=nowhere&all=1", .notFound, "Zone does not exist"),
            ] {
                let (answered, text, _) = try await stage.get(path)
                #expect(
                    answered == status && text.contains("\"serverErrorCode\"") && text.contains(words),
                    "\(path): \(text)")
            }
        }
    }

    @Test func fetchedRecordsAsFiles() async throws {
        try await withNotes { stage in
            let names = "zone=Notes&names=note1001%0Anobody"
            let records = try Self.records(try await stage.get("fetch.json?\(names)").1)
            #expect(records.count == 2)
            #expect(try await stage.get("fetch.ndjson?\(names)").1.split(separator: "\n").count == 2)
            let lines = try await stage.get("fetch.csv?\(names)").1.split(separator: "\r\n")
            #expect(
                lines.count == 3 && lines[0].hasPrefix("recordName,recordType,rank,room,")
                    && lines[0].hasSuffix("serverErrorCode"))
            #expect(lines[1].hasPrefix("note1001,Note,1,\"attic, \"\"old\"\"\",") && lines[2].hasSuffix("NOT_FOUND"))
        }
    }

    // MARK: Counting

    @Test func whatIsFoundIsCounted() async throws {
        try await withNotes { stage in
            #expect(try await stage.get("query?type=Note&zone=Notes").1.contains("of 1,203"))
            let filtered = try await stage.get("query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN&value1=2").1
            #expect(filtered.contains("<b>first 50 records</b> <a") && filtered.contains("count all"))
            #expect(
                try await stage.get("query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN&value1=2&count=all").1
                    .contains("of 1,200<"))
        }
    }

    @Test func valuesAreCountedAndLeadToTheirRecords() async throws {
        try await withNotes { stage in
            let page = try await stage.get("query?type=Note&zone=Notes&facet=room").1
            #expect(page.contains("3 values in 1,203 records"))
            #expect(page.contains("<b>800</b>") && page.contains("<b>400</b>") && page.contains("<b>3</b>"))
            #expect(page.contains("filter1=room&amp;is1=EQUALS&amp;value1=attic%2C%20%22old%22&amp;facet=room"))
            // Only the records that match the filter.
            let filtered = try await stage.get(
                "query?type=Note&zone=Notes&facet=room&filter1=rank&is1=LESS_THAN&value1=4&key=rank"
            ).1
            #expect(filtered.contains("2 values in 4 records"))
            #expect(try await stage.get("query?type=Note&zone=&facet=room").1.contains("3 values in 1,204 records"))
        }
    }

    @Test func valuesWithCommasAreNotJoinedByThem() async throws {
        try await EditStage.run { stage in
            let places = [(1.0, 2.0), (3.0, 4.0)].map { FieldValue.location(Location(latitude: $0.0, longitude: $0.1)) }
            try await stage.save(
                "n",
                [
                    "rank": .int64(1), "places": .list(places, of: .location),
                    "tags": .list([.string("red"), .string("blue")], of: .string),
                    "names": .list([.string("Roe, Jane"), .string("Ada")], of: .string),
                ])
            let page = try await stage.page("query?type=Note&zone=Notes&filter1=rank&is1=EQUALS&value1=1")
            #expect(
                page.contains("red, blue") && page.contains("<li>1.0, 2.0</li><li>3.0, 4.0</li>")
                    && page.contains("<li>Roe, Jane</li><li>Ada</li>"))
        }
    }

    // MARK: As text

    @Test func aTextBecomesTheForm() async throws {
        try await withNotes { stage in
            let (status, _, headers) = try await stage.get(
                "query?type=Note&zone=Notes&filter1=room&is1=EQUALS&value1=x&limit=10&where=rank+%3C+3+sort+by+rank+descending"
            )
            #expect(status == .seeOther)
            #expect(
                headers[.location]
                    == "\(RequestStage.there)/query?zone=Notes&type=Note&filter1=rank&is1=LESS_THAN&value1=3&sort1=rank&order1=descending&limit=10"
            )
            let page = try await stage.get(
                "query?type=Note&zone=Notes&filter1=rank&is1=LESS_THAN&value1=3&where=rank+%3C+x"
            ).1
            #expect(
                page.contains("At character 8: ‘x’ is not a 64-bit whole number")
                    && page.contains("rank &lt; <mark>x</mark>"))
            #expect(page.contains("Not run: the text can") && !page.contains("<tbody>"))
            #expect(
                try await stage.get("query?type=Note&zone=Notes&filter1=rank&is1=LESS_THAN&value1=3").1.contains(
                    "value=\"rank &lt; 3\""))
        }
    }

    // MARK: Picked records

    @Test func pickedRecordsAreFetchedExportedAndDeleted() async throws {
        try await withNotes { stage in
            let picks = try await ["note1001", "note1002", "note1003"].asyncMap { name in
                ("pick", "Notes\r\n\(name)\r\n\(try await stage.tag(of: Name(name)))")
            }
            let back = "\(RequestStage.there)/query?zone=Notes&type=Note"
            let (fetch, _, headers) = try await stage.post(
                "picked?zone=Notes", picks + [("do", "fetch"), ("back", back)])
            #expect(
                fetch == .seeOther
                    && headers[.location]
                        == "\(RequestStage.there)/fetch?zone=Notes&names=note1001%0Anote1002%0Anote1003"
            )
            let csv = try await stage.post("picked?zone=Notes", picks + [("do", "csv")]).1
            #expect(csv.split(separator: "\r\n").count == 4)
            // A record that was saved meanwhile is not deleted, and the page says so.
            let save = RecordOperation(
                .forceUpdate, recordName: "note1002", recordType: "Note", fields: ["rank": FieldInput(.int64(-1))])
            _ = try await stage.database.modify(ModifyRequest([save], zoneID: ZoneID(zoneName: "Notes")))
            let (_, page, _) = try await stage.post("picked/delete?zone=Notes", picks + [("back", back)])
            #expect(
                page.contains("1 record not deleted") && page.contains("2 records are deleted.")
                    && page.contains("CONFLICT") && page.contains("note1002"))
            let again = try await [("pick", "Notes\n" + "note1002\n" + stage.tag(of: "note1002"))]
            let (gone, _, there) = try await stage.post("picked/delete?zone=Notes", again + [("back", back)])
            #expect(gone == .seeOther && there[.location]?.hasPrefix("\(back)&notice=records-deleted&undo=") == true)
            #expect(try await stage.get("query?type=Note&zone=Notes&notice=records-deleted").1.contains("of 1,200"))
        }
    }

    @Test func pickedRecordsOfSeveralZones() async throws {
        try await withNotes { stage in
            let picks = [("pick", "Notes\nnote1000\n1"), ("pick", "Others\nnote1000\n1")]
            let page = try await stage.post("picked?zone=", picks + [("do", "fetch")]).1
            #expect(page.contains("1 record of Notes") && page.contains("1 record of Others"))
            #expect(try await stage.post("picked?zone=", picks + [("do", "csv")]).1.split(separator: "\r\n").count == 3)
            #expect(try await stage.post("picked", [("do", "fetch")]).1.contains("No record is selected"))
            #expect(try await stage.post("picked", [("pick", "nonsense"), ("do", "json")]).0 == .badRequest)
        }
    }

    // MARK: Saved queries

    @Test func aQueryIsSavedUnderAName() async throws {
        try await withNotes { stage in
            let question = "type=Note&filter1=room&is1=EQUALS&value1=hall&marker=x&notice=zone-created"
            let (status, _, headers) = try await stage.post(
                "queries/save?zone=Notes",
                [("name", " The <hall> "), ("question", question), ("back", "\(RequestStage.there)/query?type=Note")])
            #expect(
                status == .seeOther && headers[.location] == "\(RequestStage.there)/query?type=Note&notice=query-saved")
            let page = try await stage.get("query?type=Note").1
            #expect(page.contains("The &lt;hall&gt;</bdi> <small>private, Notes</small>"))
            #expect(
                page.contains(
                    "\(RequestStage.there)/query?zone=Notes&amp;type=Note&amp;filter1=room&amp;is1=EQUALS&amp;value1=hall\""
                ))
            // The same query in production.
            let production = RequestStage.there.replacing("development", with: "production")
            let there = try await stage.stage.get("query?type=Note", in: "production")
            #expect(
                String(buffer: there.body).contains("\(production)/query?zone=Notes&amp;type=Note&amp;filter1=room"))
            #expect(
                try await stage.post("queries/save", [("name", ""), ("question", question)]).1.contains(
                    "Enter a name for the query"))
            _ = try await stage.post("queries/remove", [("name", "The <hall>")])
            #expect(try await stage.get("query?type=Note").1.contains("No query of this container is saved yet"))
        }
    }

    // MARK: As code

    @Test(arguments: [
        ("query?type=Note&zone=Notes", "performQuery", "records/query"),
        ("explain?type=Note&zone=Notes", "performQuery", "records/query"),
        ("fetch?zone=Notes&names=note1001", "fetchRecords", "records/lookup"),
        ("changes?zone=Notes", "fetchRecordZoneChanges", "changes/zone"),
        ("changes", "fetchDatabaseChanges", "changes/database"),
        ("record?zone=Notes&name=note1001", "saveRecords", "records/modify"),
        ("record?zone=Notes&name=note1001", "deleteRecords", "&quot;operationType&quot;: &quot;delete&quot;"),
        (
            "record?zone=Notes&name=note1001", "saveRecords",
            "aria-label=\"The record as JSON\"><code data-copy-source>{"
        ),
    ])
    func everyWayIsThereAsCode(path: String, javaScript: String, request: String) async throws {
        try await withNotes { stage in
            let page = try await stage.get(path).1
            #expect(page.contains("database.\(javaScript)(") && page.contains(request))
            #expect(page.contains("Swift, async") && page.contains("Operation("))
        }
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
