import Foundation
import Records
import TestSupport
import Testing

/// Commands that work through the server that has the data folder open.
@Suite(.serialized) struct RunningServerTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var serverFile: String { data + "/.server" }

    private static let container = ["--container", "iCloud.com.example.X"]
    private static let database = ProcessInfo.processInfo.environment["SKYLIGHT_POSTGRESQL"].flatMap {
        $0.isEmpty ? nil : $0
    }

    private func file() throws -> String {
        try write("k\na\nb\n", to: "a.csv")
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test func everyCommandFindsTheServer() async throws {
        let server = try await Server(["--data", data])
        #expect(
            try String(contentsOfFile: serverFile, encoding: .utf8).split(separator: "\n").first.map(String.init)
                == server.address)
        let imported = try await run(
            ["import", try file(), "--type", "T", "--zone", "Notes", "--name-field", "k"] + Self.container)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(
            imported.output.contains("Imported 2 records of type T") && imported.output.contains("Zone created: Notes"))
        #expect(imported.errors.contains("Using the server at \(server.address)"))
        let schema = try await run(["schema", "show", "--json"] + Self.container)
        #expect(schema.output.contains("RECORD TYPE T"))
        #expect(schema.errors.isEmpty)
        #expect(
            try await run(["zone", "share", "Notes", "--with", "ada", "--permission", "read-only"] + Self.container)
                .status == 0)
        #expect(
            try await run(["zone", "list"] + Self.container).output.contains(
                /Notes +developer +3 +0 +ada \(read-only\)/))
        let shared = try await run(
            ["zone", "list", "--database", "shared", "--user", "ada", "--json"] + Self.container)
        #expect(shared.output.contains("\"owner\":\"developer\""))
        #expect(try await run(["zone", "share", "Notes", "--with", "developer"] + Self.container).status == 64)
        #expect(try await run(["zone", "unshare", "Notes", "--with", "ada"] + Self.container).status == 0)
        #expect(
            try await run(["changes", "--zone", "Notes"] + Self.container).output.contains(/created +[0-9]+ +T +a\n/))
        #expect(try await run(["export", "--json"] + Self.container).output.split(separator: "\n").count == 3)
        #expect(try await run(["zone", "delete", "Notes"] + Self.container).status == 64)
        #expect(
            try await run(["zone", "delete", "Notes", "--yes"] + Self.container).output.contains(
                "was deleted, with 2 records"))
        _ = try await run(["import", try file(), "--type", "T", "--zone", "Notes"] + Self.container)
        #expect(try await run(["zone", "purge", "Notes", "--yes"] + Self.container).output.contains("was purged"))
        let gone = try await run(["zone", "delete", "Notes", "--yes", "--json"] + Self.container)
        #expect(gone.status == 1)
        #expect(try gone.errorJSON["code"] == "ZONE_NOT_FOUND")
        #expect(
            try await run(["schema", "show", "--container", "iCloud.com.example.None"]).errors.contains(
                "There is no container"))
        #expect(await server.end() == 0)
        #expect(!exists(serverFile))
        // After the server has ended, the folder has the same data.
        #expect(try await run(["schema", "show"] + Self.container).output.contains("RECORD TYPE T"))
    }

    @Test func aServerCanBeNamed() async throws {
        let server = try await Server(["--ephemeral"])
        let imported = try await Command.run(
            ["import", try file(), "--type", "T", "--url", server.address] + Self.container)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.errors.isEmpty)
        let environment = ["SKYLIGHT_URL": server.address]
        #expect(
            try await Command.run(["schema", "show"] + Self.container, environment: environment).output.contains(
                "RECORD TYPE T"))
        // A folder in the arguments takes precedence over the environment.
        #expect(
            try await run(["schema", "show"] + Self.container, environment: environment).errors.contains(
                "There is no data folder"))
        let bad = try await Command.run(
            ["schema", "show"] + Self.container, environment: ["SKYLIGHT_URL": "http://example.com"])
        #expect(bad.status == 64)
        #expect(bad.errors.contains("SKYLIGHT_URL can't be used"))
        #expect(await server.end() == 0)
        let gone = try await Command.run(["schema", "show", "--json", "--url", server.address] + Self.container)
        #expect(gone.status == 69)
        #expect(try gone.errorJSON["code"] == "SERVER_NOT_AVAILABLE")
    }

    @Test(arguments: [
        ("ftp://127.0.0.1:8080", "is neither an http nor an https address"),
        ("http://example.com", "'example.com' is not this machine"),
        ("http://192.168.1.7:8080", "Use an https address"),
        ("https://example.com/a", "remove everything after the port"),
        ("127.0.0.1:8080", "not the address of a server"),
        ("http://localhost:8080/database", "remove everything after the port"),
        ("http://127.0.0.1.example.com", "is not this machine"),
        ("http://user@localhost", "remove everything after the port"), ("", "not the address of a server"),
    ])
    func addressesThatAreRefused(address: String, message: String) async throws {
        let result = try await Command.run(["schema", "show", "--url", address] + Self.container)
        #expect(result.status == 64)
        #expect(result.errors.replacing(/\s+/, with: " ").contains(message), "\(result.errors)")
    }

    @Test func aFolderAndAServerAreOneTooMany() async throws {
        #expect(try await run(["schema", "show", "--url", "http://127.0.0.1:1"] + Self.container).status == 64)
    }

    @Test func aKilledServerLeavesNothingThatMisleads() async throws {
        let server = try await Server(["--data", data])
        _ = try await run(["import", try file(), "--type", "T"] + Self.container)
        _ = await server.end(SIGKILL)
        #expect(exists(serverFile))
        let schema = try await run(["schema", "show"] + Self.container)
        #expect(schema.status == 0 && schema.output.contains("RECORD TYPE T") && schema.errors.isEmpty)
        #expect(!exists(serverFile))
    }

    /// The lock is held by a process that is not a server, such as an import.
    @Test(arguments: [nil, "http://127.0.0.1:1", "nonsense", "https://example.com"]) func aFolderInUseWithoutAServer(
        left: String?
    ) async throws {
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let lock = open(data + "/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        defer { close(lock) }
        if let left { try left.write(toFile: serverFile, atomically: true, encoding: .utf8) }
        let plain = try await run(["schema", "show"] + Self.container)
        #expect(plain.status == 75)
        #expect(plain.errors.contains("is open in another Skylight process, which is not a server"))
        #expect(try await run(["schema", "show", "--json"] + Self.container).errorJSON["code"] == "DATA_FOLDER_IN_USE")
    }

    /// After a server was killed, another server may have its address.
    @Test func aServerOfAnotherFolderIsNotTakenForThisOne() async throws {
        let server = try await Server(["--ephemeral"])
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let lock = open(data + "/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        defer { close(lock) }
        for instance in [
            "", "AAAAAAAA-0000-0000-0000-000000000000\n", "AAAAAAAA-0000-0000-0000-000000000000\nsecret\n",
        ] {
            try "\(server.address)\n\(instance)".write(toFile: serverFile, atomically: true, encoding: .utf8)
            let result = try await run(["import", try file(), "--type", "T"] + Self.container)
            #expect(result.status == 75, "\(result.errors)")
            #expect(result.errors.contains("which is not a server"))
        }
        #expect(try await run(["rehearse", "list"]).status == 69)
        #expect(await server.end() == 0)
    }

    @Test func theAddressIsTheOneThatIsListenedOn() async throws {
        let server = try await Server(["--data", data, "--hostname", "localhost"])
        #expect(server.address.hasPrefix("http://localhost:"))
        #expect(
            try String(contentsOfFile: serverFile, encoding: .utf8).contains(
                /^http:\/\/(127\.0\.0\.1|\[::1\]):[0-9]+\n[0-9A-F-]{36}\n[0-9a-f]{64}\n$/))
        let imported = try await run(["import", try file(), "--type", "T"] + Self.container)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(await server.end() == 0)
        #expect(!exists(serverFile))
    }

    /// Servers with a common database share the folder; the file has the entry of the last one that started.
    @Test func aServerThatEndsLeavesTheEntryOfAnother() async throws {
        let server = try await Server(["--data", data])
        let other = "http://127.0.0.1:1\nAAAAAAAA-0000-0000-0000-000000000000\nsecret\n"
        try other.write(toFile: serverFile, atomically: true, encoding: .utf8)
        #expect(await server.end() == 0)
        #expect(try String(contentsOfFile: serverFile, encoding: .utf8) == other)
    }

    @Test(.enabled(if: database != nil, "SKYLIGHT_POSTGRESQL names no server"))
    func aServerThatCannotListenLeavesTheEntryOfAnother() async throws {
        let store = ["SKYLIGHT_STORE": try #require(Self.database)]
        let first = try await Server(["--data", data], environment: store)
        let entry = try String(contentsOfFile: serverFile, encoding: .utf8)
        let port = try #require(first.address.split(separator: ":").last)
        let second = try await Command.run(["serve", "--port", String(port), "--data", data], environment: store)
        #expect(second.status == 69, "\(second.errors)")
        #expect(try String(contentsOfFile: serverFile, encoding: .utf8) == entry)
        #expect(await first.end() == 0)
        #expect(!exists(serverFile))
    }

    @Test func aSecondServerNamesTheFirst() async throws {
        let server = try await Server(["--data", data])
        let second = try await Command.run(["serve", "--port", "0", "--data", data])
        #expect(second.status == 75)
        #expect(second.errors.contains("which serves it at \(server.address)"))
        // The second process took nothing away from the first.
        #expect(exists(serverFile))
        #expect(await server.end() == 0)
    }
}
