import RecordStore
import Records
import Testing

@testable import RemoteRecordStore

/// The indexes of a container in iCloud, learned from refusals and schema files.
@Suite struct LearnedIndexesTests {
    private static let query = Query(
        recordType: "City", filters: [.init("name", .equals, FieldInput(.string("x")))], sorts: [.init("size")])
    private static func moment(_ number: Int64) -> Timestamp { Timestamp(milliseconds: number) }

    private static let schema = Schema(types: [
        RecordType(
            name: "City",
            fields: [
                "name": FieldDefinition(type: .string, indexes: [.queryable]), "size": FieldDefinition(type: .int64),
            ])
    ])

    @Test(arguments: [
        ("Field 'name' is not marked queryable", FieldKey.custom("name"), Indexes.queryable),
        ("Field 'size' is not marked sortable", .custom("size"), .sortable),
        ("Field 'name' is not marked searchable", .custom("name"), .searchable),
        ("Field 'recordName' is not marked queryable", .system(.recordID), .queryable),
        ("Field '___recordID' is not marked queryable", .system(.recordID), .queryable),
        ("Field '___modTime' is not marked sortable", .system(.modTime), .sortable),
    ])
    func refusalsTellWhatIsMissing(reason: String, key: FieldKey, index: Indexes) {
        var indexes = LearnedIndexes()
        #expect(indexes.finding(index, of: key, in: "City") == nil)
        indexes.learn(from: RecordError(.badRequest, reason), of: Self.query, at: Self.moment(5))
        #expect(
            indexes.finding(index, of: key, in: "City")
                == LearnedIndexes.Finding(exists: false, source: .refusal(Self.moment(5))))
        #expect(indexes.finding(index, of: key, in: "Town") == nil)
        #expect(indexes.finding(index == .queryable ? .sortable : .queryable, of: key, in: "City") == nil)
    }

    @Test func aTypeWithoutAnyIndexLacksEachOne() {
        for reason in ["Type is not marked indexable: City", "Queried type is not marked indexable"] {
            var indexes = LearnedIndexes()
            indexes.learn(from: RecordError(.badRequest, reason), of: Self.query, at: Self.moment(5))
            #expect(indexes.finding(.sortable, of: .custom("size"), in: "City")?.exists == false)
        }
    }

    @Test func otherErrorsTellNothing() {
        var indexes = LearnedIndexes()
        for reason in ["Unknown field 'name'", "Did not find record type: City", "Field 'name' is not marked funny"] {
            indexes.learn(from: RecordError(.badRequest, reason), of: Self.query, at: Self.moment(5))
        }
        #expect(indexes == LearnedIndexes())
    }

    /// iCloud refuses filters on encrypted fields with a text of their own.
    @Test(arguments: [
        (
            "Field 'size' has a value type of INT64 and cannot be queried using filter value type STRING",
            FieldType.int64
        ),
        (
            "Field 'size' has a value type of STRING_LIST and cannot be queried using filter type EQUALS",
            FieldType(.string, isList: true)
        ),
        (
            "Field 'size' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS",
            FieldType(.string, isEncrypted: true)
        ),
        (
            "Field 'size' has a value type of ENCRYPTED_INT64_LIST and cannot be queried using filter type IN",
            FieldType(.int64, isList: true, isEncrypted: true)
        ),
    ])
    func refusedFiltersTellTypes(reason: String, type: FieldType) {
        var indexes = LearnedIndexes()
        indexes.learn(from: RecordError(.badRequest, reason), of: Self.query, at: Self.moment(5))
        #expect(indexes.schema?.types["City"]?.fields.mapValues(\.type) == ["size": type])
    }

    @Test func aSchemaFileHasBoth() {
        var indexes = LearnedIndexes()
        indexes.learn(
            from: RecordError(.badRequest, "Field 'name' is not marked queryable"), of: Self.query, at: Self.moment(1))
        indexes.learn(from: Self.schema, at: Self.moment(2))
        #expect(
            indexes.finding(.queryable, of: .custom("name"), in: "City")
                == LearnedIndexes.Finding(exists: true, source: .schemaFile(Self.moment(2))))
        #expect(
            indexes.finding(.sortable, of: .custom("size"), in: "City")
                == LearnedIndexes.Finding(exists: false, source: .schemaFile(Self.moment(2))))
        #expect(
            indexes.finding(.queryable, of: .custom("other"), in: "City") == nil
                && indexes.finding(.queryable, of: .custom("name"), in: "Town") == nil)
        // What CloudKit says afterwards counts more than the file.
        indexes.learn(
            from: RecordError(.badRequest, "Field 'name' is not marked queryable"), of: Self.query, at: Self.moment(3))
        #expect(
            indexes.finding(.queryable, of: .custom("name"), in: "City")
                == LearnedIndexes.Finding(exists: false, source: .refusal(Self.moment(3))))
    }

    @Test func recordsAndRefusalsTellTypes() throws {
        var indexes = LearnedIndexes()
        #expect(indexes.schema == nil)
        let fields = FieldsText([
            Field(name: "name", value: .string("x")),
            Field(name: "room", value: .reference(Reference(recordName: "r"))),
            Field(name: "secret", value: .string("y"), isEncrypted: true),
        ])
        let saved = Signature(timestamp: Self.moment(1), userRecordName: "u", deviceID: "")
        try indexes.learn(
            from: StoredRecord(
                recordID: RecordID(recordName: "a"), recordType: "City", recordChangeTag: "1", created: saved,
                modified: saved, parent: nil, fields: fields))
        indexes.learn(
            from: RecordError(
                .badRequest,
                "Field 'size' has a value type of INT64 and cannot be queried using filter value type STRING"),
            of: Self.query,
            at: Self.moment(2))
        indexes.learn(
            from: RecordError(.badRequest, "Field 'name' is not marked queryable"), of: Self.query, at: Self.moment(3))
        let type = try #require(indexes.schema?.types["City"])
        #expect(type.fields.mapValues(\.type) == ["name": .string, "room": .reference, "size": .int64])
        #expect(
            type.fields["name"]?.indexes.contains(.queryable) == false
                && type.fields["name"]?.indexes.contains(.sortable) == true)
        #expect(type.systemIndexes[.recordID]?.contains(.queryable) == true)
        #expect(indexes.finding(.queryable, of: .custom("room"), in: "City") == nil, "a record tells no index")
    }

    @Test func anAnswerDisprovesARefusal() {
        var indexes = LearnedIndexes()
        for reason in [
            "Field 'name' is not marked queryable", "Field 'size' is not marked sortable",
            "Field 'other' is not marked sortable",
        ] {
            indexes.learn(from: RecordError(.badRequest, reason), of: Self.query, at: Self.moment(1))
        }
        indexes.learn(fromAnswerTo: Self.query)
        #expect(
            indexes.finding(.queryable, of: .custom("name"), in: "City") == nil
                && indexes.finding(.sortable, of: .custom("size"), in: "City") == nil)
        #expect(indexes.finding(.sortable, of: .custom("other"), in: "City")?.exists == false)
    }

    @Test func theOldestRefusalsAreForgotten() {
        var indexes = LearnedIndexes()
        for number in 0...LearnedIndexes.limit {
            indexes.learn(
                from: RecordError(.badRequest, "Field 'f\(number)' is not marked sortable"), of: Self.query,
                at: Self.moment(Int64(number)))
        }
        #expect(indexes.finding(.sortable, of: .custom("f0"), in: "City") == nil)
        #expect(indexes.finding(.sortable, of: .custom("f1"), in: "City") != nil)
    }
}
