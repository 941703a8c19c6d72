import Foundation
import Records
import TestSupport
import Testing

@Suite(.serialized) struct ExportTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func bytes(_ name: String) throws -> Data { try Data(contentsOf: folder.url.appending(path: name)) }

    private static let container = ["--container", "iCloud.com.example.X"]

    /// Three records. The middle one has everything that a CSV file cannot represent.
    private func fill() async throws {
        let rows = """
            {"name":"b","text":"caf\u{E9}","big":9223372036854775807,"whole":1.0,"tags":["x",""],"when":"2012-01-31T18:05:00Z"}
            {"name":"a","text":"cafe\u{301}\\u0000 \\"q\\" \u{2028}","big":-9223372036854775808,"whole":0.1,"tags":["y"],"where":{"latitude":1,"longitude":-2}}
            {"name":"日本","text":"","big":0,"whole":2.5e300}
            """
        let file = try write(rows, to: "rows.ndjson")
        let result = try await run(
            ["import", file, "--type", "T", "--zone", "Z", "--name-field", "name", "--index", "text:SEARCHABLE"]
                + Self.container)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test func exportImportExportIsIdentical() async throws {
        try await fill()
        let first = try await run(["export", "--output", path("first.ndjson")] + Self.container)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.isEmpty)
        #expect(
            first.errors.contains(
                "Exported 3 records from 2 zones of the private database of iCloud.com.example.X (development) into "))
        let back = try await run(["import", path("first.ndjson")], data: "other")
        #expect(back.status == 0, "\(back.errors)")
        #expect(
            back.output.contains("Restored 3 records into the private database of iCloud.com.example.X (development)."))
        #expect(back.output.contains("Types: T 3") && back.output.contains("Zones created: Z"))
        let second = try await run(["export"] + Self.container, data: "other")
        #expect(Data(second.output.utf8) == (try bytes("first.ndjson")))
        #expect(second.errors.contains("Exported 3 records"))
        // The export leaves nothing but its file.
        #expect(try FileManager.default.contentsOfDirectory(atPath: path("")).filter { $0.contains(".part") }.isEmpty)
        let schemas = try await (
            run(["schema", "show"] + Self.container), run(["schema", "show"] + Self.container, data: "other")
        )
        #expect(schemas.0.output == schemas.1.output)
    }

    @Test func theDemoGoesFromServerToServer() async throws {
        let source = try await Server(["--ephemeral", "--demo"])
        let target = try await Server(["--data", path("target")])
        for arguments in [["Chat"], ["Journal"], ["Shopping", "--database", "public"], ["Shopping", "--user", "ada"]] {
            let place = ["--container", "iCloud.com.example.\(arguments[0])"] + arguments.dropFirst()
            let first = try await Command.run(["export", "--url", source.address] + place)
            #expect(first.status == 0, "\(first.errors)")
            _ = try folder.write(first.output, to: "demo.ndjson")
            // One command finds the server through its folder, the other gets its address.
            let back = try await run(["import", path("demo.ndjson"), "--json"], data: "target")
            #expect(back.status == 0, "\(place): \(back.errors)")
            #expect(back.errors.isEmpty)
            let second = try await Command.run(["export"] + place, environment: ["SKYLIGHT_URL": target.address])
            #expect(second.output == first.output, "\(place)")
        }
        #expect(await source.end() == 0)
        #expect(await target.end() == 0)
    }

    @Test func anExportGoesElsewhere() async throws {
        try await fill()
        #expect(
            try await run(["export", "-o", path("a.ndjson"), "--zone", "Z", "--type", "T", "--json"] + Self.container)
                .outputJSON["records"] == 3)
        let elsewhere = ["--container", "iCloud.com.example.Y", "--zone", "Other", "--user", "grace"]
        let back = try await run(["import", path("a.ndjson"), "--json"] + elsewhere)
        #expect(back.status == 0, "\(back.errors)")
        #expect(try back.outputJSON["saved"] == 3)
        let zones = try await run(["zone", "list", "--container", "iCloud.com.example.Y", "--user", "grace"])
        #expect(zones.output.contains(/Other +grace +3/))
        let changes = try await run([
            "changes", "--zone", "Other", "--json", "--container", "iCloud.com.example.Y", "--user", "grace",
        ])
        #expect(
            changes.output.split(separator: "\n").dropLast().allSatisfy { $0.contains("\"deviceID\":\"skylight\"") })
    }

    @Test func whatDoesNotGoWithAnExport() async throws {
        try await fill()
        _ = try await run(["export", "-o", path("a.ndjson")] + Self.container)
        let typed = try await run(["import", path("a.ndjson"), "--type", "T"])
        #expect(typed.status == 64)
        #expect(typed.errors.contains("--type does not apply"))
        let two = try await run(["import", path("a.ndjson"), path("a.ndjson")])
        #expect(two.status == 64)
        #expect(two.errors.contains("An export can't be imported with other files"))
        // Without its first line the file is treated as rows.
        let headless = try String(decoding: bytes("a.ndjson"), as: UTF8.self).split(separator: "\n").dropFirst().joined(
            separator: "\n")
        let file = try write(headless, to: "headless.ndjson")
        let refused = try await run(["import", file, "--json"])
        #expect(refused.status == 64)
        #expect(try refused.errorJSON["code"] == "USAGE")
    }

    @Test func badLinesAreNamed() async throws {
        try await fill()
        _ = try await run(["export", "-o", path("a.ndjson")] + Self.container)
        let spoilt = try String(decoding: bytes("a.ndjson"), as: UTF8.self).replacing(
            "\"type\":\"INT64\"}", with: "\"type\":\"INT65\"}", maxReplacements: 2)
        let file = try write(spoilt, to: "b.ndjson")
        let plain = try await run(["import", file], data: "other")
        #expect(plain.status == 65)
        let isNamed =
            plain.errors.contains("b.ndjson:1: ")
            || plain.errors.contains("b.ndjson:2: Unknown type 'INT65' of field 'big'")
        #expect(isNamed, "\(plain.errors)")
        #expect(try await run(["import", file, "--json"], data: "other").errorJSON["code"] == "BAD_DATA")
        #expect(try await !run(["zone", "list"] + Self.container, data: "other").output.contains("Z "))
    }

    @Test(arguments: [
        (["--zone", "Y"], Int32(1), "There is no zone 'Y'; choose one of '_defaultZone', 'Z'"),
        (["--type", "U"], 1, "There is no record type 'U'"),
        (["--container", "iCloud.com.example.None"], 1, "There is no container iCloud.com.example.None"),
        (["--zone-owner", "ada"], 64, "add --database shared"),
        (["--output", "/no/such/folder/file"], 74, "can't be written: No such file or directory"),
        (["--output", "/"], 74, "'/' is a folder"),
    ])
    func whatCannotBeExported(arguments: [String], status: Int32, message: String) async throws {
        try await fill()
        let container = arguments.contains("--container") ? [] : Self.container
        let result = try await run(["export"] + arguments + container)
        #expect(result.status == status)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test func aFileIsThereWholeOrAsItWas() async throws {
        try await fill()
        let file = try write("before", to: "kept.ndjson")
        #expect(try await run(["export", "--output", file, "--type", "Nothing"] + Self.container).status == 1)
        #expect(try bytes("kept.ndjson") == Data("before".utf8))
        #expect(try await run(["export", "--output", file] + Self.container).status == 0)
        #expect(try bytes("kept.ndjson").starts(with: Data("{\"skylight\":\"export\"".utf8)))
        #expect(try FileManager.default.contentsOfDirectory(atPath: path("")).filter { $0.hasSuffix(".part") }.isEmpty)
    }

    @Test func whatIsNoRegularFileIsWrittenToDirectly() async throws {
        try await fill()
        let plain = try await run(["export"] + Self.container)
        let output = try await run(["export", "--output", "/dev/stdout"] + Self.container)
        #expect(output.status == 0 && output.output == plain.output, "\(output.errors)")
        try FileManager.default.createSymbolicLink(atPath: path("null"), withDestinationPath: "/dev/null")
        #expect(try await run(["export", "--output", path("null")] + Self.container).status == 0)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("null")) == "/dev/null")
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        let reader = Process()
        reader.executableURL = URL(filePath: "/bin/sh")
        reader.arguments = ["-c", "cat <\"$0\" >\"$1\"", path("pipe"), path("read")]
        try reader.run()
        #expect(try await run(["export", "--output", path("pipe")] + Self.container).status == 0)
        await reader.end()
        #expect(try bytes("read") == Data(plain.output.utf8))
    }

    @Test func linksAndPermissionsStay() async throws {
        try await fill()
        let file = try write("before", to: "target.ndjson")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
        try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: "target.ndjson")
        try FileManager.default.createSymbolicLink(atPath: path("dangling"), withDestinationPath: path("new.ndjson"))
        for name in ["link", "dangling"] {
            #expect(try await run(["export", "--output", path(name)] + Self.container).status == 0)
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path("link")) == "target.ndjson")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o640)
        #expect(try bytes("target.ndjson").starts(with: Data("{\"skylight\":".utf8)))
        #expect(try bytes("new.ndjson") == bytes("target.ndjson"))
    }

    @Test func whatKeepsNoneIsNamed() async throws {
        let by = "{\"timestamp\":1,\"userRecordName\":\"_ada\",\"deviceID\":\"\"}"
        let records = [("a", "nobody"), ("b", "a")].map { name, target in
            "{\"recordName\":\"\(name)\",\"recordType\":\"T\",\"zoneID\":{\"zoneName\":\"Z\"},\"fields\":{\"r\":{\"value\":{\"recordName\":\"\(target)\","
                + "\"action\":\"VALIDATE\"},\"type\":\"REFERENCE\"}},\"created\":\(by),\"modified\":\(by)}"
        }
        let header =
            "{\"skylight\":\"export\",\"version\":1,\"container\":\"iCloud.com.example.X\",\"environment\":\"development\","
            + "\"database\":\"private\",\"userRecordName\":\"_88fa\",\"user\":\"developer\",\"zones\":[{\"zoneName\":\"Z\"}],\"schema\":{\"types\":[],\"roles\":[]}}"
        let file = try write(([header] + records).joined(separator: "\n"), to: "dangling.ndjson")
        let result = try await run(["import", file, "--json"])
        #expect(result.status == 1, "\(result.errors)")
        let (output, error) = (try result.outputJSON, try result.errorJSON)
        #expect(output["saved"] == 2 && output["unvalidatedCount"] == 1)
        #expect(error["code"] == "VALIDATING_REFERENCE_ERROR" && error["rowCount"] == 1)
        let exported = try await run(["export"] + Self.container)
        #expect(exported.output.contains("\"action\":\"VALIDATE\"") && exported.output.contains("\"action\":\"NONE\""))
    }

    @Test(arguments: [false, true], ["export", "query --type T --all"])
    func aReaderThatGoesAwayEndsItQuietly(throughServer: Bool, command: String) async throws {
        let rows = (0..<3000).map { "{\"n\":\($0),\"text\":\"\(String(repeating: "x", count: 200))\"}" }.joined(
            separator: "\n")
        let file = try write(rows, to: "many.ndjson")
        #expect(try await run(["import", file, "--type", "T"] + Self.container).status == 0)
        let server = throughServer ? try await Server(["--data", path("data")]) : nil
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        let export = "\"$0\" \(command) --json --container iCloud.com.example.X --data \"$1\" 2>\"$2\"; echo $? >\"$3\""
        process.arguments = [
            "-c", "(\(export)) | head -c 100 >/dev/null", Command.binary.path(percentEncoded: false), path("data"),
            path("errors"), path("status"),
        ]
        try process.run()
        await process.end()
        #expect(String(decoding: try bytes("errors"), as: UTF8.self) == "")
        // 128 and the number of SIGPIPE.
        #expect(String(decoding: try bytes("status"), as: UTF8.self) == "141\n")
        if let server { #expect(await server.end() == 0) }
    }
}
