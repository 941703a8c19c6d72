import Records
import RemoteRecords
import SkylightTesting
import XCTest

// The example of docs/testing-your-sync.md for a server that several methods of a test case share.

// example
final class ShopTests: XCTestCase {
    private var skylight: SkylightServer?

    override func setUp() async throws { skylight = try await SkylightServer.start() }
    override func tearDown() async throws { try await skylight?.stop() }

    func testAUserHasAZone() async throws {
        let skylight = try XCTUnwrap(skylight)
        let database = try await skylight.device(of: skylight.makeUser("Anna")).privateCloudDatabase
        try await database.save(ZoneID(zoneName: "Lists"))
        let zones = try await database.allRecordZones()
        XCTAssert(zones.contains { $0.zoneID.zoneName == "Lists" })
    }
}
// end
