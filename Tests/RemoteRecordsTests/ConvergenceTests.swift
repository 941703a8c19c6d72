import CloudKitClient
import Foundation
import RecordStore
import Records
import SkylightTesting
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Devices with random edits, stretches without a network, faults, other users, and ends in the middle of a sync have
/// the same records in the end, and lose no change that they have acknowledged. The seed decides everything but timing.
@Suite struct ConvergenceTests {
    /// The number of steps of all devices together.
    private static let steps = Chance.times(300)
    /// All devices come to rest after so many steps, because a change that is lost shows only until its device changes
    /// the record again.
    private static let stepsToRest = 500
    private static let faults: [InjectedFault] = [.droppedAfter, .droppedBefore, .zoneBusy, .tryAgainLater]

    /// A device and its engine, which begin anew together.
    private struct Program {
        let device: Device
        let app: MortalApp
        let engine: SyncEngine

        init(_ disk: Device.Stored = Device.Stored(), ownKey: Name, _ container: Container) throws {
            device = Device(disk, ownKey: ownKey)
            app = MortalApp(device)
            engine = try device.engine(container, telling: app)
        }
    }

    @Test(arguments: [(2, 1, false), (5, 2, false), (2, 5, true)] as [(Int, UInt64, Bool)])
    func allDevicesEndWithTheSame(count: Int, seed: UInt64, overTLS: Bool) async throws {
        try await LiveServer.run(overTLS: overTLS) { server in
            try await server.device { client in
                let container = Container(client)
                try await container.privateCloudDatabase.save(zone)
                var random = SeededRandom(seed: seed)
                var ledger = Ledger()
                var programs = try (0..<count).map { try Program(ownKey: Self.ownKey($0), container) }
                // The step from which each device has a network again.
                var online = [Int](repeating: 0, count: count)
                for step in 1...Self.steps {
                    let index = Int.random(in: 0..<count, using: &random)
                    let name = Self.names[Int.random(in: Self.names.indices, using: &random)]
                    let program = programs[index]
                    switch Int.random(in: 0..<14, using: &random) {
                    case 0:
                        let name = Self.mortalNames[Int.random(in: Self.mortalNames.indices, using: &random)]
                        program.device.remove(name, program.engine)
                        ledger.noteDeletion(of: name, by: index)
                    case 1:
                        // The app is killed, and started with what it had stored.
                        programs[index] = try Program(program.device.disk, ownKey: Self.ownKey(index), container)
                    case 2: try server.inject(Self.faults.randomElement(using: &random) ?? .zoneBusy, count: 1)
                    case 3, 4:
                        if online[index] <= step, try await Self.sync(program.engine) {
                            ledger.noteFetch(by: index, begunAt: step)
                        }
                    case 5: online[index] = step + Int.random(in: 10..<60, using: &random)
                    case 6:
                        program.app.kill(
                            afterEvents: Int.random(in: 0..<16, using: &random), sendsMore: Bool.random(using: &random))
                        if online[index] <= step {
                            try await Self.interrupted { _ = try await Self.sync(program.engine) }
                        }
                        programs[index] = try Program(program.device.disk, ownKey: Self.ownKey(index), container)
                    default:
                        program.device.edit(name, "step \(step)", program.engine, number: step)
                        ledger.note(step, in: name, Self.ownKey(index), knowing: ledger.knowledge(of: index))
                    }
                    ledger.noteWaitingDeletions(Self.waitingDeletions(programs[index].engine), of: index, at: step)
                    guard Self.isRest(step) else { continue }
                    server.stopFaults()
                    try await server.skylight.settle(programs.map(\.engine))
                    ledger.noteRest()
                    let fresh = Device()
                    try await fresh.engine(container).fetchChanges()
                    let expected = Self.numbers(fresh.disk.records.values, count)
                    #expect(!fresh.texts.isEmpty)
                    #expect(ledger.lost(from: expected) == [])
                    for program in programs {
                        #expect(
                            program.device.texts == fresh.texts
                                && Self.numbers(program.device.disk.records.values, count) == expected)
                        #expect(program.engine.state.pendingRecordZoneChanges.isEmpty)
                    }
                }
            }
        }
    }

    /// The same with caches in files. Tokens expire, records are changed by older copies of them, other devices are used
    /// by Ben now and then, with the same file, and the first cache syncs all the time while it is edited.
    @Test(arguments: [(2, 3), (4, 4)] as [(Int, UInt64)]) func allCachesEndWithTheSame(count: Int, seed: UInt64)
        async throws
    {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            try await Self.twoDatabases(server) { databases in
                let users = server.users.map { RecordID(recordName: $0) }
                // The engine asks who is there, or the app says so.
                func opened(_ name: String, by user: Int = 0, isKnown: Bool = true) async throws -> RecordCache {
                    try await RecordCache(
                        folder.url.appending(path: "\(name).sqlite"), of: databases[user],
                        user: isKnown ? users[user] : nil, resolver: RecordCache.mergingKeys
                    ) { MortalApp($0) }
                }
                // The latest number that Ben wrote on each device.
                var bens = [Int?](repeating: nil, count: count)
                var random = SeededRandom(seed: seed)
                var ledger = Ledger()
                let first = try await opened("first")
                var others: [RecordCache] = []
                for index in 1..<count { others.append(try await opened("\(index)")) }
                // Copies of records that each program keeps.
                var copies = [[Name: Record]](repeating: [:], count: count)
                var online = [Int](repeating: 0, count: count)
                var running = Task { try await first.run(every: .milliseconds(1)) }
                for step in 1...Self.steps {
                    let index = Int.random(in: 0..<count, using: &random)
                    let name = Self.names[Int.random(in: Self.names.indices, using: &random)]
                    switch Int.random(in: 0..<16, using: &random) {
                    case 0 where index > 0, 8 where index > 0:
                        // The app ends, perhaps in the middle of a sync, and begins anew with its file, which one cache
                        // at a time has open.
                        let (events, sendsMore) = (Int.random(in: 0..<16, using: &random), Bool.random(using: &random))
                        if online[index] <= step {
                            try await Self.endSync(of: others[index - 1], afterEvents: events, sendsMore: sendsMore)
                        }
                        others.remove(at: index - 1)
                        others.insert(try await opened("\(index)"), at: index - 1)
                        copies[index] = [:]
                    case 9 where index > 0:
                        // Ben uses the device, perhaps without a network, or ends the app in the middle of a sync.
                        let events = Bool.random(using: &random) ? Int.random(in: 0..<12, using: &random) : nil
                        let isKnown = events == nil || Bool.random(using: &random)
                        others.remove(at: index - 1)
                        do {
                            let cache = try await opened("\(index)", by: 1, isKnown: isKnown)
                            if isKnown {
                                try await Self.write(step, Self.benName(index), in: cache)
                                bens[index] = step
                            }
                            if let events {
                                try await Self.endSync(of: cache, afterEvents: events, sendsMore: true)
                            } else if online[index] <= step {
                                _ = try await Self.unhindered { try await cache.sync() }
                            }
                        }
                        others.insert(try await opened("\(index)"), at: index - 1)
                        copies[index] = [:]
                    case 1, 2:
                        let name = Self.mortalNames[Int.random(in: Self.mortalNames.indices, using: &random)]
                        try await (index == 0 ? first : others[index - 1]).delete(
                            RecordID(recordName: name, zoneID: zone))
                        ledger.noteDeletion(of: name, by: index)
                    case 3: try await server.expireTokens()
                    case 4: try server.inject(Self.faults.randomElement(using: &random) ?? .zoneBusy, count: 1)
                    case 5, 6:
                        let cache = index == 0 ? first : others[index - 1]
                        if online[index] <= step, try await Self.unhindered({ try await cache.sync() }) {
                            ledger.noteFetch(by: index, begunAt: step)
                        }
                    case 7 where index > 0: online[index] = step + Int.random(in: 10..<60, using: &random)
                    default:
                        let cache = index == 0 ? first : others[index - 1]
                        let isOld = Int.random(in: 0..<4, using: &random) == 0
                        let recordID = RecordID(recordName: name, zoneID: zone)
                        var record: Record
                        if isOld, let copy = copies[index][name] {
                            record = copy
                        } else {
                            record =
                                try await cache.record(for: recordID) ?? Record(recordType: "Item", recordID: recordID)
                            // A copy of a record that was deleted since is given up with its changes.
                            if !Self.mortalNames.contains(name) { copies[index][name] = record }
                        }
                        record[Name("text\(Int.random(in: 0..<3, using: &random))")] = "step \(step)"
                        record[Self.ownKey(index)] = step
                        try await cache.save(record)
                        ledger.note(step, in: name, Self.ownKey(index), knowing: ledger.knowledge(of: index))
                    }
                    // What the first one sends is not known at any moment.
                    if index > 0 {
                        ledger.noteWaitingDeletions(
                            Self.waitingDeletions(others[index - 1].engine), of: index, at: step)
                    }
                    guard Self.isRest(step) else { continue }
                    server.stopFaults()
                    let ended = running
                    ended.cancel()
                    #expect(await operationError { try await ended.value }?.code == .operationCancelled)
                    var caches = [first] + others
                    try await server.skylight.settle(caches.map(\.engine))
                    ledger.noteRest()
                    let fresh = try await opened("fresh\(step)")
                    try await fresh.sync()
                    let expected = try await Self.contents(fresh, count)
                    let found = Self.numbers(try await fresh.records(ofType: "Item", in: zone), count)
                    #expect(!expected.isEmpty)
                    #expect(ledger.lost(from: found) == [])
                    for cache in caches {
                        let (contents, refusals) = (try await Self.contents(cache, count), try await cache.refusals())
                        #expect(
                            contents == expected && refusals.isEmpty
                                && cache.engine.state.pendingRecordZoneChanges.isEmpty)
                    }
                    // Ben's changes are with him, although Anna had the devices since. One cache at a time has a file.
                    caches = []
                    for index in 1..<count {
                        others.remove(at: index - 1)
                        do {
                            let cache = try await opened("\(index)", by: 1)
                            try await server.skylight.settle([cache.engine])
                            #expect(try await Self.number(Self.benName(index), in: cache) == bens[index])
                        }
                        others.insert(try await opened("\(index)"), at: index - 1)
                    }
                    try await server.skylight.settle(others.map(\.engine))
                    if step < Self.steps { running = Task { try await first.run(every: .milliseconds(1)) } }
                }
            }
        }
    }

    /// The private databases of Anna and Ben, each with the zone.
    private static func twoDatabases(_ server: LiveServer, _ body: ([Database]) async throws -> Void) async throws {
        try await server.device(of: 0) { anna in
            try await server.device(of: 1) { ben in
                let databases = [Container(anna).privateCloudDatabase, Container(ben).privateCloudDatabase]
                for database in databases { try await database.save(zone) }
                try await body(databases)
            }
        }
    }

    /// The record that Ben changes on a device.
    private static func benName(_ index: Int) -> Name { Name("ben\(index)") }

    private static func write(_ number: Int, _ name: Name, in cache: RecordCache) async throws {
        let recordID = RecordID(recordName: name, zoneID: zone)
        var record = try await cache.record(for: recordID) ?? Record(recordType: "Item", recordID: recordID)
        record["number"] = number
        try await cache.save(record)
    }

    private static func number(_ name: Name, in cache: RecordCache) async throws -> Int? {
        try await cache.record(for: RecordID(recordName: name, zoneID: zone))?["number"]
    }

    private static func isRest(_ step: Int) -> Bool { step == steps || step.isMultiple(of: stepsToRest) }

    /// The key that only one device writes.
    private static func ownKey(_ index: Int) -> Name { Name("own\(index)") }

    private static let names = (0..<20).map { Name("r\($0)") }
    /// The records that are deleted now and then. All changes of the others have to stay.
    private static let mortalNames = names.suffix(10)

    /// The records whose deletion an engine has not sent for certain.
    private static func waitingDeletions(_ engine: SyncEngine) -> Set<Name> {
        Set(
            engine.kept.withLock { $0.pending.toKeep }.compactMap {
                if case .deleteRecord(let recordID) = $0.change { recordID.recordName } else { nil }
            })
    }

    /// The numbers of all devices in each record.
    private static func numbers(_ records: some Sequence<Record>, _ count: Int) -> [Name: [Name: Int]] {
        records.reduce(into: [:]) { numbers, record in
            for key in (0..<count).map(ownKey) {
                numbers[record.recordID.recordName, default: [:]][key] = record[key] as Int?
            }
        }
    }

    /// The version of each record, its texts and its numbers.
    private static func contents(_ cache: RecordCache, _ count: Int) async throws -> [Name: [String?]] {
        try await cache.records(ofType: "Item", in: zone).reduce(into: [:]) { contents, record in
            let texts = (0..<3).map { record[Name("text\($0)")] as String? }
            let numbers = (0..<count).map { (record[ownKey($0)] as Int?).map { "\($0)" } }
            contents[record.recordID.recordName] = [record.recordChangeTag] + texts + numbers
        }
    }

    /// - Returns: true if everything was fetched.
    private static func sync(_ engine: SyncEngine) async throws -> Bool {
        guard try await unhindered({ try await engine.fetchChanges() }) else { return false }
        _ = try await unhindered { try await engine.sendChanges() }
        return true
    }

    /// Lets work end early, as on a bad day. Conflicts are settled later.
    /// - Returns: true if it came to its end.
    private static func unhindered(_ work: () async throws -> Void) async throws -> Bool {
        do {
            try await work()
            return true
        } catch let error as OperationError
            where error.isTemporary || error.code == .serverResponseLost || error.code == .partialFailure
        {
            return false
        }
    }

    /// Runs work that its own app ends by a cancellation.
    private static func interrupted(_ work: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await Task { try await work() }.value
        } catch let error as OperationError where error.code == .operationCancelled {}
    }

    private static func endSync(of cache: RecordCache, afterEvents events: Int, sendsMore: Bool) async throws {
        try #require(cache.engine.delegate as? MortalApp).kill(afterEvents: events, sendsMore: sendsMore)
        try await interrupted { _ = try await unhindered { try await cache.sync() } }
    }
}
