import RemoteRecords
import Records
import SkylightTesting
import XCTest

// The example of docs/testing-your-sync.md for XCTest, which `swift test` runs with all others.

// example
final class ListTests: XCTestCase {
    func testAnotherDeviceHasTheRecord() async throws {
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            let phone = try await skylight.device(of: anna).privateCloudDatabase
            let tablet = try await skylight.device(of: anna).privateCloudDatabase
            let lists = ZoneID(zoneName: "Lists")
            try await phone.save(lists)
            var milk = Record(recordType: "Item", recordID: RecordID(recordName: "milk", zoneID: lists))
            milk["amount"] = 2
            try await phone.save(milk)

            let fetched = try await tablet.record(for: milk.recordID)
            XCTAssertEqual(fetched["amount"], 2)
        }
    }
}
// end
