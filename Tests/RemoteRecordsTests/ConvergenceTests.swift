import CloudKitClient
import Foundation
import JSON
import Records
import RecordStore
import SkylightTesting
import TestSupport
import Testing

@testable import RemoteRecords

/// Devices with random edits, restarts and faults end with the same records. The seed decides everything but timing.
@Suite struct ConvergenceTests {
    /// The number of edits of all devices together.
    private static let edits = Int(ProcessInfo.processInfo.environment["SKYLIGHT_SYNC_EDITS"] ?? "") ?? 300

    @Test(arguments: [(2, 1, false), (5, 2, false), (2, 5, true)] as [(Int, UInt64, Bool)])
    func allDevicesEndWithTheSame(count: Int, seed: UInt64, overTLS: Bool) async throws {
        try await LiveServer.run(overTLS: overTLS) { server in
            try await server.device { client in
                let container = Container(client)
                try await container.privateCloudDatabase.save(zone)
                var random = SeededRandom(seed: seed)
                var devices = (0..<count).map { _ in Device() }
                var engines = try devices.map { try $0.engine(container) }
                for edit in 0..<Self.edits {
                    let index = Int.random(in: 0..<count, using: &random)
                    let name = Name("r\(Int.random(in: 0..<20, using: &random))")
                    switch Int.random(in: 0..<12, using: &random) {
                    case 0: devices[index].remove(name, engines[index])
                    case 1:
                        // The app is killed, and started with what it had stored.
                        devices[index] = Device(devices[index].disk)
                        engines[index] = try devices[index].engine(container)
                    case 2:
                        let faults: [InjectedFault] = [.droppedAfter, .droppedBefore, .zoneBusy, .tryAgainLater]
                        try server.inject(faults.randomElement(using: &random) ?? .zoneBusy, count: 1)
                    case 3, 4: try await Self.sync(engines[index])
                    default: devices[index].edit(name, "edit \(edit)", engines[index])
                    }
                }
                server.stopFaults()
                try await server.skylight.settle(engines)
                for engine in engines { #expect(engine.state.pendingRecordZoneChanges.isEmpty) }
                let fresh = Device()
                try await fresh.engine(container).fetchChanges()
                for device in devices { #expect(device.texts == fresh.texts) }
                #expect(!fresh.texts.isEmpty)
            }
        }
    }

    /// The same with caches in files. Tokens expire, and the first cache syncs all the time while it is edited.
    @Test(arguments: [(2, 3), (4, 4)] as [(Int, UInt64)]) func allCachesEndWithTheSame(count: Int, seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                func opened(_ name: String) async throws -> RecordCache {
                    try await RecordCache(folder.url.appending(path: "\(name).sqlite"), of: database)
                }
                var random = SeededRandom(seed: seed)
                let first = try await opened("first")
                var others: [RecordCache] = []
                for index in 1..<count { others.append(try await opened("\(index)")) }
                let running = Task { try await first.run(every: .milliseconds(1)) }
                for edit in 0..<Self.edits {
                    let index = Int.random(in: 0..<count, using: &random)
                    let recordID = RecordID(recordName: Name("r\(Int.random(in: 0..<20, using: &random))"), zoneID: zone)
                    let action = Int.random(in: 0..<14, using: &random)
                    if action == 0, index > 0 {
                        // The app ends, and begins anew with its file, which one cache at a time has open.
                        others.remove(at: index - 1)
                        others.insert(try await opened("\(index)"), at: index - 1)
                        continue
                    }
                    let cache = index == 0 ? first : others[index - 1]
                    switch action {
                    case 1, 2: try await cache.delete(recordID)
                    case 3: try await server.expireTokens()
                    case 4:
                        let faults: [InjectedFault] = [.droppedAfter, .droppedBefore, .zoneBusy, .tryAgainLater]
                        try server.inject(faults.randomElement(using: &random) ?? .zoneBusy, count: 1)
                    case 5, 6: try await Self.unhindered { try await cache.sync() }
                    default:
                        var record = try await cache.record(for: recordID) ?? Record(recordType: "Item", recordID: recordID)
                        record[Name("text\(Int.random(in: 0..<3, using: &random))")] = "edit \(edit)"
                        try await cache.save(record)
                    }
                }
                server.stopFaults()
                running.cancel()
                #expect(await operationError { try await running.value }?.code == .operationCancelled)
                let caches = [first] + others
                try await server.skylight.settle(caches.map(\.engine))
                let fresh = try await opened("fresh")
                try await fresh.sync()
                let expected = try await Self.contents(fresh)
                #expect(!expected.isEmpty)
                for cache in caches {
                    let (found, refusals) = (try await Self.contents(cache), try await cache.refusals())
                    #expect(found == expected && refusals.isEmpty && cache.engine.state.pendingRecordZoneChanges.isEmpty)
                }
            }
        }
    }

    /// The texts of each record, and its version.
    private static func contents(_ cache: RecordCache) async throws -> [Name: [String?]] {
        try await cache.records(ofType: "Item", in: zone).reduce(into: [:]) { contents, record in
            contents[record.recordID.recordName] = [record.recordChangeTag] + (0..<3).map { record[Name("text\($0)")] as String? }
        }
    }

    private static func sync(_ engine: SyncEngine) async throws {
        try await unhindered {
            try await engine.fetchChanges()
            try await engine.sendChanges()
        }
    }

    /// Lets work end early, as on a bad day.
    private static func unhindered(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as OperationError where error.isMendedByTime || error.code == .serverResponseLost {}
    }
}
