import Foundation
import LoopbackServing
import RecordStore
import Records
import RemoteRecords
import SkylightTesting
import TestSupport
import Testing

/// The programs of `Examples`, each in processes of its own, against a server within the test.
@Suite struct ExamplesTests {
    /// A program of a user's device. Processes of one device share its token.
    private struct Device {
        let environment: [String: String]
        let folder: TemporaryFolder

        init(of user: SkylightServer.User, on skylight: SkylightServer) async throws {
            folder = try TemporaryFolder()
            let token = try folder.write(try await skylight.webAuthToken(of: user), to: "token")
            environment = [
                "CLOUDKIT_ADDRESS": skylight.address, "CLOUDKIT_CONTAINER": skylight.container.description,
                "CLOUDKIT_API_TOKEN": try await skylight.apiToken(),
                "CLOUDKIT_USER_TOKEN_FILE": token.path(percentEncoded: false),
            ]
        }

        func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

        func process(_ program: String, _ arguments: [String], _ changes: [String: String]) -> (Process, Pipe) {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
                path: program)
            process.arguments = arguments
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }.merging(
                changes
            ) { _, new in new }
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            return (process, output)
        }

        /// Runs a program to its end.
        /// - Returns: the lines that it printed.
        func run(_ program: String, _ arguments: String..., changing changes: [String: String] = [:]) async throws
            -> [String]
        {
            let (process, output) = process(program, arguments, changes)
            try process.run()
            let text = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    let data = output.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    continuation.resume(returning: String(decoding: data, as: UTF8.self))
                }
            }
            #expect(process.terminationStatus == 0, "\(program) \(arguments): \(text)")
            return text.split(separator: "\n").map { String($0) }
        }
    }

    @Test func aToDoListIsTheSameOnTwoDevices() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let (phone, tablet) = (try await Device(of: anna, on: skylight), try await Device(of: anna, on: skylight))
            _ = try await phone.run("todo-list", phone.path("list"), "add", "Milk")
            _ = try await tablet.run("todo-list", tablet.path("list"), "add", "Bread")
            // Without a network, the change waits in the file.
            _ = try await phone.run(
                "todo-list", phone.path("list"), "done", "Milk", changing: ["CLOUDKIT_ADDRESS": "http://127.0.0.1:1"])
            let before = try await tablet.run("todo-list", tablet.path("list"), "list")
            #expect(before == ["[ ] Bread", "[ ] Milk"])
            let here = try await phone.run("todo-list", phone.path("list"), "list")
            let there = try await tablet.run("todo-list", tablet.path("list"), "list")
            #expect(here == ["[ ] Bread", "[x] Milk"] && there == here)
        }
    }

    private static let rounds = Chance.times(6)

    /// A process is killed while one of its requests is on its way, or the answer to it. The next one sends the change,
    /// or finds that it was made.
    @Test(arguments: [true, false]) func aChangeOfAKilledProcessIsMadeOnce(arrives: Bool) async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let phone = try await Device(of: anna, on: skylight)
            for round in 1...Self.rounds {
                // The user, the zones, perhaps the records of one, the zone of the list, and the change.
                let request = 1 + round % 5
                try await BreakingProxy.run(
                    to: skylight.port, arrives ? .stopBeforeAnswer(request) : .stopBeforeRequest(request)
                ) { port, proxy in
                    let (process, _) = phone.process(
                        "todo-list", [phone.path("list"), "add", "\(round)"],
                        ["CLOUDKIT_ADDRESS": "http://127.0.0.1:\(port)"])
                    try process.run()
                    try await eventually { proxy.isStopped || !process.isRunning }
                    kill(process.processIdentifier, SIGKILL)
                    try await eventually { !process.isRunning }
                }
            }
            let shown = try await phone.run("todo-list", phone.path("list"), "list")
            #expect(shown == (1...Self.rounds).map { "[ ] \($0)" }.sorted())
            let database = try await skylight.device(of: anna).privateCloudDatabase
            var count = 0
            for try await event in database.events(of: FetchRecordZoneChanges([ZonePull(ZoneID(zoneName: "TodoList"))]))
            {
                guard case .changed(_, let result) = event else { continue }
                let versions = try await skylight.versions(of: result.get().recordID, for: anna)
                #expect(versions == 1)
                count += 1
            }
            #expect(count == Self.rounds)
        }
    }

    /// One process waits, and shows what another one adds.
    @Test func aToDoListIsFollowed() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let (phone, tablet) = (try await Device(of: anna, on: skylight), try await Device(of: anna, on: skylight))
            let file = tablet.folder.url.appending(path: "shown")
            _ = FileManager.default.createFile(atPath: file.path(percentEncoded: false), contents: nil)
            let (following, _) = tablet.process("todo-list", [tablet.path("list"), "follow"], [:])
            following.standardOutput = try FileHandle(forWritingTo: file)
            try following.run()
            defer { following.terminate() }
            let database = try await skylight.device(of: anna).privateCloudDatabase
            try await eventually { try await !database.allSubscriptions().isEmpty }
            _ = try await phone.run("todo-list", phone.path("list"), "add", "Milk")
            try await eventually { try String(contentsOf: file, encoding: .utf8).contains("[ ] Milk") }
        }
    }

    @Test func aBackupGetsWhatChanged() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let device = try await Device(of: anna, on: skylight)
            let database = try await skylight.device(of: anna).privateCloudDatabase
            let zone = ZoneID(zoneName: "Photos")
            try await database.save(zone)
            var photo = Record(recordType: "Photo", recordID: RecordID(recordName: "A/b", zoneID: zone))
            photo["title"] = "Sea"
            photo["file"] = AssetFile(fileURL: try device.folder.write([1, 2, 3], to: "sea"))
            photo = try await database.save(photo)
            try await database.save(Record(recordType: "Photo", recordID: RecordID(recordName: "gone", zoneID: zone)))
            let first = try await device.run("container-backup", device.path("backup"))
            #expect(first == ["Photos: 2 saved, 0 deleted"])
            let zones = device.folder.url.appending(path: "backup")
            // Names are made of lower-case letters, digits and the codes of other bytes.
            let folder = zones.appending(path: "-50hotos/records")
            let file = try Data(contentsOf: folder.appending(path: "-41-2fb/file-0"))
            let copy = try Record(encoded: [UInt8](Data(contentsOf: folder.appending(path: "-41-2fb/record.json"))))
            #expect(file == Data([1, 2, 3]) && copy["title"] == "Sea" && copy.recordID == photo.recordID)
            try await database.deleteRecord(withID: RecordID(recordName: "gone", zoneID: zone))
            photo["title"] = "Lake"
            try await database.save(photo)
            let second = try await device.run("container-backup", device.path("backup"))
            #expect(second == ["Photos: 1 saved, 1 deleted"])
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
            #expect(left == ["-41-2fb"])
            // Once the token has expired, the backup begins anew.
            try await skylight.trigger(.expireTokens, for: anna)
            let third = try await device.run("container-backup", device.path("backup"))
            #expect(third == ["Photos: 1 saved, 0 deleted"])
            // The copy before stays until the next one that begins anew.
            let folders = try FileManager.default.contentsOfDirectory(atPath: zones.path(percentEncoded: false))
                .sorted()
            #expect(folders == ["-50hotos", "-50hotos.old", "tokens.json"])
            // A name may be longer than that of a file.
            let name = String(repeating: "Ä", count: 120)
            try await database.save(Record(recordType: "Photo", recordID: RecordID(recordName: name, zoneID: zone)))
            let fourth = try await device.run("container-backup", device.path("backup"))
            #expect(fourth == ["Photos: 1 saved, 0 deleted"])
        }
    }

    @Test func aShoppingListIsShared() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await Device(of: skylight.makeUser("Anna"), on: skylight)
            let ben = try await Device(of: skylight.makeUser("Ben", emailAddress: "ben@example.com"), on: skylight)
            _ = try await anna.run(
                "shopping-list", anna.path("data"), "add", "Milk", changing: ["CLOUDKIT_ADDRESS": "http://127.0.0.1:1"])
            let journal = try await anna.run("shopping-list", anna.path("data"), "journal")
            #expect(journal.count == 2 && journal.first == "save list")
            let link = try #require(
                try await anna.run("shopping-list", anna.path("data"), "share", "ben@example.com").first)
            let joined = try await ben.run("shopping-list", ben.path("data"), "join", link)
            #expect(joined == ["You share Shopping now."])
            _ = try await ben.run("shopping-list", ben.path("data"), "sadd", "Bread")
            let theirs = try await ben.run("shopping-list", ben.path("data"), "slist")
            let own = try await anna.run("shopping-list", anna.path("data"), "list")
            #expect(own == ["Bread", "Milk"] && theirs == own)
            let empty = try await anna.run("shopping-list", anna.path("data"), "journal")
            #expect(empty.isEmpty)
        }
    }
}
