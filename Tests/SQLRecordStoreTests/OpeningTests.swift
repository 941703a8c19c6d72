import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import SQLRecordStore

/// When files are created, opened and closed.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OpeningTests {
    private let folder: TemporaryFolder
    private var data: URL { folder.url.appending(path: "data") }

    init() throws { folder = try TemporaryFolder() }

    private func engine(_ limits: OpenStores.Limits = OpenStores.Limits()) throws -> SQLRecordEngine {
        try SQLRecordEngine(folder: data, logLimits: WriteAheadLogLimits(), openLimits: limits, clock: Timestamp.now)
    }

    private func database(_ engine: SQLRecordEngine, _ number: Int, as caller: Caller = ada) async throws
        -> any RecordDatabase
    {
        let container = try #require(ContainerID("iCloud.com.example.C\(number)"))
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        return try await engine.database(address, as: caller)
    }

    private func zone(_ database: any RecordDatabase) async throws {
        for result in try await database.modifyZones([.create(notes)]) { _ = try result.get() }
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: data.path(percentEncoded: false)).sorted() }
    }

    @Test("Reading makes no container, and its token is good after the first save")
    func reading() async throws {
        let engine = try engine()
        let database = try await database(engine, 1)
        #expect(try await database.zones().map(\.zoneID.isDefault) == [true])
        await #expect(throws: RecordError.recordNotFound) {
            _ = try await database.fetch([RecordID(recordName: "one", zoneID: .default)], desiredKeys: nil)[0].get()
        }
        let token = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
        #expect(try await database.databaseChanges(DatabaseChangesRequest(since: token)).changes.isEmpty)
        #expect(try names == [".lock"])
        #expect(engine.open.count == 0)
        try await zone(database)
        #expect(try names == [".lock", "iCloud.com.example.C1"])
        #expect(
            try await database.databaseChanges(DatabaseChangesRequest(since: token)).changes.map(\.zoneID) == [
                try await database.zones()[1].zoneID
            ])
        // A container that was deleted and created again refuses earlier tokens.
        let later = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
        try await engine.require(.editContainers).deleteContainer(database.address.container)
        let anew = try await self.database(engine, 1)
        try await zone(anew)
        await #expect(throws: TokenCodec.foreign) {
            _ = try await anew.databaseChanges(DatabaseChangesRequest(since: later))
        }
        await engine.close()
    }

    @Test("A user is entered with the first save, under the number that reads had before")
    func users() async throws {
        let engine = try engine()
        try await zone(try await database(engine, 1))
        let grace = Caller(userRecordName: "_grace")
        let database = try await database(engine, 1, as: grace)
        let token = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
        let store = try #require(database as? SQLDatabase).store
        let refused = try await database.outcomes(
            [RecordOperation(.create, recordName: "r", recordType: "Item")], in: ZoneID(zoneName: "Missing"))
        #expect(refused == [.zoneNotFound])
        #expect(
            try await store.read { db, _ in try Int.fetchOne(db, sql: "SELECT count(*) FROM users") } == 1, "ada alone")
        try await zone(database)
        #expect(try await store.read { db, _ in try Int.fetchOne(db, sql: "SELECT count(*) FROM users") } == 2)
        #expect(try await database.databaseChanges(DatabaseChangesRequest(since: token)).changes.count == 1)
        await engine.close()
    }

    @Test("Users whose numbers would be one get different ones")
    func collision() throws {
        let queue = try DatabaseQueue()
        try StoreMigrations.migrator.migrate(queue)
        try queue.write { db in
            let first = try UserNumbers.enter("_a", db.connection)
            try db.execute(sql: "UPDATE users SET name = '_b'")
            let second = try UserNumbers.enter("_a", db.connection)
            #expect(first != second && second > 0)
            #expect(try UserNumbers.enter("_a", db.connection) == second)
            #expect(UserNumbers(["_b": first]).number(of: "_a") == second)
        }
    }

    @Test("The store that was not used for longest is closed, and goes on as if it had not been")
    func leastRecentlyUsed() async throws {
        var limits = OpenStores.Limits()
        limits.unused = 3
        let engine = try engine(limits)
        var tokens: [ChangeToken] = []
        var handles: [any RecordDatabase] = []
        for number in 0..<12 {
            let database = try await database(engine, number)
            try await zone(database)
            try await database.save("one", in: notes)
            tokens.append(try await database.pull(notes).token)
            handles.append(database)
            #expect(engine.open.count <= 3)
        }
        #expect(Self.openFiles(in: data) <= 3 * OpenStores.Limits.handlesPerFile)
        let signals = try handles[0].require(.signalCommits).commits()
        for (number, database) in handles.enumerated() {
            #expect(try await database.pull(notes).token == tokens[number], "the same place is the same token")
            #expect(try await database.pull(notes, since: tokens[number]).changes.isEmpty)
            try await database.save("two", in: notes)
            #expect(try await database.pull(notes, since: tokens[number]).changes.map(\.recordID.recordName) == ["two"])
            let store = try #require(database as? SQLDatabase).store
            #expect(
                try await store.read { db, _ in try Int.fetchOne(db, sql: "SELECT count(*) FROM incarnations") } == 1)
            #expect(engine.open.count <= 3)
        }
        var iterator = signals.makeAsyncIterator()
        #expect(await iterator.next() != nil, "who listens hears the commit of a later opening")
        #expect(engine.settings.threads.count <= 8)
        await engine.close()
        // A new process begins its own epoch with its first save.
        let again = try self.engine()
        let database = try await database(again, 0)
        let store = try #require(database as? SQLDatabase).store
        #expect(try await database.pull(notes, since: tokens[0]).changes.count == 1)
        #expect(try await store.read { db, _ in try Int.fetchOne(db, sql: "SELECT count(*) FROM incarnations") } == 1)
        try await database.save("three", in: notes)
        #expect(try await store.read { db, _ in try Int.fetchOne(db, sql: "SELECT count(*) FROM incarnations") } == 2)
        #expect(try await database.pull(notes, since: tokens[0]).changes.count == 2)
        await again.close()
    }

    /// The number of this process's open files below a folder.
    private static func openFiles(in folder: URL) -> Int {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let path = folder.path(percentEncoded: false)
        return links.count {
            ((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) ?? "").hasPrefix(path)
        }
    }

    @Test("Stores are opened and closed under many requests at once, never too many, and none is lost")
    func manyAtOnce() async throws {
        var limits = OpenStores.Limits()
        (limits.unused, limits.all) = (2, 4)
        let engine = try engine(limits)
        for number in 0..<6 { try await zone(try await database(engine, number)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<12 {
                group.addTask {
                    for round in 0..<15 {
                        try await Self.persistently {
                            let database = try await self.database(engine, (task + round) % 6)
                            try await database.save(Name("r\(task)-\(round)"), in: notes)
                            _ = try await database.pull(notes)
                        }
                        #expect(engine.open.count <= 4)
                    }
                }
            }
            try await group.waitForAll()
        }
        var count = 0
        for number in 0..<6 {
            let database = try await database(engine, number)
            count += try await database.pull(notes).changes.count
            #expect(try await StoreRecount.problems(of: database) == [])
        }
        #expect(count == 12 * 15)
        await engine.close()
    }

    /// Repeats the work as long as it is told to try again later.
    private static func persistently(_ work: () async throws -> Void) async throws {
        while true {
            do {
                return try await work()
            } catch let error as Records.RecordError where error.code == .tryAgainLater {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    @Test("With more containers than may be open at once, as many as the limit are served")
    func moreThanRoom() async throws {
        for number in 0..<6 { try await closedStore(number) }
        var limits = OpenStores.Limits()
        (limits.unused, limits.all) = (2, 2)
        let engine = try engine(limits)
        // Each task holds its store until all have been answered.
        let held: [(SQLStore, OpenStore)] = try await withThrowingTaskGroup(of: (SQLStore, OpenStore)?.self) {
            group in
            for number in 0..<6 {
                group.addTask {
                    do {
                        let place = try #require(try await self.database(engine, number) as? SQLDatabase).store
                        return (place, try await place.enter())
                    } catch let error as Records.RecordError where error.code == .tryAgainLater {
                        return nil
                    }
                }
            }
            return try await group.reduce(into: []) { if let held = $1 { $0.append(held) } }
        }
        #expect(held.count == 2 && engine.open.count == 2)
        for (place, reader) in held { place.release(reader) }
        for number in 0..<6 { #expect(try await database(engine, number).pull(notes).changes.count == 1) }
        await engine.close()
    }

    @Test("Asking for names under which nobody saved anything closes no store")
    func absentNames() async throws {
        var limits = OpenStores.Limits()
        limits.unused = 2
        let engine = try engine(limits)
        var places: [SQLStore] = []
        for number in 0..<2 {
            let database = try await database(engine, number)
            try await zone(database)
            places.append(try #require(database as? SQLDatabase).store)
        }
        let before = places.map { $0.writableStore.map { ObjectIdentifier($0) } }
        for number in 10..<20 { #expect(try await database(engine, number).zones().count == 1) }
        #expect(places.map { $0.writableStore.map { ObjectIdentifier($0) } } == before)
        #expect(!before.contains(nil))
        await engine.close()
    }

    @Test("Names that were only asked for are forgotten, unless somebody still holds one")
    func forgetting() async throws {
        var limits = OpenStores.Limits()
        limits.places = 3
        let engine = try engine(limits)
        let held = try await database(engine, 1)
        for number in 2..<30 { _ = try await database(engine, number) }
        #expect(engine.stores.withLock { $0?.count ?? 0 } < 15)
        let anew = try await database(engine, 1)
        #expect(try #require(held as? SQLDatabase).store === #require(anew as? SQLDatabase).store)
        try await zone(anew)
        try await anew.save("one", in: notes)
        #expect(try await held.pull(notes).changes.count == 1)
        #expect(engine.open.count == 1)
        await engine.close()
    }

    @Test("Stores that were read by many at once keep to their share of the handles")
    func handles() async throws {
        let engine = try engine(OpenStores.Limits(openFiles: 512))
        for number in 0..<20 {
            let database = try await database(engine, number)
            try await zone(database)
            // Opens all readers, which then stay open.
            try await ReadMeter(try #require(database as? SQLDatabase).store).end()
        }
        #expect(
            Self.openFiles(in: data)
                <= max(512 / 2 - OpenStores.Limits.reserve / 2, 2 * OpenStores.Limits.handlesPerFile))
        await engine.close()
    }

    @Test("One more container than there may be open is refused for that request alone")
    func tooMany() async throws {
        var limits = OpenStores.Limits()
        (limits.unused, limits.all) = (1, 1)
        let engine = try engine(limits)
        try await zone(try await database(engine, 1))
        try await zone(try await database(engine, 2))
        let held = try #require(try await database(engine, 1) as? SQLDatabase).store
        let (begun, end) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        async let read = held.readLong(for: .query) { _, _ in
            begun.continuation.finish()
            end.wait()
            return true
        }
        for await _ in begun.stream {}
        let refused = await refusal { _ = try await database(engine, 2) }
        #expect(refused?.code == .tryAgainLater && refused?.reason.contains("ulimit -n") == true)
        #expect(await engine.health().allSatisfy { $0.status == .ok }, "being one too many is no fault of the file")
        end.signal()
        #expect(try await read)
        #expect(try await database(engine, 2).zones().count == 2)
        await engine.close()
    }

    /// A container with a zone and a record, as a closed server leaves it.
    private func closedStore(_ number: Int = 1) async throws {
        let engine = try engine()
        let database = try await database(engine, number)
        try await zone(database)
        try await database.save("one", in: notes)
        await engine.close()
    }

    private func file(_ number: Int = 1) -> URL {
        data.appending(path: "iCloud.com.example.C\(number)/development.sqlite")
    }

    @Test(
        "After a start with a full disk everything can be read, and nothing be saved until there is room",
        .enabled(if: WatchedFolder.isPossible))
    func fullDisk() async throws {
        let disk = WatchedFolder(data.appending(path: "iCloud.com.example.C1"))
        try await closedStore()
        // Older files number their users from 1 on.
        let queue = try DatabaseQueue(path: file().path(percentEncoded: false))
        try await queue.write {
            try $0.execute(sql: "UPDATE users SET number = 1; UPDATE zones SET owner = 1 WHERE owner <> 0")
        }
        try queue.close()
        let healthy = try engine()
        var token = try await database(healthy, 1).pull(notes).token
        await healthy.close()
        for calls in [WatchedFolder.Calls.writes, [.writes, .truncates]] {
            disk.fail(calls, failing: nil, error: ENOSPC)
            let engine = try engine()
            let again = try await self.database(engine, 1)
            #expect(try await again.pull(notes).changes.map(\.recordID.recordName) == ["one"])
            #expect(try await again.pull(notes, since: token).changes.isEmpty)
            let stranger = try await self.database(engine, 1, as: Caller(userRecordName: "_stranger"))
            #expect(try await stranger.zones().count == 1, "who was never here can read too")
            let refused = await refusal { try await again.save("two", in: notes) }
            #expect(refused?.code == .quotaExceeded, "\(String(describing: refused))")
            #expect(try await again.pull(notes).changes.count == 1)
            disk.heal()
            try await again.save("two", in: notes)
            #expect(try await again.pull(notes, since: token).changes.map(\.recordID.recordName) == ["two"])
            try await again.delete("two", in: notes)
            token = try await again.pull(notes).token
            await engine.close()
        }
    }

    @Test(
        "Saves that a full disk refuses keep no read waiting, and open nothing anew",
        .enabled(if: WatchedFolder.isPossible))
    func refusedSaves() async throws {
        try await closedStore()
        let disk = WatchedFolder(data.appending(path: "iCloud.com.example.C1"))
        disk.fail(.writes, failing: nil, error: ENOSPC)
        let engine = try engine()
        let database = try await database(engine, 1)
        let place = try #require(database as? SQLDatabase).store
        // A long read is in progress.
        let held = try await place.enter()
        let codes = await withTaskGroup(of: ServerErrorCode?.self) { group in
            for number in 0..<50 {
                group.addTask { await refusal { try await database.save(Name("r\(number)"), in: notes) }?.code }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.allSatisfy { $0 == .quotaExceeded })
        #expect(try await database.pull(notes).changes.count == 1)
        place.release(held)
        let later = try await place.enter()
        #expect(later === held, "it was opened anew")
        place.release(later)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: file().deletingLastPathComponent().path(percentEncoded: false))
        #expect(names.filter { $0.hasPrefix(".") } == [], "nothing stays of the looks at the folder")
        disk.heal()
        try await database.save("two", in: notes)
        #expect(try await database.pull(notes).changes.count == 2)
        await engine.close()
    }

    @Test("Long reads waiting on a full disk do not block other containers", .enabled(if: WatchedFolder.isPossible))
    func longReadOnFullDisk() async throws {
        for number in 1...2 { try await closedStore(number) }
        let disk = WatchedFolder(data.appending(path: "iCloud.com.example.C1"))
        disk.fail(.writes, failing: nil, error: ENOSPC)
        let engine = try engine()
        let (database, other) = (try await database(engine, 1), try await self.database(engine, 2))
        let place = try #require(database as? SQLDatabase).store
        let (begun, end, isOver) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0), Shared(false))
        async let long = place.readLong(for: .query) { _, _ in
            begun.continuation.finish()
            end.wait()
            isOver.withLock { $0 = true }
            return true
        }
        for await _ in begun.stream {}
        // Ends the test if the waiting tasks block all threads.
        DispatchQueue.global().asyncAfter(deadline: .now() + 120) { end.signal() }
        let (count, asked) = (2 * ProcessInfo.processInfo.activeProcessorCount, Shared(0))
        let waiting = (0..<count).map { _ in
            Task {
                asked.withLock { $0 += 1 }
                return try await database.pull(notes).changes.count
            }
        }
        try await eventually { asked.withLock { $0 } == count }
        #expect(try await other.pull(notes).changes.count == 1)
        #expect(!isOver.withLock { $0 })
        end.signal()
        #expect(try await long)
        for task in waiting { #expect(try await task.value == 1) }
        await engine.close()
    }

    @Test("A log that a killed server left is read on a full disk too", .enabled(if: WatchedFolder.isPossible))
    func fullDiskWithLog() async throws {
        let first = try engine()
        let database = try await database(first, 1)
        try await zone(database)
        try await database.save("one", in: notes)
        // As a killed process leaves it: the log was not checkpointed into the file.
        let copy = folder.url.appending(path: "killed/iCloud.com.example.C1")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        for end in ["", "-wal"] {
            let name = "development.sqlite\(end)"
            try FileManager.default.copyItem(
                at: data.appending(path: "iCloud.com.example.C1/\(name)"), to: copy.appending(path: name))
        }
        await first.close()
        let disk = WatchedFolder(copy)
        disk.fail(.writes, failing: nil, error: ENOSPC)
        let killed = try SQLRecordEngine(folder: folder.url.appending(path: "killed"))
        let again = try await self.database(killed, 1)
        #expect(try await again.pull(notes).changes.map(\.recordID.recordName) == ["one"])
        disk.heal()
        try await again.save("two", in: notes)
        #expect(try await again.pull(notes).changes.count == 2)
        await killed.close()
    }

    @Test(
        "Damage stays known when the store is closed, and a save that meets it tells health too",
        arguments: [true, false])
    func damageIsKnown(isMetBySave: Bool) async throws {
        let engine = try engine()
        let database = try await database(engine, 1)
        try await zone(database)
        let place = try #require(database as? SQLDatabase).store
        try await place.write { db, _ in try db.run("UPDATE zones SET moment = 'text'") }
        let refused = await refusal {
            if isMetBySave { try await database.save("one", in: notes) } else { _ = try await database.zones() }
        }
        #expect(
            refused?.code == .internalError && refused?.reason.contains("'zones'") == true
                && refused?.reason.contains("Restore a backup") == true)
        let open = await engine.health().first
        #expect(open?.status == .unreadable)
        try await eventually { await place.closeUnlessUsed() }
        #expect(await engine.health().first == open)
        await engine.close()
    }

    @Test("Another program's database is refused, and stays as it is to the byte")
    func foreignFile() async throws {
        let folder = file().deletingLastPathComponent()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let queue = try DatabaseQueue(path: file().path(percentEncoded: false))
        try await queue.write { try $0.execute(sql: "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')") }
        try queue.close()
        let before = try Data(contentsOf: file())
        let engine = try engine()
        let refused = await refusal { _ = try await database(engine, 1) }
        #expect(refused?.reason.contains("belongs to another program") == true)
        await engine.close()
        #expect(try Data(contentsOf: file()) == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)) == [
                "development.sqlite"
            ])
    }

    @Test("The log is told the same once")
    func recentMessages() {
        let (messages, now) = (RecentMessages(), ContinuousClock.now)
        #expect(messages.isNew("one", at: now))
        #expect(!messages.isNew("one", at: now + .seconds(60)))
        #expect(messages.isNew("two", at: now + .seconds(60)))
        #expect(!messages.isNew("one", at: now + .seconds(120)), "another message in between makes it no news")
        #expect(messages.isNew("one", at: now + .seconds(7200)))
        for number in 0..<1000 { _ = messages.isNew("\(number)", at: now + .seconds(7200)) }
        #expect(!messages.isNew("another", at: now + .seconds(7200)), "not even messages that all differ fill the log")
        #expect(messages.isNew("another", at: now + .seconds(14_400)))
    }

    @Test("Nobody gets in by removing the lock's file")
    func lock() async throws {
        let engine = try engine()
        try FileManager.default.removeItem(at: data.appending(path: ".lock"))
        #expect(throws: DataFolderInUse.self) { _ = try SQLRecordEngine(folder: data) }
        await engine.close()
        await (try SQLRecordEngine(folder: data)).close()
    }

    @Test("The data folder itself may be a link")
    func linkedFolder() async throws {
        let real = folder.url.appending(path: "real")
        try FileManager.default.createDirectory(at: real, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: data, withDestinationURL: real)
        let engine = try engine()
        try await zone(try await database(engine, 1))
        #expect(throws: DataFolderInUse.self) { _ = try SQLRecordEngine(folder: real) }
        await engine.close()
    }
}
