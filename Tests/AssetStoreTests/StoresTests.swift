import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import AssetStore

@Suite struct StoresTests {
    @Test(arguments: AssetFixture.Engine.allCases)
    func toAskForAStoreThatIsNotThereMakesNone(engine: AssetFixture.Engine) async throws {
        let fixture = try await AssetFixture(engine)
        let (here, stranger) = (try address(.private).container, try #require(ContainerID("iCloud.com.example.Stranger")))
        #expect(try await fixture.stores.existingStore(here, .development) === fixture.store)
        #expect(try await fixture.stores.existingStore(here, .production) == nil)
        #expect(try await fixture.stores.existingStore(stranger, .development) == nil)
        let listing = try #require(fixture.engine as? any EnvironmentListing)
        #expect(try await listing.environments(of: here) == [.development])
        #expect(try await fixture.engine.containers() == [here])
        _ = try await fixture.engine.database(address(.private, .production), as: ada)
        #expect(try await fixture.stores.existingStore(here, .production) != nil)
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
