import JSON
import RecordStore
import Records
import Testing

@testable import Console

/// What the page of a record says of the records that refer to it.
@Suite struct ReferrerPageTests {
    /// Records that refer to `target` by two fields each.
    private static func page(_ stage: RequestStage, count: Int) async throws -> String {
        try await stage.save("target", type: "Room")
        let fields: [Name: FieldInput] = [
            "room": FieldInput(.reference(Reference(recordName: "target"))),
            "home": FieldInput(.reference(Reference(recordName: "target", action: .deleteSelf))),
        ]
        let operations = (0..<count).map { number in
            RecordOperation(.forceUpdate, recordName: Name("r\(number)"), recordType: "Note", fields: fields)
        }
        for result in try await stage.database.modify(ModifyRequest(operations, zoneID: RequestStage.zone)) { _ = try result.get() }
        return try await stage.page("record?zone=Notes&name=target")
    }

    @Test func eachWayIsALineWithWhatBecomesOfIt() async throws {
        try await RequestStage.with { stage in
            let page = try await Self.page(stage, count: 3)
            #expect(page.contains("<h2>Referred to by 3 records</h2>"))
            #expect(page.contains("stays, and points to nothing <code class=\"faint\">NONE</code>"))
            #expect(page.contains("is deleted with it <code class=\"faint\">DELETE_SELF</code>"))
        }
    }

    @Test func moreReferencesThanAreLookedAtAreNotCountedAsRecords() async throws {
        try await RequestStage.with { stage in
            let page = try await Self.page(stage, count: 51)
            // A hundred references are those of 50 records, or of 51.
            #expect(page.contains("<h2>Referred to by 50 records or more</h2>") || page.contains("<h2>Referred to by 51 records or more</h2>"))
        }
    }
}
