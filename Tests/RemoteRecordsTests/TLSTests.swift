import CloudKitClient
import Foundation
import Logging
import RecordStore
import Records
import SkylightTesting
import TestSupport
import Testing

@testable import RemoteRecords

/// Devices and a server over TLS, with a certificate that no system trusts. ConvergenceTests have random edits over
/// TLS.
@Suite struct TLSTests {
    @Test func aFileGoesFromDeviceToDevice() async throws {
        let folder = try TemporaryFolder()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let file = try folder.write(bytes, to: "photo")
        try await LiveServer.run(overTLS: true) { server in
            #expect(server.skylight.address.hasPrefix("https://"))
            try await server.device { first in
                try await server.device { second in
                    let phone = try await RecordCache(
                        folder.url.appending(path: "phone.sqlite"), of: Container(first).privateCloudDatabase)
                    let tablet = try await RecordCache(
                        folder.url.appending(path: "tablet.sqlite"), of: Container(second).privateCloudDatabase)
                    let recordID = RecordID(recordName: "photo", zoneID: zone)
                    var photo = Record(recordType: "Photo", recordID: recordID)
                    photo["text"] = "old"
                    photo["file"] = AssetFile(fileURL: file)
                    try await phone.change(.saveZone(zone))
                    try await phone.save(photo)
                    try await server.skylight.settle([phone.engine, tablet.engine])

                    var received = try #require(try await tablet.record(for: recordID))
                    let remote = try #require(received["file"] as AssetFile?)
                    #expect(remote.downloadURL?.hasPrefix("https://") == true)
                    let copy = folder.url.appending(path: "copy")
                    try await tablet.engine.database.download(remote, to: copy)
                    #expect(try Data(contentsOf: copy) == Data(bytes))

                    // The tablet edits the record, and loses the answer.
                    received["text"] = "new"
                    try await tablet.save(received)
                    try server.inject(.droppedAfter, count: 1)
                    try await tablet.engine.sendChanges()
                    try await server.skylight.settle([phone.engine, tablet.engine])
                    let edited = try await phone.record(for: recordID)
                    let versions = try await server.versions(of: recordID)
                    #expect(edited?["text"] == "new" as String? && versions == 2)
                }
            }
        }
    }

    /// A container whose configuration has no certificate. Its pauses would take no time, so that one that tries for
    /// ever would have many.
    private static func withStranger(_ body: (LiveServer, Container, VirtualClock) async throws -> Void) async throws {
        try await LiveServer.run(overTLS: true) { server in
            let clock = VirtualClock()
            let client = try ContainerClient(
                container: server.skylight.container, environment: .development,
                credentials: .apiToken(try await server.skylight.apiToken()),
                configuration: ClientConfiguration(address: server.skylight.address),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                pacing: clock.pacing)
            do {
                try await body(server, Container(client), clock)
            } catch {
                await client.close()
                throw error
            }
            await client.close()
        }
    }

    @Test(.timeLimit(.minutes(10))) func aCertificateThatIsNotTrustedIsAnErrorAtOnce() async throws {
        try await Self.withStranger { _, container, clock in
            let database = container.privateCloudDatabase
            // Of all operations, those with the default quality of service wait longest for the network.
            let added = await operationError { _ = try await database.add(FetchRecordZones()).value }
            let called = await operationError { try await database.save(Record(recordType: "Item", in: zone)) }
            for error in [added, called] {
                #expect(error?.code == .networkFailure && error?.failure?.attempts == 1)
                #expect(
                    error?.reason.contains("certificate is not trusted") == true
                        && error?.reason.contains("trustedCertificates") == true)
            }
            #expect(clock.pauses.isEmpty)
        }
    }

    /// The change is still there for the day on which the certificate is trusted.
    @Test(.timeLimit(.minutes(10))) func anEngineEndsAndKeepsItsChanges() async throws {
        try await Self.withStranger { server, container, _ in
            let device = Device()
            let engine = try device.engine(container)
            device.edit("a", "one", engine)
            let ran = await operationError { try await engine.run(every: .seconds(1), listening: true) }
            let settled = await operationError { try await server.skylight.settle([engine]) }
            let sent = await operationError { try await engine.sendChanges() }
            for error in [ran, settled, sent] {
                #expect(error?.code == .networkFailure && error?.isTemporary == false)
            }
            #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(RecordID(recordName: "a", zoneID: zone))])

            try await server.device { client in
                let trusting = try Device(device.disk).engine(Container(client))
                trusting.state.add(pendingDatabaseChanges: [.saveZone(zone)])
                try await server.skylight.settle([trusting])
                let saved = try await Container(client).privateCloudDatabase.record(
                    for: RecordID(recordName: "a", zoneID: zone))
                #expect(saved["text"] == "one" as String?)
            }
        }
    }
}
