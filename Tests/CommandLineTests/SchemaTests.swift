import Foundation
import Records
import TestSupport
import Testing

@Suite(.serialized) struct SchemaTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ text: String, _ name: String = "schema.ckdb") throws -> String {
        try write(text, to: name)
    }

    private static let container = ["--container", "iCloud.com.example.X"]

    private func schema(_ arguments: String..., environment: [String: String] = [:]) async throws -> Command.Result {
        let needsNone = arguments.first == "validate" || arguments.count { $0 == "--file" } == 2
        return try await Command.run(
            ["schema"] + arguments + (needsNone ? [] : Self.container) + ["--data", path("data")],
            environment: environment)
    }

    private static let library = """
        DEFINE SCHEMA
            CREATE ROLE librarian;
            RECORD TYPE Book (
                title STRING QUERYABLE SEARCHABLE SORTABLE, -- what it is called
                pages NUMBER PREFERRED AS INT64,
                "grant" ENCRYPTED STRING,
                GRANT READ TO "_world", GRANT WRITE, CREATE TO librarian
            );
            RECORD TYPE Shelf (room STRING, books LIST<REFERENCE> QUERYABLE);
        """

    private static let exported = """
        DEFINE SCHEMA

            CREATE ROLE librarian;

            RECORD TYPE Book (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                "grant"         ENCRYPTED STRING,
                pages           NUMBER PREFERRED AS INT64,
                title           STRING QUERYABLE SEARCHABLE SORTABLE,
                GRANT READ TO "_world",
                GRANT CREATE, WRITE TO librarian
            );

            RECORD TYPE Shelf (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                books           LIST<REFERENCE> QUERYABLE,
                room            STRING,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

            RECORD TYPE Users (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                roles           LIST<INT64>,
                GRANT WRITE TO "_creator",
                GRANT READ TO "_world"
            );

        """

    @Test func whatIsImportedIsExported() async throws {
        let imported = try await schema("import", "--file", try file(Self.library))
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.output.contains("+ role librarian\n+ type Book\n    + \"grant\" ENCRYPTED STRING\n"))
        #expect(imported.output.hasSuffix("into iCloud.com.example.X (development): 3 changes.\n"))
        for name in ["export", "show"] {
            let result = try await schema(name)
            #expect(result.output == Self.exported, "\(result.errors)")
        }
        #expect(try await schema("export", "--json").outputJSON["schema"] == .string(Self.exported))
        let written = try await schema("export", "--output", path("out.ckdb"))
        #expect(
            written.output.isEmpty
                && written.errors.contains("Exported 3 record types of iCloud.com.example.X (development) into "))
        #expect(try String(contentsOf: folder.url.appending(path: "out.ckdb"), encoding: .utf8) == Self.exported)
        let again = try await schema("import", "--file", path("out.ckdb"))
        #expect(again.output.contains("has the schema of") && again.status == 0)
        #expect(try await schema("diff", "--file", path("out.ckdb")).status == 0)
        #expect(try await schema("export").output == Self.exported)
    }

    @Test func theFileOfStandardInputIsAFile() async throws {
        let process = Command.process(["schema", "validate", "--file", "-", "--json"], [:])
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(Self.library.utf8))
        try input.fileHandleForWriting.close()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        #expect(await process.end() == 0)
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"valid":true,"recordTypes":2,"fields":5,"indexes":4,"roles":1,"notes":[]}"# + "\n")
    }

    @Test func errorsShowTheLine() async throws {
        let name = try file(
            "DEFINE SCHEMA\n    RECORD TYPE T (\n        a STRNG,\n        b INT64 SEARCHABLE\n    );\n", "bad.ckdb")
        for command in [["validate"], ["import"], ["diff"]] {
            let result = try await Command.run(
                ["schema"] + command + ["--file", name] + (command == ["validate"] ? [] : Self.container) + [
                    "--data", path("data"),
                ])
            #expect(result.status == 65)
            #expect(result.output.isEmpty)
            #expect(
                result.errors == """
                    skylight: \(name) is not a valid schema: 2 errors
                      \(name):3:11: expected a field type such as STRING, INT64 or LIST<STRING>, found 'STRNG'; did you mean STRING?
                              a STRNG,
                                ^
                      \(name):4:17: the field 'b' of type INT64 can't be SEARCHABLE: it can be QUERYABLE, SORTABLE
                              b INT64 SEARCHABLE
                                      ^

                    """)
        }
        let json = try await schema("validate", "--file", name, "--json").errorJSON
        #expect(json["code"] == "BAD_DATA" && json["exitCode"] == 65)
        guard case .array(let errors)? = json["errors"], case .object(let first)? = errors.first else {
            Issue.record("no errors")
            return
        }
        #expect(
            errors.count == 2 && first["line"] == 3 && first["column"] == 11 && first["found"] == "'STRNG'"
                && first["hint"] == "did you mean STRING?")
        #expect(!FileManager.default.fileExists(atPath: path("data")))
    }

    @Test(arguments: [
        ("none.ckdb", "No such file or directory"), (".", "Is a directory"),
    ])
    func filesThatCannotBeRead(name: String, reason: String) async throws {
        let result = try await schema("validate", "--file", path(name))
        #expect(result.status == 66)
        #expect(result.errors.contains("can't be read: \(reason)"), "\(result.errors)")
    }

    @Test func whatWouldBeLostNeedsYes() async throws {
        _ = try await schema(
            "import", "--file", try file("DEFINE SCHEMA RECORD TYPE T (a STRING, b INT64); RECORD TYPE U (x STRING);"))
        let rows = try write(
            #"{"recordName":"1","a":"x","b":1}"# + "\n" + #"{"recordName":"2","a":"y"}"# + "\n", to: "rows.ndjson"
        )
        let data = try await Command.run(
            ["import", rows, "--type", "T", "--name-field", "recordName"] + Self.container + ["--data", path("data")])
        #expect(data.status == 0, "\(data.errors)")
        let smaller = try file("DEFINE SCHEMA RECORD TYPE T (a INT64, c STRING);", "smaller.ckdb")
        let before = try await schema("export").output
        let dry = try await schema("import", "--file", smaller, "--dry-run")
        #expect(dry.status == 0)
        #expect(dry.output.contains("    - a STRING\n    + a INT64\n"), "\(dry.output)")
        #expect(dry.output.contains("Would be deleted, only with --yes:\n"))
        #expect(dry.output.contains("  T: field 'a' becomes INT64, was STRING; its values in 2 records are deleted\n"))
        #expect(dry.output.contains("  T: field 'b' INT64 deleted; its values in 1 record are deleted\n"))
        #expect(dry.output.contains("  U: type deleted with 1 field: 'x' STRING; it has no records\n"))
        #expect(dry.output.hasSuffix("Nothing was changed.\n"))
        let refused = try await schema("import", "--file", smaller, "--json")
        #expect(refused.status == 64)
        let error = try refused.errorJSON
        #expect(error["code"] == "CONFIRMATION_NEEDED")
        guard case .array(let losses)? = error["losses"], case .object(let loss)? = losses.first else {
            Issue.record("no losses")
            return
        }
        #expect(losses.count == 3 && loss["records"] == 2)
        #expect(try await schema("export").output == before)
        let merged = try await schema("import", "--file", smaller, "--merge")
        #expect(merged.status == 1)
        #expect(merged.errors.contains("field 'a' of type 'T' is STRING, and INT64 in the file"))
        let done = try await schema("import", "--file", smaller, "--yes")
        #expect(done.status == 0, "\(done.errors)")
        #expect(try await schema("diff", "--file", smaller).status == 0)
        let export = try await Command.run(["export"] + Self.container + ["--data", path("data")])
        #expect(
            export.output.contains(#""recordName":"1""#) && !export.output.contains(#""value":"x""#), "\(export.output)"
        )
    }

    @Test func mergingOnlyAdds() async throws {
        _ = try await schema("import", "--file", try file(Self.library))
        let more = try file(
            "DEFINE SCHEMA RECORD TYPE Shelf (wood STRING SORTABLE); RECORD TYPE Lamp (watts INT64);", "more.ckdb")
        let result = try await schema("import", "--file", more, "--merge")
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.output.contains("+ type Lamp\n")
                && result.output.contains("~ type Shelf\n    + wood STRING SORTABLE\n"), "\(result.output)")
        #expect(result.output.hasSuffix("2 changes.\n"))
        #expect(try await schema("export").output.contains("books           LIST<REFERENCE> QUERYABLE"))
    }

    @Test func nothingIsMadeByLooking() async throws {
        let name = try file(Self.library)
        let missing = try await schema("import", "--file", name, "--dry-run")
        #expect(missing.status == 1 && !FileManager.default.fileExists(atPath: path("data")))
        _ = try await Command.run([
            "schema", "import", "--file", name, "--container", "iCloud.com.example.Y", "--data", path("data"),
        ])
        let dry = try await schema("import", "--file", name, "--dry-run", "--json")
        #expect(try dry.outputJSON["dryRun"] == true)
        #expect(try await schema("diff", "--file", name).status == 66)
        #expect(try await schema("export").status == 1)
        let production = try await Command.run([
            "schema", "export", "--environment", "production", "--container", "iCloud.com.example.Y", "--data",
            path("data"),
        ])
        #expect(production.output.contains("RECORD TYPE Users (") && !production.output.contains("Book"))
        let containers = try FileManager.default.contentsOfDirectory(atPath: path("data/iCloud.com.example.Y"))
        #expect(!containers.contains { $0.hasPrefix("production") }, "\(containers)")
        #expect(!FileManager.default.fileExists(atPath: path("data/iCloud.com.example.X")))
    }

    @Test func deployingEndsTheDifference() async throws {
        _ = try await schema("import", "--file", try file(Self.library))
        let different = try await schema("diff")
        #expect(different.status == 1 && different.errors.isEmpty)
        #expect(
            different.output.hasPrefix(
                "--- iCloud.com.example.X (production)\n+++ iCloud.com.example.X (development)\n+ role librarian\n+ type Book\n"
            ))
        let json = try await schema("diff", "--json")
        #expect(json.status == 1)
        #expect(try json.outputJSON["different"] == true)
        let dry = try await schema("deploy", "--dry-run")
        #expect(dry.status == 0 && dry.output.hasSuffix("Would deploy 3 changes. Nothing was changed.\n"))
        #expect(try await schema("diff").status == 1)
        let deployed = try await schema("deploy")
        #expect(deployed.status == 0, "\(deployed.errors)")
        #expect(deployed.output.hasSuffix("Deployed 3 changes to production of iCloud.com.example.X.\n"))
        let same = try await schema("diff")
        #expect(same.status == 0)
        #expect(
            same.output
                == "No difference between iCloud.com.example.X (production) and iCloud.com.example.X (development).\n")
        #expect(try await schema("diff", "--environment", "production", "--json").outputJSON["different"] == false)
        #expect(try await schema("export", "--environment", "production").output == Self.exported)
        #expect(
            try await schema("deploy").output
                == "Production of iCloud.com.example.X already has the development schema.\n")
        // Deployed fields cannot be removed.
        let fewer = try file(Self.library.replacing("pages NUMBER PREFERRED AS INT64,", with: ""), "fewer.ckdb")
        let refused = try await schema("import", "--file", fewer, "--yes")
        #expect(refused.status == 1)
        #expect(refused.errors.contains("field 'pages' of type 'Book' would be deleted"), "\(refused.errors)")
        #expect(try await schema("validate", "--file", fewer).status == 0)
        let tried = try await Command.run(
            ["schema", "validate", "--file", fewer, "--data", path("data")] + Self.container)
        #expect(tried.status == 1 && tried.errors.contains("field 'pages' of type 'Book' would be deleted"))
    }

    @Test func droppedIndexesAreDeployedWithYes() async throws {
        _ = try await schema("import", "--file", try file(Self.library))
        _ = try await schema("deploy")
        let unsorted = Self.library.replacing(
            "title STRING QUERYABLE SEARCHABLE SORTABLE", with: "title STRING QUERYABLE")
        #expect(try await schema("import", "--file", try file(unsorted)).status == 0)
        let warned = try await schema("deploy", "--dry-run")
        #expect(
            warned.output.contains(
                "Warning: Book: field 'title': SEARCHABLE SORTABLE deleted; queries of existing clients may need it.\n")
        )
        let refused = try await schema("deploy")
        #expect(refused.status == 64 && refused.errors.contains("Book: field 'title': SEARCHABLE SORTABLE deleted"))
        #expect(try await schema("diff").status == 1)
        #expect(try await schema("deploy", "--yes").status == 0)
        #expect(try await schema("diff").status == 0)
    }

    @Test func aResetTakesEverythingBack() async throws {
        _ = try await schema(
            "import", "--file", try file(#"DEFINE SCHEMA RECORD TYPE T ("___recordID" REFERENCE QUERYABLE, a STRING);"#)
        )
        _ = try await schema("deploy")
        let more =
            #"DEFINE SCHEMA RECORD TYPE T ("___recordID" REFERENCE QUERYABLE, a STRING, b STRING); RECORD TYPE U (x STRING);"#
        _ = try await schema("import", "--file", try file(more))
        let rows = try write(#"{"recordName":"1","a":"x"}"# + "\n", to: "rows.ndjson")
        for place in [["--zone", "Z"], ["--user", "grace"]] {
            let data = try await Command.run(
                ["import", rows, "--type", "T", "--name-field", "recordName"] + place + Self.container + [
                    "--data", path("data"),
                ])
            #expect(data.status == 0, "\(data.errors)")
        }
        let asked = try await schema("reset")
        #expect(asked.status == 64)
        #expect(
            asked.errors.contains(
                "permanently deletes all zones, shares and records of all users, 2 records\n  T: 2 records\n  T: field 'b' STRING deleted\n"
            ), "\(asked.errors)")
        let dry = try await schema("reset", "--dry-run", "--json")
        #expect(dry.status == 0)
        #expect(try dry.outputJSON["records"] == ["T": 2, "U": 0, "Users": 0])
        let done = try await schema("reset", "--yes")
        #expect(done.status == 0, "\(done.errors)")
        #expect(done.output.hasSuffix("was reset: 2 records of all users deleted.\n"))
        #expect(try await schema("diff").status == 0)
        let zones = try await Command.run(["zone", "list"] + Self.container + ["--data", path("data")])
        #expect(!zones.output.contains("Z "), "\(zones.output)")
    }

    @Test(arguments: [
        (["import", "--file", "F", "--environment", "production"], Int32(77), "Import it into development"),
        (["reset", "--environment", "production", "--yes"], 77, "Production can't be reset"),
        (["deploy", "--environment", "production"], 64, "only development can be deployed"),
        (["diff", "--file", "F", "--file", "F", "--file", "F"], 64, "at most twice"),
    ])
    func whatIsNotForThatEnvironment(arguments: [String], status: Int32, message: String) async throws {
        let name = try file(Self.library)
        let result = try await Command.run(
            ["schema"] + arguments.map { $0 == "F" ? name : $0 } + Self.container + ["--data", path("data")])
        #expect(result.status == status)
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    /// Exit status 1 means a difference, and only that.
    @Test func whatCannotBeComparedIsNoDifference() async throws {
        let name = try file(Self.library)
        #expect(try await schema("diff").status == 66)
        #expect(try await schema("import", "--file", name).status == 0)
        let store = folder.url.appending(path: "data/iCloud.com.example.X/development.sqlite")
        for file in ["development.sqlite-wal", "development.sqlite-shm"] {
            try? FileManager.default.removeItem(at: store.deletingLastPathComponent().appending(path: file))
        }
        try Data(repeating: 0x5A, count: 20_000).write(to: store)
        for arguments in [["diff"], ["diff", "--file", name], ["diff", "--json"]] {
            let result = try await Command.run(["schema"] + arguments + Self.container + ["--data", path("data")])
            #expect(result.status == 65 && result.output.isEmpty, "\(result.status): \(result.errors)")
        }
        let unavailable = try await Command.run(["schema", "diff"] + Self.container + ["--url", "http://127.0.0.1:9"])
        #expect(unavailable.status == 69, "\(unavailable.errors)")
    }

    /// Without a server, nothing continues an index build that the command did not wait for. The command says so.
    @Test func withoutWaitingTheRestIsReported() async throws {
        let rows = (0..<8000).map { #"{"recordName":"r\#($0)","a":"x\#($0)"}"# }.joined(separator: "\n") + "\n"
        let file = try write(rows, to: "rows.ndjson")
        #expect(
            try await schema("import", "--file", try self.file("DEFINE SCHEMA RECORD TYPE T (a STRING);")).status == 0)
        let data = try await Command.run(
            ["import", file, "--type", "T", "--name-field", "recordName"] + Self.container + ["--data", path("data")])
        #expect(data.status == 0, "\(data.errors)")
        let indexed = try self.file("DEFINE SCHEMA RECORD TYPE T (a STRING QUERYABLE SORTABLE);")
        let left = try await schema("import", "--file", indexed, "--no-wait")
        #expect(left.status == 0)
        #expect(
            left.errors.contains("2 indexes are not complete yet")
                && left.errors.contains("when the data folder is opened again"), "\(left.errors)")
        // A command that waits has no unfinished work to report.
        let more = try self.file("DEFINE SCHEMA RECORD TYPE T (a STRING QUERYABLE SEARCHABLE SORTABLE);")
        let waited = try await schema("import", "--file", more, "--json")
        #expect(waited.status == 0 && waited.errors.isEmpty, "\(waited.errors)")
        #expect(try waited.outputJSON["indexesBeingBuilt"] == 0)
    }

    @Test func notesBeyondTheLimitAreCounted() async throws {
        let fields = (0..<30).map { "r\($0) REFERENCE SORTABLE" }.joined(separator: ", ")
        let name = try file("DEFINE SCHEMA RECORD TYPE T (\(fields));")
        let result = try await schema("validate", "--file", name)
        #expect(result.status == 0 && result.errors.hasSuffix("\n… and 10 more notes\n"), "\(result.errors)")
        #expect(try await schema("validate", "--file", name, "--json").outputJSON["moreNotes"] == 10)
    }

    @Test func twoFilesNeedNoContainer() async throws {
        let (old, new) = (
            try file(Self.library, "old.ckdb"),
            try file(Self.library.replacing("room STRING", with: "room STRING QUERYABLE"), "new.ckdb")
        )
        let result = try await schema("diff", "--file", old, "--file", new)
        #expect(result.status == 1)
        #expect(result.output == "--- \(old)\n+++ \(new)\n~ type Shelf\n    ~ room +QUERYABLE\n")
        #expect(try await schema("diff", "--file", old, "--file", old).status == 0)
        let respelt = try file(Self.library.replacing("NUMBER PREFERRED AS INT64", with: "INT64"), "respelt.ckdb")
        #expect(
            try await schema("diff", "--file", old, "--file", respelt).output.hasSuffix(
                "~ Book: field 'pages' NUMBER PREFERRED AS INT64 is written INT64\n"))
        let alone = try await Command.run(["schema", "diff", "--file", old])
        #expect(alone.status == 64 && alone.errors.contains("there is nothing to compare with: add --container"))
    }

    /// Commands give the same results through a server.
    @Test func aServerIsWorkedThrough() async throws {
        let server = try await Server(["--data", path("data")])
        let name = try file(Self.library)
        let imported = try await schema("import", "--file", name, "--json")
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(try await schema("export", "--json").outputJSON["schema"] == .string(Self.exported))
        #expect(try await schema("diff").status == 1)
        #expect(try await schema("deploy").status == 0)
        #expect(try await schema("diff").status == 0)
        let lossy = try file(Self.library + "\nRECORD TYPE More (a STRING);", "more.ckdb")
        #expect(try await schema("import", "--file", lossy).status == 0)
        let refused = try await schema("import", "--file", name)
        #expect(
            refused.status == 64
                && refused.errors.contains("More: type deleted with 1 field: 'a' STRING; it has no records"),
            "\(refused.errors)")
        #expect(try await schema("import", "--file", name, "--yes", "--no-wait").status == 0)
        #expect(try await schema("diff", "--file", name, environment: ["SKYLIGHT_URL": ""]).status == 0)
        #expect(try await schema("reset", "--yes").status == 0)
        #expect(try await schema("export", "--json").outputJSON["schema"] == .string(Self.exported))
        #expect(await server.end() == 0)
    }

    @Test func whatProductionHasStays() async throws {
        let server = try await Server(["--data", path("data")])
        func edit(_ edit: JSONValue) async throws {
            let answer = try await server.post(
                "/skylight/1/iCloud.com.example.X/development/public/schema/edit", ["edits": [edit], "wait": true])
            #expect(answer.status == 200, "\(answer.answer)")
        }
        _ = try await schema("import", "--file", try file(Self.library))
        #expect(try await schema("deploy").status == 0)
        try await edit(["removeField": "room", "recordType": "Shelf"])
        for arguments in [["deploy"], ["deploy", "--yes"]] {
            let refused = try await Command.run(["schema"] + arguments + Self.container + ["--data", path("data")])
            #expect(
                refused.status == 1
                    && refused.errors.contains("field 'room' STRING of type 'Shelf' is not in development"),
                "\(refused.errors)")
        }
        let dry = try await schema("deploy", "--dry-run")
        #expect(
            dry.status == 1
                && dry.output.contains(
                    "\nThe schema can't be deployed, because production never loses or changes types and fields: "),
            "\(dry.output)")
        #expect(try await schema("deploy", "--dry-run", "--json").outputJSON["canRun"] == false)
        #expect(await server.end() == 0)
    }
}
