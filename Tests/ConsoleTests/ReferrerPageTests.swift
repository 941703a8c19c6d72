import JSON
import RecordStore
import Records
import Testing

@testable import Console

/// The referrers on the page of a record.
@Suite struct ReferrerPageTests {
    /// The page of `target`, to which each record refers by two fields.
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
            #expect(page.contains("<h2 id=\"references\">Referred to by 3 records</h2>"))
            #expect(page.contains("stays, without a target <code class=\"faint\">NONE</code>"))
            #expect(page.contains("is deleted with it <code class=\"faint\">DELETE_SELF</code>"))
        }
    }

    @Test func theConfirmationSaysWhatKeepsARecord() async throws {
        try await RequestStage.with { stage in
            _ = try await Self.page(stage, count: 3)
            let operations = [("r1", "target"), ("child", "target"), ("loner", nil)].map { name, parent in
                RecordOperation(.forceUpdate, recordName: Name(name), recordType: "Note", parent: parent.map { .record(Name($0)) } ?? .unchanged)
            }
            for result in try await stage.database.modify(ModifyRequest(operations, zoneID: RequestStage.zone)) { _ = try result.get() }
            let page = try await stage.page("record/delete?zone=Notes&name=target")
            #expect(page.contains("3 records with a DELETE_SELF reference to it are deleted too."))
            #expect(page.contains("1 record with it as parent will keep it from being deleted."))
            let free = try await stage.page("record/delete?zone=Notes&name=loner")
            #expect(!free.contains("keep it"))
        }
    }

    @Test func moreReferencesThanAreLookedAtAreNotCountedAsRecords() async throws {
        try await RequestStage.with { stage in
            let page = try await Self.page(stage, count: 51)
            // A hundred references come from 50 or 51 records.
            #expect(page.contains("<h2 id=\"references\">Referred to by 50 records or more</h2>") || page.contains("<h2 id=\"references\">Referred to by 51 records or more</h2>"))
        }
    }
}
