import CloudKitClient
import Foundation
import JSON
import Records
import RecordStore
import SkylightTesting
import TestSupport
import Testing

@testable import RemoteRecords

/// Devices with random edits, restarts and faults end with the same records. The seed decides everything but the network's timing.
@Suite struct ConvergenceTests {
    /// The number of edits of all devices together.
    private static let edits = Int(ProcessInfo.processInfo.environment["SKYLIGHT_SYNC_EDITS"] ?? "") ?? 300

    @Test(arguments: [(2, 1), (5, 2)] as [(Int, UInt64)]) func allDevicesEndWithTheSame(count: Int, seed: UInt64) async throws {
        try await LiveServer.run { server in
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

    /// A sync that may end early, as on a bad day.
    private static func sync(_ engine: SyncEngine) async throws {
        do {
            try await engine.fetchChanges()
            try await engine.sendChanges()
        } catch let error as OperationError where error.isMendedByTime || error.code == .serverResponseLost {}
    }
}
