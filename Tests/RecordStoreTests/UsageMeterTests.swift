import Records
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
