import Foundation
import Records
import TestSupport
import Testing

/// The commands for snapshots, on a folder and through its server.
@Suite(.serialized) struct SnapshotTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let container = ["--container", "iCloud.com.example.X"]

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    private func run(_ arguments: [String], data: String = "data", in container: [String] = container) async throws
        -> Command.Result
    {
        try await Command.run(arguments + container + ["--data", path(data)])
    }

    private func importRows(_ rows: String, _ user: String = "developer") async throws {
        let file = try folder.write(rows, to: "rows.ndjson").path(percentEncoded: false)
        let result = try await run([
            "import", file, "--type", "T", "--zone", "Z", "--name-field", "name", "--user", user,
        ])
        #expect(result.status == 0, "\(result.errors)")
    }

    private func export() async throws -> String { try await run(["export"]).output }

    @Test(arguments: [false, true]) func aSnapshotIsSavedComparedAndRestored(throughServer: Bool) async throws {
        try await importRows("{\"name\":\"a\",\"n\":1}\n{\"name\":\"b\",\"n\":2}")
        try await importRows("{\"name\":\"hers\",\"n\":3}", "ada")
        let server = throughServer ? try await Server(["--data", path("data")]) : nil
        let saved = try await run(["snapshot", "save", "First state", "--json"])
        #expect(saved.status == 0, "\(saved.errors)")
        #expect(try saved.outputJSON["records"] == 3 && saved.outputJSON["users"] == 2)
        let before = try await export()
        try await importRows("{\"name\":\"b\",\"n\":5}\n{\"name\":\"c\",\"n\":6,\"word\":\"new\"}")

        let compared = try await run(["snapshot", "compare", "First state"])
        #expect(compared.status == 1, "\(compared.errors)")
        #expect(
            compared.output.contains("T: 1 added, 1 changed\n  + c in Z of developer\n  ~ b in Z of developer: n\n"),
            "\(compared.output)")
        #expect(compared.output.contains("+ word STRING"))

        let asked = try await run(["snapshot", "restore", "First state", "--json"])
        #expect(asked.status == 64)
        #expect(try asked.errorJSON["code"] == "CONFIRMATION_NEEDED")
        guard case .object(let records)? = try asked.errorJSON["records"] else {
            return #expect(Bool(false), "No counts: \(asked.errors)")
        }
        #expect(records["changed"] == 1 && records["removed"] == 1 && records["added"] == 0)
        #expect(try await export() != before)

        let restored = try await run(["snapshot", "restore", "First state", "--yes"])
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(
            restored.output.contains("1 record saved, 1 deleted")
                && restored.output.contains("clients fetch everything again"), "\(restored.output)")
        #expect(restored.output.contains("The state before is the snapshot 'Before restoring First state'."))
        #expect(try await export() == before)
        let same = try await run(["snapshot", "compare", "First state"])
        #expect(same.status == 0 && same.output.hasPrefix("No difference"), "\(same.output)")
        let two = try await run(["snapshot", "compare", "Before restoring First state", "First state", "--json"])
        #expect(two.status == 1)
        #expect(try two.outputJSON["different"] == true)

        let list = try await run(["snapshot", "list"])
        #expect(list.output.contains(/Before restoring First state\n.* 3 +2 +First state\n/), "\(list.output)")
        #expect(try await run(["snapshot", "delete", "First state"]).status == 64)
        #expect(try await run(["snapshot", "delete", "First state", "--yes"]).status == 0)
        #expect(try await !run(["snapshot", "list"]).output.contains("  First state"))
        if let server { #expect(await server.end() == 0) }
    }

    @Test func aSnapshotGoesToAnotherSkylight() async throws {
        try await importRows("{\"name\":\"a\",\"n\":1}")
        #expect(try await run(["snapshot", "save", "Failing"]).status == 0)
        let written = try await run(["snapshot", "export", "Failing", "--output", path("failing.tar")])
        #expect(written.status == 0, "\(written.errors)")
        let piped = try await Command.run(
            ["snapshot", "export", "Failing", "--output", "/dev/stdout", "--data", path("data")] + Self.container)
        #expect(piped.status == 0 && !piped.output.isEmpty)
        let opened = try await run(["snapshot", "import", path("failing.tar")], data: "other", in: [])
        #expect(opened.status == 0, "\(opened.errors)")
        #expect(opened.output.contains("Restored 'Failing' in iCloud.com.example.X (development)"), "\(opened.output)")
        #expect(try await run(["export"], data: "other").output == export())
        // An environment that exists stays as it is.
        let again = try await run(["snapshot", "import", path("failing.tar"), "--json"], data: "other", in: [])
        #expect(try again.outputJSON["name"] == "Failing (2)" && again.outputJSON["restored"] == false)
        let damaged = try folder.write("{\"skylight\":\"export\"}", to: "no.tar").path(percentEncoded: false)
        let refused = try await run(["snapshot", "import", damaged, "--json"], in: [])
        #expect(refused.status == 65)
        #expect(try refused.errorJSON["code"] == "BAD_DATA")
    }

    @Test(arguments: [
        (["save", ""], Int32(64), "'name' is empty"),
        (["save", String(repeating: "x", count: 101)], 64, "at most 100"),
        (["compare", "None"], 66, "There is no snapshot 'None'"),
        (["restore", "None", "--yes"], 1, "there are none yet"),
        (["save", "x", "--environment", "production"], 1, "has no production environment"),
        (["list", "--url", "http://127.0.0.1:1"], 64, "a server's address does not tell its folder"),
    ])
    func mistakesAreNamed(arguments: [String], status: Int32, message: String) async throws {
        try await importRows("{\"name\":\"a\",\"n\":1}")
        let data = arguments.contains("--url") ? [] : ["--data", path("data")]
        let result = try await Command.run(["snapshot"] + arguments + Self.container + data)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
    }
}
