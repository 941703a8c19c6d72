import Foundation
import Records
import TestSupport
import Testing

/// Asset files: their size limit, verification, sweeping, and their part in exports.
@Suite(.serialized) struct AssetsTests: CommandTests {
    private static let name = "iCloud.com.example.Files"
    private static let container = ["--container", name]

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func server(_ arguments: [String] = [], data: String = "data") async throws -> Server {
        try await Server(["--data", path(data)] + arguments)
    }

    private func delete(_ record: String, on server: Server) async throws {
        let operation: JSONValue = ["operationType": "forceDelete", "record": ["recordName": .string(record)]]
        let answer = try await server.post(
            "/database/1/\(Self.name)/development/private/records/modify", ["operations": .array([operation])])
        #expect(answer.status == 200)
    }

    /// The asset files, whose names are their checksums.
    private func files(data: String = "data") -> [URL] {
        let files = FileManager.default.enumerator(
            at: folder.url.appending(path: data), includingPropertiesForKeys: nil)
        return (files?.compactMap { $0 as? URL } ?? []).filter { $0.lastPathComponent.contains(/^[0-9a-f]{64}$/) }
    }

    /// Moves the times in the ledger back by a day.
    private func age(data: String = "data") async throws {
        let database = path(data) + "/\(Self.name)/development.sqlite"
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c",
            "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('UPDATE assets SET inUseUntil = inUseUntil - 90000000'); c.commit()",
            database,
        ]
        try process.run()
        #expect(await process.end() == 0)
    }

    // MARK: The size limit

    @Test(arguments: [("1KB", 1024), ("1500", 1500), ("2 kib", 2048)]) func theSizeLimitHolds(limit: String, bytes: Int)
        async throws
    {
        let server = try await Server(["--ephemeral", "--asset-size-limit", limit])
        try await server.save([UInt8](repeating: 1, count: bytes), named: nil, in: "a", container: Self.name)
        let token: JSONValue = ["recordType": "Note", "fieldName": "file", "recordName": "b"]
        let granted = try await server.post(
            "/database/1/\(Self.name)/development/private/assets/upload", ["tokens": .array([token])])
        guard case .array(let tokens)? = granted.answer["tokens"], case .object(let grant)? = tokens.first,
            case .string(let url)? = grant["url"]
        else {
            Issue.record("No upload: \(granted)")
            return
        }
        let refused = try await server.upload([UInt8](repeating: 1, count: bytes + 1), named: nil, to: url)
        #expect(refused.status == 413)
        #expect(refused.answer["serverErrorCode"] == "QUOTA_EXCEEDED")
        #expect("\(refused.answer)".contains("--asset-size-limit"))
        #expect(await server.end() == 0)
    }

    // MARK: Verifying

    @Test func validAssetsAreConfirmed() async throws {
        let server = try await server()
        try await server.save(Array("hello".utf8), named: "hello.txt", in: "a", container: Self.name)
        try await server.save(Array("hello".utf8), named: "again.txt", in: "b", container: Self.name)
        let words = "\(Self.name) (development): 1 file, 5 bytes, 2 references: no problems\n"
        let through = try await run(["assets", "verify"])
        #expect(through.status == 0, "\(through.errors)")
        #expect(through.output == words)
        #expect(through.errors.contains("Using the server"))
        // Verification must not create the other environment.
        #expect(!FileManager.default.fileExists(atPath: path("data") + "/\(Self.name)/production.sqlite"))
        let overURL = try await Command.run(["assets", "verify", "--json", "--url", server.address])
        #expect(await server.end() == 0)
        let alone = try await run(["assets", "verify"])
        #expect(alone.status == 0 && alone.output == words, "\(alone.errors)")
        let json = try await run(["assets", "verify", "--json"] + Self.container)
        #expect(json.output == overURL.output)
        #expect(try json.outputJSON["problemCount"] == 0)
        #expect(
            json.output.contains(
                "\"files\":1,\"bytes\":5,\"references\":2,\"unusedFiles\":0,\"unusedBytes\":0,\"problems\":[]"))
        #expect(
            try await run(["assets", "verify", "--environment", "production"]).output == "There is nothing to verify.\n"
        )
        let none = try await run(["assets", "verify", "--container", "iCloud.com.example.None"])
        #expect(none.status == 1)
        #expect(none.errors.contains("There is no container iCloud.com.example.None; choose one of \(Self.name)"))
    }

    @Test(arguments: [false, true]) func everyProblemIsNamedWithItsRemedy(throughServer: Bool) async throws {
        var server = try await server()
        for (number, record) in ["changed", "missing", "short"].enumerated() {
            try await server.save(
                [UInt8](repeating: UInt8(number), count: 1000), named: nil, in: record, container: Self.name)
        }
        #expect(await server.end() == 0)
        var checksums: [Int: String] = [:]
        for file in files() {
            let bytes = try Data(contentsOf: file)
            checksums[Int(bytes[0])] = file.lastPathComponent
            try FileManager.default.removeItem(at: file)
            switch bytes[0] {
            case 0: try Data([9] + bytes.dropFirst()).write(to: file)
            case 1: break
            default: try Data(bytes.dropLast()).write(to: file)
            }
        }
        #expect(checksums.count == 3)
        if throughServer { server = try await self.server() }
        let result = try await run(["assets", "verify"])
        #expect(result.status == 1)
        #expect(result.output.contains(": 3 problems\n"))
        for (number, kind) in [(0, "changed"), (1, "missing"), (2, "changed")] {
            #expect(result.output.contains("  \(kind)  \(checksums[number] ?? "")\n"), "\(result.output)")
        }
        #expect(
            result.output.contains("    in field 'file' of Note 'missing' in zone _defaultZone of _"),
            "\(result.output)")
        #expect(result.output.matches(of: /from a copy, or upload the same file again/).count == 3, "\(result.output)")
        #expect(result.errors.contains("3 problems with assets were found"))
        let json = try await run(["assets", "verify", "--json"])
        #expect(json.status == 1)
        #expect(try json.outputJSON["problemCount"] == 3)
        #expect(try json.errorJSON["code"] == "ASSETS_DAMAGED")
        // The advice of the verification works: uploading the files again restores them.
        if !throughServer { server = try await self.server() }
        for (number, record) in ["changed", "missing", "short"].enumerated() {
            try await server.save(
                [UInt8](repeating: UInt8(number), count: 1000), named: nil, in: record, container: Self.name)
        }
        let healed = try await run(["assets", "verify"])
        #expect(healed.status == 0, "\(healed.output)")
        #expect(await server.end() == 0)
    }

    // MARK: Sweeping

    @Test(arguments: [false, true]) func aSweepRemovesWhatNothingUses(throughServer: Bool) async throws {
        var server = try await server()
        try await server.save([UInt8](repeating: 1, count: 2000), named: nil, in: "kept", container: Self.name)
        // Random bytes do not compress, so no compressed form is kept.
        try await server.save(
            (0..<3000).map { _ in .random(in: .min ... .max) }, named: nil, in: "gone", container: Self.name)
        try await delete("gone", on: server)
        #expect(files().count == 2)
        // The file stays during the hour of its receipt and the grace time.
        let early = try await run(["assets", "sweep", "--grace", "0"])
        #expect(
            early.output
                == "Removed 0 files, 0 bytes.\nKept: 1 file that no record refers to, within the grace time or in use.\n",
            "\(early.errors)")
        #expect(await server.end() == 0)
        try await age()
        if throughServer { server = try await self.server(["--asset-grace", "3d"]) }
        let waiting = try await run(["assets", "sweep"] + (throughServer ? [] : ["--grace", "3d"]))
        #expect(waiting.output.contains("Removed 0 files"), "\(waiting.output)")
        let dry = try await run(["assets", "sweep", "--dry-run", "--grace", "90m"])
        #expect(dry.status == 0)
        #expect(
            dry.output.contains("\(Self.name) (development)\n  ")
                && dry.output.hasSuffix("  2.9 KB\nWould remove 1 file, 2.9 KB.\n"), "\(dry.output)")
        #expect(files().count == 2)
        #expect(try await run(["assets", "verify"]).output.contains("; unused: 1 file, 2.9 KB: no problems"))
        let swept = try await run(["assets", "sweep", "--grace", "1", "--json"] + Self.container)
        #expect(
            try swept.outputJSON["removedFiles"] == 1 && swept.outputJSON["removedBytes"] == 3000, "\(swept.output)")
        #expect(swept.output.hasPrefix("{\"dryRun\":false,"))
        #expect(files().count == 1)
        #expect(try await run(["assets", "sweep", "--grace", "0s"]).output == "Removed 0 files, 0 bytes.\n")
        #expect(try await run(["assets", "verify"]).status == 0)
        #expect(try await run(["assets", "sweep", "--grace", "soon"]).status == 64)
        if throughServer { #expect(await server.end() == 0) }
    }

    @Test func aServerSweepsByItself() async throws {
        let first = try await server()
        try await first.save([1, 2, 3], named: nil, in: "a", container: Self.name)
        try await delete("a", on: first)
        #expect(await first.end() == 0)
        try await age()
        let second = try await server(["--asset-grace", "2s"])
        try await eventually { files().isEmpty }
        #expect(await second.end() == 0)
    }

    // MARK: Exports

    private func contents(of name: String) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: path(name))
        return try Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, try Data(contentsOf: folder.url.appending(path: name).appending(path: $0)))
            })
    }

    /// Exports from a server into a folder, and from the folder into a server.
    @Test func anExportTakesFilesAlong() async throws {
        let source = try await server()
        let large = [UInt8]((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) })
        try await source.save(large, named: "größe \"1\".bin", in: "large", container: Self.name)
        try await source.save(large, named: nil, in: "same", container: Self.name)
        try await source.save([], named: "nothing", in: "empty", container: Self.name)
        let first = try await run(
            ["export", "--output", path("first.ndjson"), "--assets", path("files")] + Self.container)
        #expect(first.status == 0, "\(first.errors)")
        #expect(
            first.errors.contains("Assets: 3 assets, with 683.6 KB in 2 files in \(path("files"))."), "\(first.errors)")
        let files = try contents(of: "files")
        #expect(files.count == 2 && files.values.contains(Data(large)) && files.values.contains(Data()))
        let text = try String(contentsOf: folder.url.appending(path: "first.ndjson"), encoding: .utf8)
        #expect(!text.contains("downloadURL"))
        #expect(await source.end() == 0)

        let bare = try await run(["import", path("first.ndjson")], data: "copy")
        #expect(bare.status == 65)
        #expect(
            bare.errors.contains("have 3 assets, whose bytes are not in the file: give the folder with --assets"),
            "\(bare.errors)")
        let back = try await run(["import", path("first.ndjson"), "--assets", path("files")], data: "copy")
        #expect(back.status == 0, "\(back.errors)")
        let second = try await run(
            ["export", "--output", path("second.ndjson"), "--assets", path("others"), "--json"] + Self.container,
            data: "copy")
        #expect(second.status == 0, "\(second.errors)")
        #expect(
            second.output.contains(
                "\"assets\":{\"references\":3,\"files\":2,\"bytes\":700000},\"assetsLeftOut\":{\"references\":0"),
            "\(second.output)")
        #expect(try contents(of: "others") == files)
        #expect(try String(contentsOf: folder.url.appending(path: "second.ndjson"), encoding: .utf8) == text)

        let target = try await server(data: "target")
        let restored = try await run(["import", path("second.ndjson"), "--assets", path("others")], data: "target")
        #expect(restored.status == 0, "\(restored.errors)")
        let third = try await run(["export", "--assets", path("third")] + Self.container, data: "target")
        #expect(third.output == text)
        #expect(try contents(of: "third") == files)
        #expect(
            try await run(["assets", "verify"], data: "target").output.contains(
                "2 files, 683.6 KB, 3 references: no problems"))
        #expect(await target.end() == 0)
        let plain = try await run(["export"] + Self.container, data: "target")
        #expect(
            plain.errors.contains(
                "Left out of the records: 3 assets, with 683.6 KB in 2 files. Add --assets DIR to export them too."),
            "\(plain.errors)")
        #expect(!plain.output.contains("ASSETID\"}"))
    }

    @Test func aFileThatIsNotRightIsNamed() async throws {
        let server = try await server()
        try await server.save([1, 2, 3], named: nil, in: "a", container: Self.name)
        #expect(
            try await run(["export", "--output", path("a.ndjson"), "--assets", path("files")] + Self.container).status
                == 0)
        let name = try #require(try contents(of: "files").keys.first)
        try Data([1, 2, 4]).write(to: folder.url.appending(path: "files/\(name)"))
        let refused = try await run(["import", path("a.ndjson"), "--assets", path("files"), "--json"], data: "copy")
        #expect(refused.status == 65)
        #expect(try refused.errorJSON["rowCount"] == 1)
        #expect(
            refused.errors.contains("the file of the asset in field 'file' can't be used")
                && refused.errors.contains(name), "\(refused.errors)")
        // A server with a lower limit reports it.
        let small = try await Server(["--ephemeral", "--asset-size-limit", "2"])
        try Data([1, 2, 3]).write(to: folder.url.appending(path: "files/\(name)"))
        let large = try await Command.run([
            "import", path("a.ndjson"), "--assets", path("files"), "--url", small.address,
        ])
        #expect(large.status == 1)
        #expect(large.errors.contains("a.ndjson:2: ") && large.errors.contains("--asset-size-limit"), "\(large.errors)")
        #expect(await small.end() == 0)
        let rows = try write("k\na\n", to: "rows.csv")
        let csv = try await run(["import", rows, "--type", "T", "--assets", path("files")] + Self.container)
        #expect(csv.status == 64)
        #expect(csv.errors.contains("only an export has assets"))
        let unwritable = try await run(["export", "--assets", "/proc/nowhere"] + Self.container)
        #expect(unwritable.status == 74, "\(unwritable.errors)")
        #expect(await server.end() == 0)
    }
}
