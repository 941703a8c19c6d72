import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import AssetStore

@Suite struct StoresTests {
    @Test
    func toAskForAStoreThatIsNotThereMakesNone() async throws {
        let fixture = try await AssetFixture()
        _ = try await fixture.engine.withZone()
        let (here, stranger) = (
            try address(.private).container, try #require(ContainerID("iCloud.com.example.Stranger"))
        )
        #expect(try await fixture.stores.existingStore(here, .development) === fixture.store)
        #expect(try await fixture.stores.existingStore(here, .production) == nil)
        #expect(try await fixture.stores.existingStore(stranger, .development) == nil)
        #expect(try await fixture.engine.require(.listEnvironments).environments(of: here) == [.development])
        #expect(try await fixture.engine.require(.listContainers).containers() == [here])
        for result in try await fixture.engine.database(address(.private, .production), as: ada).modifyZones([
            .create(notes)
        ]) { _ = try result.get() }
        #expect(try await fixture.stores.existingStore(here, .production) != nil)
        await fixture.close()
    }

    @Test func nothingIsUnderWayWhileAContainerIsMoved() async throws {
        let fixture = try await AssetFixture()
        let container = try address(.private).container
        let (body, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
        let ticket = try await fixture.ticket()
        let store = fixture.store
        let upload = Task {
            await refusal { _ = try await store.receive(body, ticket: ticket, fileName: nil, declaredSize: nil) }
        }
        // Half of the upload has arrived, and the rest may never come.
        sender.yield(ByteBuffer(repeating: 7, count: 1 << 20))
        try await eventually { try await !fixture.files().isEmpty }
        struct NotMoved: Error {}
        await #expect(throws: NotMoved.self) {
            try await fixture.stores.withClosed([container]) {
                #expect(await upload.value?.code == .tryAgainLater)
                #expect(try await fixture.files().isEmpty)
                let asking = await refusal { _ = try await fixture.stores.store(container, .development) }
                #expect(asking == .containerBusy(container))
                let again = await refusal { try await fixture.stores.withClosed([container]) {} }
                #expect(again == .containerBusy(container))
                throw NotMoved()
            }
        }
        // In either case a new store is opened, and the old one accepts nothing.
        let late = await refusal { _ = try await fixture.upload([1, 2, 3]) }
        #expect(late?.code == .tryAgainLater)
        let anew = try await fixture.stores.store(container, .development)
        #expect(anew !== store)
        _ = try await anew.receive(
            AssetFixture.body([1, 2, 3]), ticket: fixture.ticket(), fileName: nil, declaredSize: 3)
        #expect(try await fixture.files() == [AssetFolder.name(of: [1, 2, 3].checksum)])
        await fixture.close()
    }

    @Test func ticketsCanSayEverySizeThatIsAllowed() async throws {
        let fixture = try await AssetFixture(sizeLimit: .max)
        let limit = fixture.stores.sizeLimit
        #expect(limit == 1 << 47 && fixture.store.sizeLimit == limit)
        let tickets = fixture.store.ledger.tickets
        let ticket = DownloadTicket(checksum: [UInt8].random(1).checksum, size: limit, expires: fixture.clock.now())
        #expect(tickets.openDownload(tickets.seal(ticket, name: "n"), name: "n") == ticket)
        await fixture.close()
    }
}
