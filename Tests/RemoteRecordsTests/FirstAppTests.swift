import Foundation
import RemoteRecords
import SkylightTesting
import Testing

/// The app of docs/first-app.md, which is compiled and run here.
@Suite struct FirstAppTests {
    // example
    struct Notebook: Sendable {
        private let zoneID = ZoneID(zoneName: "Notes")
        private let cache: RecordCache

        init(_ file: URL, in container: Container) async throws {
            cache = try await RecordCache(file, of: container.privateCloudDatabase)
            try await cache.change(.saveZone(zoneID))
        }

        func add(_ text: String) async throws {
            var note = Record(recordType: "Note", in: zoneID)
            note["text"] = text
            try await cache.save(note)
        }

        func texts() async throws -> [String] {
            try await cache.records(ofType: "Note", in: zoneID).compactMap { $0["text"] }.sorted()
        }

        func sync() async throws { try await cache.sync() }
    }
    // end

    // example
    func connect(to address: String) throws -> Container {
        guard let containerID = ContainerID("iCloud.com.example.Notes") else { throw URLError(.badURL) }
        // A Skylight on this machine takes any API token, and needs no user who signs in.
        let client = try ContainerClient(
            container: containerID, environment: .development,
            credentials: .apiToken(String(repeating: "0", count: 64)),
            configuration: ClientConfiguration(address: address))
        return Container(client)
    }

    func run(_ arguments: [String], in container: Container) async throws {
        let notebook = try await Notebook(URL(filePath: arguments[0]), in: container)
        for text in arguments.dropFirst() { try await notebook.add(text) }
        do {
            try await notebook.sync()
        } catch {
            // The notes are in the file, and are sent with the next sync.
            print("Not synced: \(error)")
        }
        print(try await notebook.texts().joined(separator: "\n"))
        await container.client.close()
    }
    // end

    // example
    @Test func twoDevicesHaveTheSameNotes() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let phone = try await Notebook(folder.appending(path: "phone"), in: skylight.device(of: anna))
            let tablet = try await Notebook(folder.appending(path: "tablet"), in: skylight.device(of: anna))
            try await phone.add("Milk")
            try await tablet.add("Bread")
            for notebook in [phone, tablet, phone] { try await notebook.sync() }
            let (mine, theirs) = (try await phone.texts(), try await tablet.texts())
            #expect(mine == ["Bread", "Milk"] && theirs == mine)
        }
    }
    // end

    @Test func theAppRuns() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try await SkylightServer.run { skylight in
            // This server wants a user, as iCloud does: the note stays in the file.
            try await run([file.path(), "Milk"], in: connect(to: skylight.address))
            let anna = try await skylight.makeUser("Anna")
            let notebook = try await Notebook(file, in: skylight.device(of: anna))
            try await notebook.sync()
            let texts = try await notebook.texts()
            #expect(texts == ["Milk"])
        }
    }
}
