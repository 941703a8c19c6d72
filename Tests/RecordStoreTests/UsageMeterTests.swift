import InMemoryRecordStore
import Records
import StoreScenarios
import Testing

@testable import RecordStore

/// The number of distinct values is marked as a minimum exactly when counting stopped early.
@Suite struct UsageMeterTests {
    private static let type = RecordType(
        name: "T",
        fields: [
            "many": FieldDefinition(type: .int64), "few": FieldDefinition(type: .int64),
            "late": FieldDefinition(type: .int64),
        ])

    private func measured(_ count: Int, valueLimit: Int) throws -> [Name: TypeUsage.FieldUsage] {
        var meter = UsageMeter(of: Self.type, valueLimit: valueLimit)
        let zoneID = ZoneID(zoneName: "Z", ownerRecordName: "_ada")
        let signature = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "_ada", deviceID: "d")
        for number in 0..<count {
            var fields = [
                Field(name: "many", value: .int64(Int64(number))), Field(name: "few", value: .int64(Int64(number % 2))),
            ]
            if number == count - 1 { fields.append(Field(name: "late", value: .int64(7))) }
            try meter.add(
                StoredRecord(
                    recordID: RecordID(recordName: "r", zoneID: zoneID), recordType: "T", recordChangeTag: "1",
                    created: signature, modified: signature,
                    fields: FieldsText(fields)))
        }
        return Dictionary(uniqueKeysWithValues: meter.usage.fields.map { ($0.key.schemaName, $0) })
    }

    @Test func whatFitsIsExact() throws {
        let fields = try measured(100, valueLimit: 1000)
        #expect(fields["many"]?.distinctValues == 100 && fields["many"]?.isCutOff == false)
        #expect(fields["few"]?.distinctValues == 2 && fields["few"]?.isCutOff == false)
    }

    @Test func aSharedLimitIsReportedForEachField() throws {
        let fields = try measured(100, valueLimit: 50)
        #expect(fields["many"]?.isCutOff == true && (fields["many"]?.distinctValues ?? 100) < 50)
        // All its values were counted before the limit was reached.
        #expect(fields["few"]?.distinctValues == 2 && fields["few"]?.isCutOff == false)
        #expect(fields["late"]?.records == 1 && fields["late"]?.distinctValues == 0 && fields["late"]?.isCutOff == true)
    }

    @Test func exactlySoManyAreNotMore() throws {
        let count = TypeUsage.distinctLimit
        #expect(try measured(count, valueLimit: count * 2)["many"]?.isCutOff == false)
        #expect(try measured(count + 1, valueLimit: count * 2)["many"]?.isCutOff == true)
    }
}

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
