import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import Testing

/// Another server may report any numbers.
@Suite struct ReportedNumberTests {
    @Test(
        arguments: [
            (0, 0, 0), (1, 3, 33), (29, 100, 29), (100, 100, 99), (.max, .max, 1), (.max, 1, 99), (.min, 1, 0),
            (5, .min, 0), (-1, 2, 0), (1, .max, 0),
        ] as [(Int, Int, Int)])
    func aBuildIsBetween0And99Percent(done: Int, total: Int, percent: Int) {
        let build = IndexBuildProgress(
            .building, of: .field(.custom("title"), .queryable), in: "Note", done: done, total: total)
        #expect(build.percent == percent)
    }

    private struct ReportingDatabase: ForwardingDatabase, RecordListing {
        let base: any RecordDatabase

        func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
            ZoneCounts(records: ["Item": .max, "Note": .max], deletions: .max)
        }

        func list(_ request: RecordListRequest) async throws -> RecordListPage {
            try await base.require(.listRecords).list(request)
        }
    }

    @Test func aCheckOfSeveralZonesStopsCountingAtTheLargestNumber() async throws {
        let database = try await InMemoryRecordEngine().withZone()
        try await database.save("one", in: .default)
        let progress = try await RecordCheck(ReportingDatabase(base: database)).run { _ in }
        #expect(progress.zones > 1 && progress.total == .max)
    }
}
