import CloudKitClient
import Foundation
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// The example of docs/remote-records.md, which is compiled and run here.
@Suite struct ExampleTests {
    // example
    func shop(in container: Container) async throws -> [String] {
        let database = container.privateCloudDatabase
        let lists = ZoneID(zoneName: "Lists")
        try await database.save(lists)

        var milk = Record(recordType: "Item", in: lists)
        milk["title"] = "Milk"
        milk["amount"] = 2
        milk = try await database.save(milk)

        do {
            milk["amount"] = 3
            try await database.save(milk)
        } catch {
            guard error.code == .serverRecordChanged, var theirs = error.conflict?.serverRecord else { throw error }
            theirs["amount"] = 3
            try await database.save(theirs)
        }

        var titles: [String] = []
        let changes = FetchRecordZoneChanges([ZonePull(lists)])
        for try await event in database.events(of: changes) {
            if case .changed(_, .success(let record)) = event, let title: String = record["title"] {
                titles.append(title)
            }
        }
        return titles
    }
    // end

    @Test func theExampleRuns() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let titles = try await shop(in: Container(client))
                #expect(titles == ["Milk"])
            }
        }
    }

    @Test func thePageHasThisExample() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0 == "    // example" })
        let end = try #require(lines.firstIndex { $0 == "    // end" })
        let example = lines[(start + 1)..<end].map { $0.hasPrefix("    ") ? String($0.dropFirst(4)) : String($0) }
            .joined(separator: "\n")
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/remote-records.md")
        #expect(try String(contentsOf: page, encoding: .utf8).contains("```swift\n\(example)\n```"))
    }
}
