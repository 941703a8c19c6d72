import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing
@testable import DataTransfer

@Suite struct ImporterTests {
    private let folder: TemporaryFolder
    private let engine = InMemoryRecordEngine()

    init() throws { folder = try TemporaryFolder() }

    private func database(_ scope: DatabaseScope = .private, _ environment: Environment = .development) async throws
        -> any RecordDatabase
    {
        let container = try #require(ContainerID("iCloud.com.example.Air"))
        return try await engine.database(
            DatabaseAddress(container: container, environment: environment, scope: scope),
            as: Caller(userRecordName: "_ada"))
    }

    private func run(
        _ text: String, _ name: String = "a.csv", options: ImportOptions = ImportOptions(recordType: "Place"),
        into database: (any RecordDatabase)? = nil
    ) async throws -> ImportReport {
        let target: any RecordDatabase = if let database { database } else { try await self.database() }
        return try await Importer([folder.write(text, to: name)], options: options, into: target).run()
    }

    private func fields(of name: Name, in zoneID: ZoneID = .default) async throws -> [Name: FieldValue] {
        let record = try await #require(
            database().fetch([RecordID(recordName: name, zoneID: zoneID)], desiredKeys: nil).first
        ).get()
        return Dictionary(
            try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    private func schema() async throws -> Schema {
        try await database().require(.showSchema).schema()
    }

    private func message(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    static let airports = """
        iata,name,city,elevation,latitude,longitude,opened,mail
        00M,"Thigpen, A.",Bay Springs,351,31.95,-89.23,1960/05/01,
        SEA,Seattle-Tacoma,Seattle,433,47.45,-122.31,1944-07-09,x
        XXX,Nowhere,,,,,,
        """

    /// A cancelled import finishes its current requests and starts no more. Saved records stay, were reported, and can
    /// be found by the indexes of the import.
    @Test(arguments: ImportProgress.Phase.allCases.filter { $0 != .indexing })
    func aCancelledImportEndsWhereItStands(phase: ImportProgress.Phase) async throws {
        let zoneID = ZoneID(zoneName: "Notes")
        let rows = "title\n" + (0..<6_000).map { "note \($0)\n" }.joined()
        let importer = try Importer(
            [folder.write(rows, to: "a.csv")],
            options: ImportOptions(recordType: "Note", zoneID: zoneID, indexes: ["title": .sortable]),
            into: try await database())
        let told = Mutex(0)
        let work = Task {
            try await importer.run { progress in
                if progress.phase == .saving { told.withLock { $0 = progress.count } }
                // Progress is reported in the importing task.
                if progress.phase == phase, progress.count > 0 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await work.value }
        guard phase == .saving else {
            await #expect(throws: RecordError.zoneNotFound) {
                try await database().zoneChanges(ZoneChangesRequest(zoneID))
            }
            return
        }
        let page = try await database().zoneChanges(ZoneChangesRequest(zoneID, limit: PageLimit(records: 10_000)))
        #expect(page.changes.count == told.withLock { $0 } && (1..<6_000).contains(page.changes.count))
        #expect(try await schema().types["Note"]?.fields["title"]?.indexes == .sortable)
    }

    @Test func rowsBecomeRecordsAndTheSchemaIsExactlyWhatWasAsked() async throws {
        let report = try await run(
            Self.airports,
            options: ImportOptions(
                recordType: "Airport", nameField: "iata",
                indexes: ["name": .sortable, "location": .queryable, "createdTimestamp": .sortable]))
        #expect(report.saved == 3)
        #expect(report.madeType)
        #expect(
            report.indexesMade.map { "\($0.fieldName) \($0.indexes.names)" } == [
                "recordName [\"QUERYABLE\"]", "createdTimestamp [\"SORTABLE\"]", "location [\"QUERYABLE\"]",
                "name [\"SORTABLE\"]",
            ])
        let seattle = try await fields(of: "SEA")
        #expect(
            seattle == [
                "iata": .string("SEA"), "name": .string("Seattle-Tacoma"), "city": .string("Seattle"),
                "elevation": .int64(433),
                "location": .location(Location(latitude: 47.45, longitude: -122.31)),
                "opened": .timestamp(Timestamp(milliseconds: -804_124_800_000)), "mail": .string("x"),
            ])
        #expect(try await fields(of: "XXX") == ["iata": .string("XXX"), "name": .string("Nowhere")])
        let type = try #require(try await schema().types["Airport"])
        #expect(type.fields["name"] == FieldDefinition(type: .string, indexes: .sortable))
        #expect(type.fields["location"] == FieldDefinition(type: .location, indexes: .queryable))
        #expect(type.fields["city"] == FieldDefinition(type: .string))
        #expect(type.fields["latitude"] == nil)
        #expect(type.systemIndexes == [.recordID: .queryable, .createTime: .sortable])
    }

    @Test func importingAgainReplacesByName() async throws {
        let options = ImportOptions(recordType: "Airport", nameField: "iata")
        _ = try await run(Self.airports, options: options)
        let report = try await run("iata,name\nSEA,Sea-Tac\n", options: options)
        #expect(report.indexesMade.isEmpty)
        #expect(!report.madeType)
        #expect(try await fields(of: "SEA") == ["iata": .string("SEA"), "name": .string("Sea-Tac")])
        let page = try await database().query(QueryRequest(Query(recordType: "Airport")))
        #expect(page.records.count == 3)
    }

    /// A file with some of the fields changes these alone, and only in records whose values differ.
    @Test func fieldsThatTheFileLacksAreKept() async throws {
        _ = try await run(Self.airports, options: ImportOptions(recordType: "Airport", nameField: "iata"))
        func tags() async throws -> [String] {
            try await database().fetch(["00M", "SEA", "XXX"].map { RecordID(recordName: $0) }, desiredKeys: nil).map {
                try $0.get().recordChangeTag
            }
        }
        let before = try await tags()
        let report = try await run(
            "iata,city,elevation\n00M,Bay Springs,351\nSEA,SeaTac,\nXXX,,\nNEW,New,1\n",
            options: ImportOptions(recordType: "Airport", nameField: "iata", keepsFields: true))
        #expect(report.saved == 2 && report.unchanged == 2)
        let seattle = try await fields(of: "SEA")
        #expect(
            seattle == [
                "iata": .string("SEA"), "name": .string("Seattle-Tacoma"), "city": .string("SeaTac"),
                "location": .location(Location(latitude: 47.45, longitude: -122.31)),
                "opened": .timestamp(Timestamp(milliseconds: -804_124_800_000)), "mail": .string("x"),
            ], "an empty cell clears its field")
        #expect(
            try await fields(of: "NEW") == ["iata": .string("NEW"), "city": .string("New"), "elevation": .int64(1)])
        let after = try await tags()
        #expect(zip(before, after).map { $0 == $1 } == [true, false, true], "only what differs is saved")
        // Look-alike letters differ.
        let composed = try await run(
            "iata,city\nSEA,\u{E9}\n", options: ImportOptions(recordType: "Airport", nameField: "iata"))
        let decomposed = try await run(
            "iata,city\nSEA,e\u{301}\n",
            options: ImportOptions(recordType: "Airport", nameField: "iata", keepsFields: true))
        #expect(composed.saved == 1 && decomposed.saved == 1)
    }

    /// In JSON, a row lacks the members that it has not, and a null clears.
    @Test func membersThatARowLacksAreKept() async throws {
        let options = ImportOptions(recordType: "Place", nameField: "id", keepsFields: true)
        _ = try await run("{\"id\":\"a\",\"n\":1,\"t\":\"x\"}\n", "a.ndjson", options: options)
        let report = try await run(
            "{\"id\":\"a\",\"t\":null}\n{\"id\":\"b\",\"n\":2}\n", "a.ndjson", options: options)
        #expect(report.saved == 2)
        #expect(try await fields(of: "a") == ["id": .string("a"), "n": .int64(1)])
    }

    /// The names of references are all that a CSV file has of them.
    @Test func anUnchangedReferenceKeepsItsActionAndItsParent() async throws {
        let room = FieldDefinition(type: .reference)
        _ = try await database().require(.editSchema).edit([
            .addType(RecordType(name: "Note", fields: ["room": room, "title": FieldDefinition(type: .string)]))
        ])
        let reference = FieldValue.reference(Reference(recordName: "hall", action: .deleteSelf))
        let child = RecordOperation(
            .create, recordName: "child", recordType: "Note", fields: ["room": FieldInput(reference)],
            parent: .record("hall"))
        let operations = [RecordOperation(.create, recordName: "hall", recordType: "Note"), child]
        for result in try await database().modify(ModifyRequest(operations)) { _ = try result.get() }
        func run(_ row: String) async throws -> ImportReport {
            try await self.run(
                "recordName,room,title,parent,recordChangeTag\n\(row)\n",
                options: ImportOptions(recordType: "Note", keepsFields: true))
        }
        #expect(try await run("child,hall,,hall,1").unchanged == 1)
        let report = try await run("child,hall,Child,hall,1")
        #expect(report.saved == 1)
        #expect(report.notes.contains { $0.hasPrefix("references in 'room' keep their action") })
        #expect(try await fields(of: "child") == ["room": reference, "title": .string("Child")])
        func parent() async throws -> Name? {
            try await database().fetch([RecordID(recordName: "child")], desiredKeys: nil).first?.get().parent
        }
        #expect(try await parent() == "hall")
        #expect(try await run("child,,Child,,1").saved == 1)
        #expect(try await fields(of: "child") == ["title": .string("Child")])
        #expect(try await parent() == nil)
        let moved = try await run("child,,Child,hall,1")
        #expect(moved.saved == 1 && moved.unchanged == 0)
        #expect(try await parent() == "hall")
    }

    @Test func withoutANameFieldEveryRowIsANewRecord() async throws {
        _ = try await run("a\n1\n1\n")
        _ = try await run("a\n1\n")
        #expect(try await database().query(QueryRequest(Query(recordType: "Place"))).records.count == 3)
    }

    @Test func jsonKeepsItsTypes() async throws {
        let text = """
            [{"id": "x", "n": 9007199254740993, "d": 1, "b": true, "l": ["a", "b"], "e": [], "s": "7", "p": {"latitude": 1, "longitude": 2.5}, "t": "2012-01-31T00:00:00Z"},
             {"id": 7, "d": 0.5, "n": null, "e": ["z"], "s": 1.5}]
            """
        _ = try await run(text, "a.json", options: ImportOptions(recordType: "Place", nameField: "id"))
        #expect(
            try await fields(of: "x") == [
                "id": .string("x"), "n": .int64(9_007_199_254_740_993), "d": .double(1), "b": .int64(1),
                "l": .list([.string("a"), .string("b")], of: .string),
                "e": .list([], of: .string), "s": .string("7"), "p": .location(Location(latitude: 1, longitude: 2.5)),
                "t": .timestamp(Timestamp(milliseconds: 1_327_968_000_000)),
            ])
        #expect(
            try await fields(of: "7") == [
                "id": .string("7"), "d": .double(0.5), "e": .list([.string("z")], of: .string), "s": .string("1.5"),
            ])
    }

    @Test func severalFilesMakeOneType() async throws {
        let files = [
            try folder.write("k,v\na,1\n", to: "a.csv"),
            try folder.write("{\"k\":\"b\",\"v\":2.5,\"w\":\"x\"}\n", to: "b.ndjson"),
        ]
        let report = try await Importer(
            files, options: ImportOptions(recordType: "Place", nameField: "k"), into: database()
        ).run()
        #expect(report.saved == 2)
        #expect(try await fields(of: "a") == ["k": .string("a"), "v": .double(1)])
        #expect(try await fields(of: "b") == ["k": .string("b"), "v": .double(2.5), "w": .string("x")])
    }

    @Test func aZoneThatIsMissingIsMade() async throws {
        let zoneID = ZoneID(zoneName: "Imports")
        let options = ImportOptions(recordType: "Place", zoneID: zoneID, nameField: "a")
        #expect(try await run("a,b\nx,1\n", options: options).madeZone)
        #expect(try await run("a,b\nx,2\n", options: options).madeZone == false)
        #expect(try await fields(of: "x", in: zoneID)["b"] == .int64(2))
    }

    @Test(arguments: [3, 450, 1999]) func aRefusalSaysWhatWasSaved(bad: Int) async throws {
        let options = ImportOptions(recordType: "Place", nameField: "k", indexes: ["k": .sortable])
        _ = try await run("k\nr\(bad)\n", options: ImportOptions(recordType: "Other", nameField: "k"))
        let text = "k\n" + (0..<2000).map { "r\($0)\n" }.joined()
        do {
            _ = try await run(text, "many.csv", options: options)
            Issue.record("The import was not refused")
        } catch ImportError.stopped(let saved, let file, let line, let error) {
            #expect(file.hasSuffix("many.csv") && line == bad + 2)
            #expect(error.reason.contains("has type 'Other', which can't be changed to 'Place'"))
            let counts = try await database().require(.countRecords).counts(in: .default)
            #expect(counts.records["Place"] == saved)
            // Requests in flight at the time of the refusal finish, and no others start.
            #expect(saved >= bad / 200 * 200 && saved < 2000)
            #expect(try await schema().types["Place"]?.fields["k"]?.indexes == .sortable)
        }
    }

    @Test func aFileThatChangesOnTheWayIsNotMixedWithItsNewRows() async throws {
        @Sendable func change(_ url: URL) {
            guard let handle = try? FileHandle(forWritingTo: url) else { return }
            _ = try? handle.seekToEnd()
            try? handle.write(contentsOf: Data("more\n".utf8))
        }
        let options = ImportOptions(recordType: "Place", nameField: "k")
        // The first file is changed after its check. Nothing is created.
        let files = [try folder.write("k\na\n", to: "a.csv"), try folder.write("k\nb\n", to: "b.csv")]
        let early = await message {
            _ = try await Importer(files, options: options, into: database()).run {
                if $0.phase == .checking, $0.fraction == 1 { change(files[0]) }
            }
        }
        #expect(early.contains("a.csv: the file was changed while it was being imported"))
        #expect(try await schema().types["Place"] == nil)
        let many = try folder.write("k\n" + (0..<3000).map { "r\($0)\n" }.joined(), to: "many.csv")
        do {
            _ = try await Importer([many], options: options, into: database()).run {
                if $0.phase == .saving, $0.count > 0 { change(many) }
            }
            Issue.record("The import should have broken off")
        } catch ImportError.brokenOff(let saved, let reason) {
            #expect(reason.contains("many.csv: the file was changed"))
            #expect(saved > 0 && saved < 3000)
            let counts = try await database().require(.countRecords).counts(in: .default)
            #expect(counts.records["Place"] == saved)
        }
    }

    @Test func moreThanOneBatch() async throws {
        let text = "k,v\n" + (0..<450).map { "r\($0),\($0)\n" }.joined()
        let phases = Mutex<[ImportProgress]>([])
        let importer = try Importer(
            [folder.write(text, to: "a.csv")],
            options: ImportOptions(recordType: "Place", nameField: "k", indexes: ["v": .queryable]),
            into: await database())
        let report = try await importer.run { progress in phases.withLock { $0.append(progress) } }
        #expect(report.saved == 450)
        let seen = phases.withLock { $0 }
        #expect(seen.last { $0.phase == .saving } == ImportProgress(phase: .saving, fraction: 1, count: 450))
        // Indexes of new fields come after the records.
        let order = seen.map(\.phase).reduce(into: [ImportProgress.Phase]()) { order, phase in
            if order.last != phase { order.append(phase) }
        }
        #expect(order == ImportProgress.Phase.allCases)
        #expect(try await fields(of: "r449")["v"] == .int64(449))
    }

    // MARK: Refusals

    static let badRows = "k,v\na,1\nb\nc,2,3\n,4\na,5\n\"d\"x,6\ne,7\n"

    @Test func badRowsAreNamedByLineAndNothingIsImported() async throws {
        do {
            _ = try await run(Self.badRows, options: ImportOptions(recordType: "Place", nameField: "k"))
            Issue.record("The import should have failed")
        } catch ImportError.badRows(let problems, let total, let others) {
            #expect(total == 5 && others == 2)
            #expect(problems.map(\.line) == [3, 4, 5, 6, 7])
            #expect(problems[0].reason.contains("too short: it has 1 cells and the header names 2"))
            #expect(problems[1].reason.contains("too long"))
            #expect(problems[2].reason.contains("no 'k' for the record name"))
            #expect(problems[3].reason.contains("'a' is already used in line 2"))
            #expect(problems[4].reason.contains("closing quote"))
            #expect(problems[0].file.hasSuffix("a.csv"))
        }
        #expect(try await schema().types["Place"] == nil)
    }

    @Test func badRowsCanBeLeftOut() async throws {
        let report = try await run(
            Self.badRows, options: ImportOptions(recordType: "Place", nameField: "k", skipsBadRows: true))
        #expect(report.saved == 2)
        #expect(report.skippedCount == 5)
        #expect(report.skipped.map(\.line) == [3, 4, 5, 6, 7])
        // The bad row with 5 did not replace the first 'a'.
        #expect(try await fields(of: "a")["v"] == .int64(1))
    }

    /// Where no row is good, the rows are what is wrong, not the options or the columns.
    @Test(arguments: [
        ("id,v\n1\n2,3,4\n", "a.csv", [2, 3]), ("id,v\n\"a\"b,1\n", "a.csv", [2]), ("id;v\n1\n", "a.csv", [2]),
        ("{\"id\":\n{\"id\" 1}\n[1]\n", "a.ndjson", [1, 2, 3]), ("[1, \"x\"]", "a.json", [1, 1]),
        ("id,v\n,1\n,2\n", "a.csv", [2, 3]),
    ])
    func whereEachRowIsBadTheRowsAreNamed(text: String, name: String, lines: [Int]) async throws {
        for skips in [false, true] {
            let options = ImportOptions(recordType: "Place", nameField: "id", skipsBadRows: skips)
            let error = await #expect(throws: ImportError.self) { _ = try await run(text, name, options: options) }
            guard case .badRows(let problems, let total, let others)? = error else {
                Issue.record("\(error.map { "\($0)" } ?? "")")
                return
            }
            #expect(problems.map(\.line) == lines && total == lines.count && others == 0)
            #expect(error?.description.contains("--skip-bad-rows") == false)
        }
        #expect(try await schema().types["Place"] == nil)
    }

    @Test(arguments: [
        ("id,v\n", "a.csv", "There is no row to import in"), ("id,v\n", "a.csv", "a.csv', only a header"),
        ("", "a.ndjson", "a.ndjson'"),
        ("[]", "a.json", "There is no row to import in"), ("", "a.csv", "a.csv:1: the file is empty"),
        ("", "a.json", "a.json:1: the file is empty"),
    ])
    func filesWithoutRows(text: String, name: String, expected: String) async throws {
        let message = await message {
            _ = try await run(text, name, options: ImportOptions(recordType: "Place", nameField: "id"))
        }
        #expect(message.contains(expected), "\(message)")
    }

    @Test func aColumnGetsTheChosenType() async throws {
        let types: [Name: FieldType] = ["sku": .string, "tags": .list(.string), "lat": .double, "none": .int64]
        let text = "id,sku,tags,lat,lon,none\na,17,\"[\"\"x\"\"]\",1,2.5,\n"
        let report = try await run(text, options: ImportOptions(recordType: "Place", nameField: "id", types: types))
        #expect(
            report.fields == [
                "id": .string, "sku": .string, "tags": .list(.string), "lat": .double, "lon": .double, "none": .int64,
            ])
        #expect(
            try await fields(of: "a") == [
                "id": .string("a"), "sku": .string("17"), "tags": .list([.string("x")], of: .string), "lat": .double(1),
                "lon": .double(2.5),
            ])
        let bad = await message {
            _ = try await run("id,n\na,x\n", options: ImportOptions(recordType: "Other", types: ["n": .int64]))
        }
        #expect(bad.contains(":2: 'n' is 'x', but the field 'n' has type INT64"), "\(bad)")
        let unknown = await message {
            _ = try await run("id,n\na,x\n", options: ImportOptions(recordType: "Other", types: ["m": .int64]))
        }
        #expect(unknown.contains("There is no column 'm' for the type; choose one of id, n"), "\(unknown)")
        let there = await message {
            _ = try await run("sku\n1\n", options: ImportOptions(recordType: "Place", types: ["sku": .int64]))
        }
        #expect(there.contains("The field 'sku' has the type STRING already"), "\(there)")
    }

    @Test func whatWasGuessedIsSaid() async throws {
        let report = try await run("id;v\na;1\n", options: ImportOptions(recordType: "Place", nameField: "id"))
        #expect(report.fields == ["id": .string, "v": .int64])
        #expect(report.notes.count == 1 && report.notes[0].hasSuffix("a.csv' is read with ';' between the cells"))
    }

    /// In an export, quotes tell the empty text from no value. Other programs quote each cell.
    @Test func emptyTextsOfAnExportSurvive() async throws {
        let options = ImportOptions(recordType: "Place")
        _ = try await run("recordName,t,u,recordChangeTag\na,\"\",x,k1\nb,,\"\",k2\n", options: options)
        #expect(try await fields(of: "a") == ["t": .string(""), "u": .string("x")])
        #expect(try await fields(of: "b") == ["u": .string("")])
        _ = try await run("recordName,t,u\n\"c\",\"\",\"x\"\n", options: options)
        #expect(try await fields(of: "c") == ["u": .string("x")])
    }

    @Test func badRowsHaveNoSayInTheTypes() async throws {
        let report = try await run(
            "k,v\na,1\nb,x,y\n", options: ImportOptions(recordType: "Place", nameField: "k", skipsBadRows: true))
        #expect(report.fields["v"] == .int64)
    }

    @Test func aRecordThatIsTooLargeIsABadRow() async throws {
        let text = "k,v\na,\(String(repeating: "x", count: 1 << 20))\n"
        let message = await message {
            _ = try await run(text, options: ImportOptions(recordType: "Place", nameField: "k"))
        }
        #expect(message.contains(":2: the record is too large"))
    }

    @Test func aRecordNameMustBeOne() async throws {
        let text = "k,v\n\(String(repeating: "x", count: 256)),1\n\"a\tb\",2\n"
        let message = await message {
            _ = try await run(text, options: ImportOptions(recordType: "Place", nameField: "k"))
        }
        #expect(message.contains(":2: Invalid recordName: it is longer than 255 bytes"))
        #expect(message.contains(":3: Invalid recordName"))
    }

    @Test func aTypeThatExistsDecides() async throws {
        let editor = try await database()
        _ = try await editor.require(.editSchema).edit([
            .addType(
                RecordType(
                    name: "Place",
                    fields: ["code": FieldDefinition(type: .string), "when": FieldDefinition(type: .timestamp)]))
        ])
        let options = ImportOptions(recordType: "Place", nameField: "code")
        _ = try await run("code,when\n17,2012-01-31\n", options: options)
        #expect(try await fields(of: "17")["code"] == .string("17"))
        let message = await message { _ = try await run("code,when\n18,soon\n", options: options) }
        #expect(message.contains(":2: 'when' is 'soon', but the field 'when' has type TIMESTAMP"))
    }

    @Test func namesWithDotsAreTakenWhereTheyAreThere() async throws {
        let options = ImportOptions(recordType: "my.Type", nameField: "id")
        let refused = await message { _ = try await run("id,a.b\nx,1", options: options) }
        #expect(
            refused.contains(
                "Invalid recordType 'my.Type': it must start with a letter and contain only letters, digits and _"))
        let file = try Schema(text: #"DEFINE SCHEMA RECORD TYPE "my.Type" ("a.b" INT64);"#)
        let editing = try await database()
        _ = try await editing.require(.editSchema).edit(
            SchemaImportPlan(
                importing: file, into: await editing.require(.showSchema).schema(), merging: true, production: nil
            ).edits)
        let report = try await run("id,a.b,c.d\nx,1,2", options: options)
        #expect(report.notes == ["column 'c.d' became field 'c_d'"])
        #expect(try await fields(of: "x") == ["id": .string("x"), "a.b": .int64(1), "c_d": .int64(2)])
    }

    @Test func halfAPlaceIsABadRow() async throws {
        let message = await message { _ = try await run("a,lat,lon\nx,1,2\ny,1,\n") }
        #expect(message.contains(":3: the row has a 'lat', but no 'lon'"))
    }

    @Test(arguments: [
        ("a,lat,lng\nx,1,2\n", ["a", "location"], true), ("a,Latitude,LONGITUDE\nx,1,2\n", ["a", "location"], true),
        ("a,lat,lon\nx,91,2\n", ["a", "lat", "lon"], true), ("a,lat,lon\nx,far,2\n", ["a", "lat", "lon"], false),
        ("a,lat\nx,1\n", ["a", "lat"], false), ("location,lat,lon\nx,1,2\n", ["lat", "location", "lon"], true),
    ])
    func coordinates(text: String, expected: [String], isNoted: Bool) async throws {
        let report = try await run(text)
        #expect(report.fields.keys.sorted().map(\.string) == expected)
        #expect(report.notes.isEmpty != isNoted)
    }

    @Test func columnsAreRenamedAloud() async throws {
        let report = try await run("temp (max),empty\n1,\n")
        #expect(report.fields == ["temp_max": .int64])
        #expect(
            report.notes == [
                "column 'temp (max)' became field 'temp_max'", "column 'empty' has no values and creates no field",
            ])
    }

    @Test(
        arguments: [
            ("a b,a_b\n1,2\n", [:], nil, "Two columns would become the field 'a_b'"),
            ("parent,b\nx,1\n", [:], nil, "rename the column, because the server sets this field"),
            ("a\n1\n", ["b": Indexes.queryable], nil, "There is no field 'b' for the index; choose one of a"),
            (
                "a\n1\n", ["a": Indexes.searchable], nil,
                "Field 'a' is INT64 and can't be SEARCHABLE: such a field can be QUERYABLE, SORTABLE"
            ),
            (
                "lat,lon\n1,2\n", ["location": Indexes.sortable], nil,
                "Field 'location' is LOCATION and can't be SORTABLE"
            ),
            ("a\n1\n", [:], "b", "There is no column 'b' for the record names; choose one of a"),
            ("a\n", [:], nil, "There is no row to import"),
        ] as [(String, [Name: Indexes], Name?, String)])
    func requestsThatCannotWork(text: String, indexes: [Name: Indexes], nameField: Name?, expected: String) async throws
    {
        let message = await message {
            _ = try await run(text, options: ImportOptions(recordType: "Place", nameField: nameField, indexes: indexes))
        }
        #expect(message.contains(expected), "\(message)")
        #expect(try await schema().types["Place"] == nil)
    }

    @Test(arguments: ["recordName", nil] as [Name?])
    func recordNameColumnNamesRecords(nameField: Name?) async throws {
        let report = try await run(
            "recordName,b\nx,1\n", options: ImportOptions(recordType: "Place", nameField: nameField))
        #expect(report.fields == ["b": .int64] && report.notes.isEmpty)
        #expect(try await fields(of: "x") == ["b": .int64(1)])
        let named = try await run(
            "recordName,b\nx,1\n", options: ImportOptions(recordType: "Place", givesNewNames: true))
        #expect(
            named.fields == ["b": .int64]
                && named.notes == ["left out: recordName, because the records get other names"])
        #expect(try await database().query(QueryRequest(Query(recordType: "Place"))).records.count == 2)
    }

    @Test func anExportOfTheConsoleIsImportedWithParents() async throws {
        let text = """
            recordName,recordType,zoneName,spot,parent,recordChangeTag,createdTimestamp,createdUserRecordName,serverErrorCode
            child,Place,Notes,"1.5, -2.25",top,k1,2026-11-20T18:05:07.250Z,_ada,
            top,Place,Notes,"3.0, 4.0",,k2,2026-11-20T18:05:07.250Z,_ada,
            """
        let zoneID = ZoneID(zoneName: "Copy")
        let options = ImportOptions(recordType: "Place", zoneID: zoneID)
        let report = try await run(text, options: options)
        #expect(report.saved == 2 && report.fields == ["spot": .location])
        #expect(
            report.notes == [
                "left out: recordChangeTag, createdTimestamp, createdUserRecordName: the server sets them",
                "left out: recordType, zoneName: all records get the chosen type and zone",
            ])
        let records = try await database().fetch(
            ["child", "top"].map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: nil)
        #expect(try records.map { try $0.get().parent } == ["top", nil])
        #expect(
            try await fields(of: "child", in: zoneID) == ["spot": .location(Location(latitude: 1.5, longitude: -2.25))])
        let missing = await message { _ = try await run(text + "\ngone,,,,,,,,NOT_FOUND\n", options: options) }
        #expect(missing.contains("the row has no record, but the error 'NOT_FOUND'"), "\(missing)")
    }

    @Test func systemTypesAndBadTypeNamesAreRefused() async throws {
        for name in ["Users", "1x", "a b", ""] as [Name] {
            #expect(
                await message { _ = try await run("a\n1\n", options: ImportOptions(recordType: name)) } != "no error")
        }
    }

    @Test func productionSchemaIsNotMadeByAnImport() async throws {
        let production = try await database(.private, .production)
        let message = await message { _ = try await run("a\n1\n", into: production) }
        #expect(message.contains("ACCESS_DENIED"), "\(message)")
    }

    @Test func filesThatAreNotThere() async throws {
        let database = try await database()
        let missing = await message {
            _ = try Importer(
                [folder.url.appending(path: "no.csv")], options: ImportOptions(recordType: "Place"), into: database)
        }
        #expect(missing.contains("there is no such file"))
        let directory = await message {
            _ = try Importer([folder.url], options: ImportOptions(recordType: "Place"), into: database)
        }
        #expect(directory.contains("not a regular file"))
        let unknown = try folder.write("a\n", to: "a.xls")
        #expect(
            await message { _ = try Importer([unknown], options: ImportOptions(recordType: "Place"), into: database) }
                .contains("is unknown: name it .csv"))
    }
}
