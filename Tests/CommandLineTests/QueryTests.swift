import Foundation
import Records
import TestSupport
import Testing

@Suite(.serialized) struct QueryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    private static let type = ["--type", "T", "--container", "iCloud.com.example.X"]

    private func run(_ arguments: [String]) async throws -> Command.Result {
        try await Command.run(arguments + ["--data", path("data")])
    }

    private func fill(_ rows: String = "a,2001,Alpha,x\nb,2002,Beta,y\nc,2003,\"Gamma, delta\",x\nd,2004,Delta,\n")
        async throws
    {
        let file = try folder.write("k,year,title,note\n" + rows, to: "rows.csv").path(percentEncoded: false)
        let result = try await run(
            ["import", file, "--name-field", "k", "--zone", "Z", "--index", "year:QUERYABLE,SORTABLE"]
                + ["--index", "title:QUERYABLE", "--column", "title:STRING", "--column", "note:STRING"] + Self.type)
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The record names in a result as JSON, and the marker after them.
    private func names(_ result: Command.Result) throws -> (names: [String], marker: String?) {
        #expect(result.status == 0, "\(result.errors)")
        let objects = try result.output.split(separator: "\n").map { try result.json(String($0)) }
        var (names, marker): ([String], String?) = ([], nil)
        for object in objects {
            if case .string(let name)? = object["recordName"] { names.append(name) }
            if case .string(let next)? = object["continuationMarker"] { marker = next }
        }
        #expect(objects.count == names.count + (marker == nil ? 0 : 1))
        return (names, marker)
    }

    @Test(arguments: [
        ([], "abcd"), (["year > 2002"], "cd"), (["year > 2001 sort by year descending"], "dcb"),
        (["--filter", "year > 2001", "--filter", "title begins with D"], "d"),
        (["year < 2004", "--filter", "year != 2002", "--sort", "year descending"], "ca"),
        (["title in (Alpha, \"Gamma, delta\")", "--zone", "Z"], "ac"),
        (["select * from T where year between 2002 and 2003"], "bc"), (["year = 1999"], ""),
        (["year > 2001", "--zone", "_defaultZone"], ""),
    ])
    func whatAQueryFinds(query: [String], expected: String) async throws {
        try await fill()
        let found = try names(try await run(["query", "--json"] + query + Self.type))
        #expect(found.names.joined() == expected && found.marker == nil)
    }

    @Test func everyFormatHasTheSameRecords() async throws {
        try await fill()
        let query = ["query", "year > 2001", "--fields", "title, year"] + Self.type
        let table = try await run(query)
        #expect(table.status == 0 && table.errors.isEmpty, "\(table.errors)")
        let lines = table.output.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0].contains(/^Name +Zone +title +year +Modified$/))
        #expect(lines[2].contains(/^c +Z +Gamma, delta +2003 +20[-0-9]+ [:0-9]+$/))
        let csv = try await run(query + ["--csv"])
        let rows = csv.output.split(separator: "\r\n")
        #expect(rows[0].hasPrefix("recordName,zoneName,title,year,parent,recordChangeTag,"))
        #expect(rows.count == 4 && rows[2].hasPrefix("c,Z,\"Gamma, delta\",2003,,"))
        let json = try await run(query + ["--json"])
        #expect(json.output.split(separator: "\n").count == 3)
        #expect(json.output.contains("\"title\":{") && !json.output.contains("\"note\":{"))
        #expect(try await run(["query", "year = 1"] + Self.type).output == "No record matches.\n")
        #expect(
            try await run(["query", "year = 1", "--csv"] + Self.type).output.hasPrefix("recordName,zoneName,"))
        // Through a server, the answer is the same.
        let server = try await Server(["--data", path("data")])
        for (format, alone) in [([], table), (["--csv"], csv), (["--json"], json)] {
            let through = try await Command.run(query + format + ["--url", server.address])
            #expect(through.output == alone.output, "\(through.errors)")
        }
        #expect(await server.end() == 0)
    }

    @Test func aTextThatCouldMoveTheCursorIsMarked() async throws {
        try await fill("a,1,\"\u{1B}[2Jred\",\nb,2,\"\(String(repeating: "long", count: 20))\",\n")
        let table = try await run(["query"] + Self.type).output
        #expect(table.contains("⟨U+1B⟩[2Jred") && table.contains("long…") && !table.contains("\u{1B}"))
    }

    @Test func pagesFollowEachOther() async throws {
        try await fill((0..<450).map { "r\(String(format: "%03d", $0)),\($0),t,\n" }.joined())
        let all = try names(try await run(["query", "--all", "--json"] + Self.type))
        #expect(all.names.count == 450 && all.names == all.names.sorted() && all.marker == nil)
        let csv = try await run(["query", "--all", "--csv"] + Self.type)
        #expect(csv.output.split(separator: "\r\n").count == 451)
        let table = try await run(["query", "--all"] + Self.type)
        #expect(table.output.split(separator: "\n").count == 451)
        // The usual number, a number beyond a page, and the rest.
        #expect(try names(try await run(["query", "--json"] + Self.type)).names.count == 50)
        let most = try names(try await run(["query", "--limit", "300", "--json"] + Self.type))
        #expect(most.names == Array(all.names.prefix(300)))
        let marker = try #require(most.marker)
        let rest = try names(try await run(["query", "--all", "--json", "--marker", marker] + Self.type))
        #expect(rest.names == Array(all.names.dropFirst(300)))
        let part = try await run(["query", "--limit", "300"] + Self.type)
        #expect(part.errors.contains("More records match. Add --all, or continue with --marker"))
    }

    @Test(arguments: [
        (["year >"], Int32(64), "Write a value"), (["year > x"], 64, "‘x’ is not a 64-bit whole number"),
        (["title = a or title = b"], 64, "CloudKit has no OR. Write title in (a, b)"),
        (["--sort", "year upwards"], 64, "‘upwards’ is unexpected here"),
        (["--limit", "0"], 64, "--limit is at least 1"), (["--all", "--limit", "3"], 64, "remove --limit"),
        (["--csv", "--json"], 64, "remove one of them"), (["--explain", "--all"], 64, "remove --all and --csv"),
        (["--zone-owner", "ada"], 64, "add --database shared"),
        (["--marker", "nonsense"], 1, "Invalid continuationMarker"),
        (["wrong = 1"], 1, "Unknown field 'wrong'"),
        (["--container", "iCloud.com.example.None"], 1, "There is no container iCloud.com.example.None"),
    ])
    func whatCannotBeAsked(arguments: [String], status: Int32, message: String) async throws {
        try await fill()
        let type = arguments.contains("--container") ? ["--type", "T"] : Self.type
        let result = try await run(["query"] + arguments + type)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test func theErrorNamesItsPlace() async throws {
        try await fill()
        let plain = try await run(["query", "year > 2001 limit 3"] + Self.type)
        #expect(plain.errors.contains("\n  year > 2001 limit 3\n              ^\n"), "\(plain.errors)")
        let json = try await run(["query", "--sort", "year upwards", "--json"] + Self.type).errorJSON
        #expect(json["code"] == "USAGE" && json["query"] == "year upwards" && json["position"] == 6)
    }

    // MARK: Indexes

    @Test func missingIndexesComeWithTheCommandThatAddsThem() async throws {
        try await fill()
        let query = ["query", "note = x sort by note"] + Self.type
        let refused = try await run(query)
        #expect(refused.status == 1 && refused.output.isEmpty)
        for words in [
            "Field 'note' is not marked queryable", "Field 'note' is not marked sortable",
            "note STRING QUERYABLE SORTABLE", "This command adds what is missing.",
        ] {
            #expect(refused.errors.contains(words), "\(refused.errors)")
        }
        let error = try await run(query + ["--json"]).errorJSON
        guard case .string(let command)? = error["command"], case .array(let problems)? = error["problems"] else {
            Issue.record("No command: \(error)")
            return
        }
        #expect(problems.count == 2 && refused.errors.contains("  \(command)\n"))
        let explained = try await run(query + ["--explain", "--json"]).outputJSON
        #expect(explained["command"] == .string(command) && explained["recordsRead"] == 0)
        #expect(
            try await run(query + ["--explain"]).output.contains("This command adds what is missing:\n  \(command)\n"))
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = [
            "-c", command.replacing("| skylight ", with: "| \"$0\" ") + " >/dev/null",
            Command.binary.path(percentEncoded: false),
        ]
        try shell.run()
        #expect(await shell.end() == 0)
        #expect(try names(try await run(query + ["--json"])).names == ["a", "c"])
    }

    @Test func aQueryIsExplained() async throws {
        try await fill()
        let query = ["query", "year > 2001 sort by year", "--explain"] + Self.type
        let plain = try await run(query)
        #expect(plain.status == 0, "\(plain.errors)")
        #expect(plain.output.contains(" for 3 returned, in ") && plain.output.contains("SERVES_"))
        #expect(plain.output.contains(/\nIndex +For +Standing +Entries +Reason\n/))
        let json = try await run(query + ["--json"]).outputJSON
        #expect(json["recordsReturned"] == 3 && json["problems"] == [] && json["remedy"] == nil)
    }
}
