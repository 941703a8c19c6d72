import Foundation
import RecordStore
import Records
import RemoteRecords
import SkylightTesting
import Testing

/// The examples of docs/testing-your-sync.md. The first one is compiled and run here.
@Suite struct TestingExampleTests {
    // example
    @Test func twoDevicesAgree() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await SkylightServer.run { skylight in
            let anna = try await skylight.makeUser("Anna")
            var devices: [RecordCache] = []
            for name in ["phone", "tablet"] {
                let container = try await skylight.device(of: anna)
                devices.append(try await RecordCache(folder.appending(path: name), of: container.privateCloudDatabase))
            }
            let lists = ZoneID(zoneName: "Lists")
            var milk = Record(recordType: "Item", recordID: RecordID(recordName: "milk", zoneID: lists))
            milk["amount"] = 1
            try await devices[0].change(.saveZone(lists))
            try await devices[0].save(milk)
            try await skylight.settle(devices.map(\.engine))

            // Both change it without a network, and the network is bad afterwards.
            for (number, device) in devices.enumerated() {
                var milk = try #require(try await device.record(for: milk.recordID))
                milk["amount\(number)"] = 10 + number
                try await device.save(milk)
            }
            try skylight.inject(.droppedAfter, count: 2)
            try await skylight.settle(devices.map(\.engine))
            for device in devices {
                let milk = try await device.record(for: milk.recordID)
                #expect(milk?["amount0"] == 10 && milk?["amount1"] == 11)
            }
        }
    }
    // end

    @Test(arguments: ["TestingExampleTests.swift", "XCTestExampleTests.swift", "SetUpExampleTests.swift"])
    func thePageHasTheExamples(file: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let source = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasSuffix("// example") })
        let indentation = String(lines[start].prefix { $0 == " " })
        let end = try #require(lines.firstIndex { $0 == "\(indentation)// end" })
        let example = lines[(start + 1)..<end].map {
            $0.hasPrefix(indentation) ? String($0.dropFirst(indentation.count)) : String($0)
        }
        let page = folder.appending(path: "../../docs/testing-your-sync.md")
        #expect(
            try String(contentsOf: page, encoding: .utf8).contains("```swift\n\(example.joined(separator: "\n"))\n```"))
    }
}
