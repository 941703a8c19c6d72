import Foundation
import Records
import TestSupport
import Testing

@Suite(.serialized) struct ImportTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let shared = Command.package.deletingLastPathComponent().appending(path: "shared/data")
    private static var hasShared: Bool {
        FileManager.default.fileExists(atPath: shared.appending(path: "airports.csv").path(percentEncoded: false))
    }

    @Test(.enabled(if: hasShared, "The folder shared/data is not beside the checkout"))
    func airports() async throws {
        let file = Self.shared.appending(path: "airports.csv").path(percentEncoded: false)
        let result = try await run([
            "import", file, "--container", "iCloud.com.example.Air", "--type", "Airport", "--name-field", "iata",
            "--index", "name:SORTABLE", "--index",
            "location:QUERYABLE",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("Imported 3,376 records of type Airport"))
        #expect(result.output.contains("Indexes added: recordName QUERYABLE, location QUERYABLE, name SORTABLE"))
        #expect(
            result.output.contains(
                "Fields: city STRING, country STRING, iata STRING, location LOCATION, name STRING, state STRING"))
        let schema = try await run(["schema", "show", "--container", "iCloud.com.example.Air"])
        #expect(schema.output.contains(/\n +name +STRING SORTABLE,/))
        #expect(schema.output.contains(/\n +location +LOCATION QUERYABLE,/))
        #expect(schema.output.contains("\"___recordID\"   REFERENCE QUERYABLE,"))
        #expect(schema.output.contains(/state +STRING,/))
        let zones = try await run(["zone", "list", "--container", "iCloud.com.example.Air"])
        #expect(zones.output.contains("3,376"))
    }

    @Test(.enabled(if: hasShared, "The folder shared/data is not beside the checkout"))
    func weather() async throws {
        let file = Self.shared.appending(path: "seattle-weather.csv").path(percentEncoded: false)
        let result = try await run([
            "import", file, "--container", "iCloud.com.example.Weather", "--type", "Day", "--database", "public",
            "--index", "date:sortable,queryable",
            "--json",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let report = try result.outputJSON
        #expect(report["saved"] == 1461)
        #expect(
            report["fields"] == [
                "date": "TIMESTAMP", "precipitation": "DOUBLE", "temp_max": "DOUBLE", "temp_min": "DOUBLE",
                "weather": "STRING", "wind": "DOUBLE",
            ])
        #expect(report["indexesMade"] == ["recordName": ["QUERYABLE"], "date": ["QUERYABLE", "SORTABLE"]])
    }

    @Test func badRowsAreNamedAndNothingIsImported() async throws {
        let file = try write("k,v\na,1\nb\na,2\n", to: "bad.csv")
        let arguments = ["import", file, "--container", "iCloud.com.example.X", "--type", "T", "--name-field", "k"]
        let plain = try await run(arguments)
        #expect(plain.status == 65)
        #expect(plain.errors.contains("2 bad rows; nothing was imported"))
        #expect(plain.errors.contains("bad.csv:3: the row is too short"))
        #expect(plain.errors.contains("--skip-bad-rows"))
        let error = try await run(arguments + ["--json"]).errorJSON
        #expect(error["code"] == "BAD_DATA")
        #expect(error["rowCount"] == 2)
        guard case .array(let rows)? = error["rows"], case .object(let row)? = rows.first else {
            Issue.record("No rows in \(error)")
            return
        }
        #expect(row["line"] == 3)
        #expect(
            try await !run(["schema", "show", "--container", "iCloud.com.example.X"]).output.contains("RECORD TYPE T "))

        let skipped = try await run(arguments + ["--skip-bad-rows"])
        #expect(skipped.status == 0)
        #expect(skipped.output.contains("Imported 1 records"))
        #expect(skipped.errors.contains("Left out 2 bad rows"))
    }

    /// A dry run says what becomes of the records that are there; what the file lacks is kept if that is asked.
    @Test func existingRecordsKeepTheirFieldsIfAsked() async throws {
        let all = try write("k,v,w\na,1,x\nb,2,y\n", to: "all.csv")
        let some = try write("k,v\na,1\nb,3\nc,4\n", to: "some.csv")
        let place = ["--container", "iCloud.com.example.X", "--type", "T", "--name-field", "k"]
        // Without a data folder, a dry run makes none.
        #expect(try await run(["import", all, "--dry-run"] + place).status != 0)
        #expect(try await run(["import", all] + place).status == 0)
        let replacing = try await run(["import", some, "--dry-run"] + place)
        #expect(replacing.status == 0, "\(replacing.errors)")
        #expect(replacing.output.contains("Would import 3 records of type T into the private database of"))
        #expect(replacing.output.contains("Records: 1 new record, 2 replaced\n2 existing records lose w\n"))
        let keeping = try await run(["import", some, "--dry-run", "--keep-fields", "--json"] + place).outputJSON
        let expected: [Name: JSONValue] = [
            "dryRun": true, "rows": 3, "compared": 3, "new": 1, "existing": 2, "changed": 1, "lost": [],
        ]
        for (name, value) in expected { #expect(keeping[name] == value, "\(name)") }
        let kept = try await run(["import", some, "--keep-fields"] + place)
        #expect(kept.output.contains("Imported 2 records of type T") && kept.output.contains("Unchanged: 1\n"))
        let replaced = try await run(["import", some, "--json"] + place).outputJSON
        #expect(replaced["saved"] == 3 && replaced["unchanged"] == 0)
        let bad = try write("k,v\nc\n", to: "bad.csv")
        #expect(try await run(["import", bad, "--dry-run"] + place).status == 65)
    }

    @Test func theFileIsMissing() async throws {
        let result = try await run([
            "import", "no-such.csv", "--container", "iCloud.com.example.X", "--type", "T", "--json",
        ])
        #expect(result.status == 66)
        #expect(try result.errorJSON["code"] == "NO_INPUT")
    }

    @Test(arguments: [
        ["--container", "com.example.X", "--type", "T"], ["--container", "iCloud.com.example.X"],
        ["--container", "iCloud.com.example.X", "--type", "T", "--index", "a"],
        ["--container", "iCloud.com.example.X", "--type", "T", "--index", "a:FAST"],
        ["--container", "iCloud.com.example.X", "--type", "T", "--database", "public", "--zone", "Z"],
        ["--container", "iCloud.com.example.X", "--type", "T", "--database", "shared"],
        ["--container", "iCloud.com.example.X", "--type", "T", "--environment", "staging"],
    ])
    func wrongUsage(arguments: [String]) async throws {
        let file = try write("a\n1\n", to: "a.csv")
        #expect(try await run(["import", file] + arguments).status == 64)
        let json = try await run(["import", file, "--json"] + arguments)
        #expect(json.status == 64)
        #expect(try json.errorJSON["code"] == "USAGE")
    }

    @Test func anIndexThatTheTypeCannotCarry() async throws {
        let file = try write("a,lat,lon\n1,2,3\n", to: "a.csv")
        let result = try await run([
            "import", file, "--container", "iCloud.com.example.X", "--type", "T", "--index", "location:SORTABLE",
        ])
        #expect(result.status == 65)
        #expect(result.errors.contains("Field 'location' is LOCATION and can't be SORTABLE"))
    }

    @Test func productionIsNotChanged() async throws {
        let file = try write("a\n1\n", to: "a.csv")
        let result = try await run([
            "import", file, "--container", "iCloud.com.example.X", "--type", "T", "--environment", "production",
            "--json",
        ])
        #expect(result.status == 77)
        #expect(try result.errorJSON["code"] == "ACCESS_DENIED")
    }

    @Test func zonesAreListedSharedAndRemoved() async throws {
        let container = ["--container", "iCloud.com.example.X"]
        let file = try write("k\na\nb\n", to: "a.csv")
        let made = try await run(["import", file, "--type", "T", "--zone", "Notes", "--name-field", "k"] + container)
        #expect(made.output.contains("Zone created: Notes"))
        #expect(
            try await run(["zone", "share", "Notes", "--with", "ada", "--permission", "read-only"] + container).status
                == 0)
        #expect(
            try await run(["zone", "list"] + container).output.contains(/Notes +developer +3 +0 +ada \(read-only\)/))
        let shared = try await run(["zone", "list", "--database", "shared", "--user", "ada", "--json"] + container)
        #expect(shared.output.contains("\"zoneName\":\"Notes\"") && shared.output.contains("\"owner\":\"developer\""))
        #expect(try await run(["zone", "share", "Notes", "--with", "developer"] + container).status == 64)

        let refused = try await run(
            [
                "import", file, "--type", "T", "--database", "shared", "--zone", "Notes", "--zone-owner", "developer",
                "--user", "ada",
            ] + container)
        #expect(refused.status != 0)
        #expect(try await run(["zone", "share", "Notes", "--with", "ada"] + container).status == 0)
        let byAda = try write("k\nc\n", to: "b.csv")
        let written = try await run(
            [
                "import", byAda, "--type", "T", "--database", "shared", "--zone", "Notes", "--zone-owner", "developer",
                "--user", "ada", "--name-field", "k",
            ]
                + container)
        #expect(written.status == 0, "\(written.errors)")

        #expect(try await run(["zone", "unshare", "Notes", "--with", "ada"] + container).status == 0)
        #expect(
            try await !run(["zone", "list", "--database", "shared", "--user", "ada"] + container).output.contains(
                "Notes"))
        let unconfirmed = try await run(["zone", "delete", "Notes", "--json"] + container)
        #expect(unconfirmed.status == 64)
        #expect(try unconfirmed.errorJSON["code"] == "CONFIRMATION_NEEDED")
        #expect(unconfirmed.errors.contains("has 3 records"))
        #expect(
            try await run(["zone", "purge", "Notes", "--yes"] + container).output.contains("was purged, with 3 records")
        )
        #expect(try await !run(["zone", "list"] + container).output.contains("Notes"))
        #expect(
            try await run(["zone", "delete", "Notes", "--yes", "--json"] + container).errorJSON["code"]
                == "ZONE_NOT_FOUND")
    }

    @Test func whatIsNotThereIsNotMade() async throws {
        let schema = try await run(["schema", "show", "--container", "iCloud.com.example.Nothing"])
        #expect(schema.status == 1)
        #expect(schema.errors.contains("There is no data folder"))
        #expect(!FileManager.default.fileExists(atPath: folder.url.appending(path: "data").path(percentEncoded: false)))
    }
}
