import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console
@testable import RecordPages

/// The comparison of two records.
@Suite struct ComparePageTests {
    private static let other = ZoneID(zoneName: "Other")

    /// The rows of the comparison: field and result.
    private func verdicts(_ page: String) -> [String] {
        page.matches(of: /<th scope="row" class="name">([^<]*)<\/th>(?s:.*?)<td class="verdict">([a-z ]*[a-z])/).map {
            "\($0.output.1): \($0.output.2)"
        }
    }

    @Test func fieldsAreHeldAgainstEachOtherWhatDiffersFirst() async throws {
        try await EditStage.run { stage in
            try await stage.save(
                "a",
                [
                    "title": .string("The red house"), "rank": .int64(1), "tags": .list([.string("x")], of: .string),
                    "weight": .double(2),
                ])
            try await stage.save(
                "b",
                [
                    "title": .string("The green house"), "rank": .int64(1),
                    "due": .timestamp(Timestamp(milliseconds: 0)), "weight": .double(2),
                ])
            let page = try await stage.page("record/compare?zone=Notes&name=a&other=b")
            #expect(
                verdicts(page).prefix(5) == [
                    "title: differs", "tags: only left", "due: only right", "rank: equal", "weight: equal",
                ])
            #expect(
                page.contains("1 field differs, 1 only in the left record, 1 only in the right record, 2 are equal."))
            // The differing part of two texts is marked.
            #expect(page.contains("The <mark>red</mark> house") && page.contains("The <mark>green</mark> house"))
            #expect(verdicts(page).contains("recordName: differs") && verdicts(page).contains("recordType: equal"))
            let differing = try await stage.page("record/compare?zone=Notes&name=a&other=b&show=differing")
            #expect(verdicts(differing).prefix(3) == ["title: differs", "tags: only left", "due: only right"])
            #expect(!differing.contains("weight") && !verdicts(differing).contains("recordType: equal"))
            // With the sides exchanged.
            let exchanged = try #require(page.firstMatch(of: /href="([^"]*)">Swap sides/)?.output.1).replacing(
                "&amp;", with: "&")
            #expect(verdicts(try await stage.page(String(exchanged))).contains("tags: only right"))
        }
    }

    @Test func theOtherMayBeInAnotherZoneOrEnvironment() async throws {
        try await EditStage.run { stage in
            try await stage.save("a", ["rank": .int64(1)])
            try await stage.save("a", ["rank": .int64(2)], in: Self.other)
            let production = try await stage.database(.production)
            for result in try await production.modifyZones([.create(EditStage.notes)]) { _ = try result.get() }
            try await production.save("a", as: .create, type: "Note", in: EditStage.notes, ["rank": .int64(1)])
            let zones = try await stage.page("record/compare?zone=Notes&name=a&other=a&zoneName=Other")
            #expect(zones.contains("1 field differs, 0 are equal."))
            let environments = try await stage.page("record/compare?zone=Notes&name=a&other=a&environment=production")
            #expect(environments.contains("The same values in all 1 field."))
            #expect(environments.contains("zone Notes of Developer’s private database, production"))
            // Without a second record, records of the same name are offered.
            let start = try await stage.page("record/compare?zone=Notes&name=a")
            #expect(
                start.contains("Records with the same name")
                    && start.contains(">zone Other of Developer’s private database, development</a>"))
            #expect(start.contains(">zone Notes of Developer’s private database, production</a>"))
        }
    }

    @Test func namesThatBeginSoAreOffered() async throws {
        try await EditStage.run { stage in
            for name in ["note 1", "note 2", "room"] as [Name] { try await stage.save(name, ["rank": .int64(1)]) }
            let page = try await stage.page("record/compare?zone=Notes&name=room&other=no")
            #expect(page.contains("There is no record with this name in zone Notes"))
            #expect(page.contains(">note 1</a>") && page.contains(">note 2</a>"))
            #expect(try await stage.page("record/compare?zone=Notes&name=room&other=zz").contains("None."))
            #expect(
                try await stage.page("record/compare?zone=Notes&name=never&other=room").contains(
                    "There is no record with this name"))
            let refused = try await stage.page("record/compare?zone=Notes&name=room&other=room&to=nobody")
            #expect(refused.contains("There is no user &#39;nobody&#39;"))
            #expect(try await stage.get("record/compare?zone=Notes").status == .badRequest)
        }
    }

    /// Viewing must not create an environment.
    @Test func lookingMakesNothing() async throws {
        try await EditStage.run { stage in
            try await stage.save("a", [:])
            _ = try await stage.page("record/compare?zone=Notes&name=a&other=a&zoneName=Nowhere")
            #expect(try await stage.database().zones().map(\.zoneID.zoneName).contains("Nowhere") == false)
        }
    }

    @Test func textsAreCutWhereTheyDiffer() throws {
        for (left, right, expected) in [
            ("", "x", nil), ("a", "b", nil), ("ab", "ac", ("a", "b", "")), ("aa", "aaa", ("aa", "", "")),
            ("xay", "xy", ("x", "a", "y")),
            ("e\u{301}", "e", ("e", "\u{301}", "")),
        ] as [(String, String, (String, String, String)?)] {
            let parts = TextParts.differing(left, right)?.0
            #expect((parts == nil) == (expected == nil), "\(left) \(right)")
            guard let parts, let expected else { continue }
            #expect(
                Name(parts.before) == Name(expected.0) && Name(parts.own) == Name(expected.1)
                    && Name(parts.after) == Name(expected.2))
        }
    }

    @Test func whatOnlyLooksTheSameDiffers() async throws {
        try await EditStage.run { stage in
            try await stage.save("a", ["title": .string("caf\u{E9}")])
            try await stage.save("b", ["title": .string("cafe\u{301}")])
            let page = try await stage.page("record/compare?zone=Notes&name=a&other=b")
            #expect(verdicts(page).first == "title: differs" && page.contains("They look the same"))
        }
    }
}
