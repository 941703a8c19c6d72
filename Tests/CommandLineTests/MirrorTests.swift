import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// `skylight mirror` and `skylight push`, against a stand-in for iCloud.
@Suite(.serialized) struct MirrorTests {
    private static let container = "iCloud.com.example.Air"
    private let folder: TemporaryFolder
    private let key = P256.Signing.PrivateKey()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    private func write(_ text: String, to name: String) throws -> String {
        try folder.write(text, to: name).path(percentEncoded: false)
    }

    /// Runs a command that has to succeed.
    private func run(_ arguments: [String], in data: String) async throws -> Command.Result {
        let result = try await Command.run(arguments + ["--data", path(data)])
        #expect(result.status == 0, "\(arguments.joined(separator: " ")): \(result.errors)")
        return result
    }

    private func importing(_ rows: String, into container: String, in data: String) async throws {
        let file = try write("iata,name\n\(rows)", to: "rows.csv")
        _ = try await run(["import", file, "--container", container, "--database", "public", "--type", "Airport", "--name-field", "iata"], in: data)
    }

    private func exported(_ container: String, in data: String) async throws -> [Substring] {
        let lines = try await run(["export", "--container", container, "--database", "public"], in: data).output.split(separator: "\n")
        return lines.dropFirst().filter { $0.contains("Airport") }
    }

    /// Runs with a stand-in that has the folder `origin` open, and connects the folder `data` to it.
    private func withStandIn(_ body: () async throws -> Void) async throws {
        let publicKey = try write(key.publicKey.pemRepresentation, to: "key.pub.pem")
        let registered = try await run(["key", "register", "--file", publicKey, "--container", Self.container], in: "origin")
        let keyID = registered.output.trimmingCharacters(in: .newlines)
        let server = try await Server(["--data", path("origin"), "--auth", "required", "--protocol-only"])
        let privateKey = try write(key.pemRepresentation, to: "key.pem")
        _ = try await run(["connect", Self.container, "--key-id", keyID, "--key", privateKey, "--server", server.address], in: "data")
        try await body()
        #expect(await server.end() == 0)
    }

    /// Adds the indexes that a mirror needs.
    private func addIndexes() async throws {
        let schema = try write(
            #"DEFINE SCHEMA RECORD TYPE Airport ( "___modTime" TIMESTAMP QUERYABLE SORTABLE, "___recordID" REFERENCE QUERYABLE );"#, to: "indexes.ckdb")
        _ = try await run(["schema", "import", "--merge", "--file", schema, "--container", Self.container], in: "origin")
    }

    private static let mirror = ["mirror", container, "--public-types", "Airport", "--json"]
    private static let copy = "\(container).mirror"

    @Test func aConnectedContainerIsCopiedAndChangesAreSentBack() async throws {
        try await importing("ATL,Atlanta\nBER,Berlin\nCDG,Paris\n", into: Self.container, in: "origin")
        try await addIndexes()
        let unknown = try await Command.run(["mirror", Self.container, "--data", path("data")])
        #expect(unknown.status == 1 && unknown.errors.contains("is not connected"))
        try await withStandIn {
            #expect(try await run(Self.mirror, in: "data").outputJSON["saved"] == .integer(3))
            let again = try await run(Self.mirror, in: "data").outputJSON
            #expect(again["saved"] == .integer(0) && again["problems"] == .array([]))
            let lines = try await exported(Self.copy, in: "data")
            #expect(lines.count == 3 && lines.contains { $0.contains("Berlin") })

            try await importing("DEN,Denver\n", into: Self.copy, in: "data")
            let planned = try await run(["push", Self.container, "--dry-run"], in: "data")
            #expect(planned.output.contains(/create +public +_defaultZone +DEN +iata name/) && planned.errors.contains("1 would be sent"), "\(planned)")
            let unasked = try await Command.run(["push", Self.container, "--data", path("data")])
            #expect(unasked.status == 64 && unasked.errors.contains("--yes"))
            let pushed = try await run(["push", Self.container, "--yes", "--json"], in: "data").outputJSON
            guard case .array(let items)? = pushed["items"] else {
                Issue.record("\(pushed)")
                return
            }
            #expect(items.count == 1 && pushed["refused"] == .array([]) && pushed["conflicts"] == .array([]))
            #expect(try await run(["push", Self.container, "--dry-run"], in: "data").errors.contains("0 would be sent"))
        }
        let unsettled = try await Command.run(["push", Self.container, "--keep-mine", "DEN", "--data", path("data")])
        #expect(unsettled.status == 1 && unsettled.errors.contains("no change in conflict"))
        let there = try await exported(Self.container, in: "origin")
        #expect(there.count == 4 && there.contains { $0.contains("Denver") })
    }

    /// Each process is killed at some moment, and the next one goes on.
    @Test func killedProcessesLeaveACopyThatGoesOn() async throws {
        let rows = (0..<3000).map { "A\($0),Airport \($0)\n" }.joined()
        try await importing(rows, into: Self.container, in: "origin")
        try await addIndexes()
        try await withStandIn {
            for round in 1...8 {
                let process = try RunningProcess(Self.mirror + ["--data", path("data")])
                try await Task.sleep(for: .milliseconds(60 * round))
                process.signal(SIGKILL)
                _ = await process.end()
            }
            let last = try await run(Self.mirror, in: "data").outputJSON
            #expect(last["problems"] == .array([]))
        }
        let (there, here) = (try await exported(Self.container, in: "origin"), try await exported(Self.copy, in: "data"))
        #expect(there.count == 3000 && there == here)
    }

    @Test func aTypeWithoutIndexesIsNamed() async throws {
        try await importing("ATL,Atlanta\n", into: Self.container, in: "origin")
        try await withStandIn {
            let result = try await Command.run(["mirror", Self.container, "--public-types", "Airport", "--data", path("data")])
            #expect(result.status == 1 && result.errors.contains("modifiedTimestamp QUERYABLE"), "\(result)")
        }
    }
}
