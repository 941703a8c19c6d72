import CloudKitClient
import Foundation
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// The examples of docs/remote-records.md, which are compiled and run here.
@Suite struct ExampleTests {
    // example
    func shop(in container: Container) async throws -> [String] {
        let database = container.privateCloudDatabase
        let lists = ZoneID(zoneName: "Lists")
        try await database.save(lists)

        var milk = Record(recordType: "Item", in: lists)
        milk["title"] = "Milk"
        milk["amount"] = 2
        milk = try await database.save(milk)

        do {
            milk["amount"] = 3
            try await database.save(milk)
        } catch {
            guard error.code == .serverRecordChanged, var theirs = error.conflict?.serverRecord else { throw error }
            theirs["amount"] = 3
            try await database.save(theirs)
        }

        var titles: [String] = []
        let changes = FetchRecordZoneChanges([ZonePull(lists)])
        for try await event in database.events(of: changes) {
            if case .changed(_, .success(let record)) = event, let title: String = record["title"] {
                titles.append(title)
            }
        }
        return titles
    }
    // end

    // example
    func follow(_ zoneID: ZoneID, in database: Database, tokens: TokenStore, notes: inout [RecordID: Record])
        async throws
    {
        try await tokens.fetchChanges(of: zoneID, in: database) { page, isFromTheBeginning in
            // Nobody tells what was deleted before.
            if isFromTheBeginning { notes = notes.filter { $0.key.zoneID != zoneID } }
            for modification in page.modifications {
                let record = try modification.result.get()
                notes[record.recordID] = record
            }
            for deletion in page.deletions { notes[deletion.recordID] = nil }
            // Store the notes here. The token is stored next.
        }
    }
    // end

    // example
    final class Notes: SyncEngineDelegate {
        private let notes = Mutex<[RecordID: Record]>([:])
        private let engine = Mutex<SyncEngine?>(nil)

        func start(_ database: Database, from stored: SyncEngine.State.Serialization?) throws -> SyncEngine {
            var configuration = SyncEngine.Configuration(
                database: database, stateSerialization: stored, delegate: self)
            // This object keeps the engine. If the engine kept it too, nobody would free the two.
            configuration.keepsDelegate = false
            let started = try SyncEngine(configuration)
            engine.withLock { $0 = started }
            return started
        }

        func write(_ note: Record, _ engine: SyncEngine) {
            notes.withLock { $0[note.recordID] = note }
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
        }

        func nextRecordZoneChangeBatch(
            _ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine
        ) async -> RecordZoneChangeBatch? {
            let changes = syncEngine.state.nextRecordZoneChanges(in: context.options.scope)
            return await RecordZoneChangeBatch(pendingChanges: changes) { id in notes.withLock { $0[id] } }
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            switch event {
            case .fetchedRecordZoneChanges(let fetched):
                for record in fetched.modifications.map(\.record) { notes.withLock { $0[record.recordID] = record } }
            case .sentRecordZoneChanges(let sent):
                for record in sent.savedRecords { notes.withLock { $0[record.recordID] = record } }
                for failed in sent.failedRecordSaves {
                    // It goes with the next send.
                    if let conflict = failed.error.conflict { write(conflict.merged, syncEngine) }
                }
            default: break  // stateUpdate: store its stateSerialization together with the notes
            }
        }
    }
    // end

    /// Lines of the page, with what they need around them. They are compiled, and not run.
    private func compile(
        container: Container, database: Database, operation: FetchRecords, other: OperationHandle<Void>, app: Notes,
        stored: SyncEngine.State.Serialization?, credential: WebAuthCredential, client: ContainerClient, file: URL,
        lists: ZoneID, record: Record, recordID: RecordID
    ) async throws {
        @Sendable func show(_ value: Any) {}
        do {
            // example
            let client = try ContainerClient(
                container: ContainerID("iCloud.com.example.App")!, environment: .development,
                credentials: .webAuth(apiToken: "…", user: credential))
            let container = Container(client)
            // end
            _ = container
        }
        do {
            // example
            try await database.perform(operation) { event in show(event) }  // waits; is cancelled with the task
            for try await event in database.events(of: operation) { show(event) }  // leaving it ends the operation
            // Begins when `other` has ended, however it ended.
            let handle = database.add(operation, after: [other]) { event in show(event) }
            // end
            _ = handle
        }
        do {
            // example
            let container = try await Container(client, longLivedOperationsIn: file)
            let database = container.privateCloudDatabase
            try await database.addLongLived(operation) { event in
                show(event)
            } onCompletion: { result in
                show(result)
            }
            // end
        }
        do {
            // example
            let engine = try SyncEngine(.init(database: database, stateSerialization: stored, delegate: app))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            try await engine.fetchChanges()
            try await engine.sendChanges()
            // Or both until it is cancelled; sends also if a zone can't be fetched.
            try await engine.run(every: .seconds(60))
            // end
        }
        do {
            // example
            let cache = try await RecordCache(file, of: container.privateCloudDatabase)
            try await cache.save(record)  // in the file, with the note to send it, before this returns
            try await cache.sync()
            for await _ in cache.updates() { show(try await cache.records(ofType: "Item", in: lists)) }
            // end
        }
        do {
            // example
            var objects = MirroredObjects()
            for try await event in database.events(of: FetchRecordZoneChanges([ZonePull(MirroredObject.zoneID)])) {
                if case .changed(_, .success(let record)) = event { objects.add(record) }
                if case .deleted(let recordID, _) = event { objects.remove(recordID) }
            }
            for entry in objects.objects(of: "Entry") {
                let (title, journal) = (entry["title"] as? String, objects.object(entry, "journal")?["name"] as? String)
                print(title ?? "", journal ?? "", objects.objects(entry, "tags").count)
            }
            // end
        }
        do {
            // example
            let store = try await KeyValueStore(container, file: file)  // without a file, the copy is in memory only
            let syncing = Task { try await store.run() }
            try store.set(true, forKey: "hasData")
            for await change in store.changes { print(change.reason, change.changedKeys) }
            // end
            _ = syncing
        }
        do {
            // example
            var configuration = ClientConfiguration(address: "https://box.local:8443")
            configuration.trustedCertificates = try Array(Data(contentsOf: URL(filePath: "box.pem")))
            // end
            _ = configuration
        }
    }

    @Test func theExamplesOfASyncRun() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                let (phone, tablet) = (Notes(), Notes())
                let first = try phone.start(database, from: nil)
                let second = try tablet.start(database, from: nil)
                var note = Record(recordType: "Note", recordID: RecordID(recordName: "note", zoneID: zone))
                note["text"] = "one"
                phone.write(note, first)
                try await first.sendChanges()
                note["more"] = "two"
                tablet.write(note, second)
                #expect(await operationError { try await second.sendChanges() }?.code == .partialFailure)
                try await second.sendChanges()
                let folder = try TemporaryFolder()
                let tokens = try TokenStore(folder.url.appending(path: "tokens"))
                var notes: [RecordID: Record] = [:]
                try await follow(zone, in: database, tokens: tokens, notes: &notes)
                #expect(notes.values.map { $0["more"] as? String } == ["two"])
                try await server.expireTokens()
                try await follow(zone, in: database, tokens: tokens, notes: &notes)
                #expect(notes.count == 1)
            }
        }
    }

    @Test func theExampleRuns() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let titles = try await shop(in: Container(client))
                #expect(titles == ["Milk"])
            }
        }
    }

    /// What a type has for a protocol of Swift's, or of this library, is documented there.
    private static let documentedElsewhere = [
        "func encode(to", "func finished()", "func hash(into", "func makeAsyncIterator()", "func next(isolation",
        "func page(of", "func read(_", "func results(of", "func run(", "init(from decoder", "init(rawValue",
        "init(stringLiteral", "static func <", "static func ==", "typealias Element", "let rawValue",
        "var description", "var errorCode", "var errorDescription", "static var errorDomain", "var errorUserInfo",
        "var fieldContent", "var fieldValue", "var propertyValue", "static var valueType",
        // LongLivedOperation
        "static func errors(of", "static func event(of", "static func json(of", "func remaining(after",
        "init(json", "var json", "static var kind",
    ]

    /// An app's author reads the reference, or these lines.
    @Test(arguments: ["RemoteRecords", "SkylightTesting"]) func publicNamesAreDocumented(module: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/\(module)")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var names = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            var isDocumented = false
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let line = line.drop { $0 == " " }
                if line.hasPrefix("///") {
                    isDocumented = true
                } else if line.prefixMatch(of: /(@\S+ )*public (?!import|extension)/) != nil {
                    names += 1
                    let isKnown = isDocumented || Self.documentedElsewhere.contains { line.contains($0) }
                    #expect(isKnown, "\(file.lastPathComponent): \(line)")
                    isDocumented = false
                } else if !line.hasPrefix("@") {
                    isDocumented = false
                }
            }
        }
        #expect(names > 20)
    }

    @Test(arguments: [
        ("ExampleTests.swift", "remote-records.md", 11), ("FirstAppTests.swift", "first-app.md", 3),
    ])
    func thePageHasTheseExamples(file: String, page: String, count: Int) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let source = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        let page = try String(contentsOf: folder.appending(path: "../../docs/\(page)"), encoding: .utf8)
        var examples = 0
        var example: [Substring]?
        var indentation = 0
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasSuffix(" // example") {
                (example, indentation) = ([], line.prefix { $0 == " " }.count)
            } else if line.hasSuffix(" // end"), let lines = example {
                #expect(page.contains("```swift\n\(lines.joined(separator: "\n"))\n```"))
                examples += 1
                example = nil
            } else {
                example?.append(line.dropFirst(indentation))
            }
        }
        #expect(examples == count)
    }
}
