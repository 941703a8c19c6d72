import Records
import Testing

@Suite struct SchemaTextTests {
    @Test func writesTypesAsExportsDo() {
        let type = RecordType(
            name: "Room",
            fields: [
                "title": FieldDefinition(type: .string, indexes: [.queryable, .sortable, .searchable]),
                "tags": FieldDefinition(type: .list(.string), indexes: .queryable),
                "queryable": FieldDefinition(type: .int64),
                "secret": FieldDefinition(type: FieldType(.string, isEncrypted: true)),
            ],
            systemIndexes: [.recordID: .queryable])
        #expect(
            Schema(types: [type], roles: ["Editor"]).text == """
                DEFINE SCHEMA

                    CREATE ROLE Editor;

                    RECORD TYPE Room (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE QUERYABLE,
                        "queryable"     INT64,
                        secret          ENCRYPTED STRING,
                        tags            LIST<STRING> QUERYABLE,
                        title           STRING QUERYABLE SEARCHABLE SORTABLE,
                        GRANT WRITE TO "_creator",
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                    RECORD TYPE Users (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE,
                        roles           LIST<INT64>,
                        GRANT WRITE TO "_creator",
                        GRANT READ TO "_world"
                    );

                """)
    }

    @Test func aNewContainersSchemaIsItsUsers() throws {
        #expect(Schema().text == Schema.initial.text)
        #expect(try Schema(text: Schema().text) == Schema.initial)
    }

    /// Byte order: capital letters, then `_`, then lower-case letters, quoted or not.
    @Test func fieldsAreInTheOrderOfTheirBytes() {
        let fields: [Name] = ["b", "Z", "searchable", "a_1", "a", "a1", "cloudkit.title"]
        let type = RecordType(
            name: "T", fields: Dictionary(uniqueKeysWithValues: fields.map { ($0, FieldDefinition(type: .string)) }))
        let names = Schema(types: [type]).text.split(separator: "\n").filter {
            $0.hasPrefix("        ") && !$0.contains("GRANT")
        }
        .map { $0.split(separator: " ")[0] }.prefix(while: { $0 != "roles" })
        #expect(
            Array(names.prefix(13)) == [
                "Z", #""___createTime""#, #""___createdBy""#, #""___etag""#, #""___modTime""#, #""___modifiedBy""#,
                #""___recordID""#, "a", "a1", "a_1", "b",
                #""cloudkit.title""#, #""searchable""#,
            ])
    }

    /// Equal rights are printed the same, whatever the order in which they were granted.
    @Test func grantsAreByRoleInOneOrder() throws {
        func text(_ grants: [Grant]) -> String {
            Schema(types: [RecordType(name: "T", grants: grants)], roles: ["Aide", "helper"]).text
        }
        let expected = """
                    GRANT READ TO Aide,
                    GRANT READ, CREATE, WRITE TO "_creator",
                    GRANT READ TO helper
                );

            """
        let one = [
            Grant(role: "helper", permissions: [.read]),
            Grant(role: "_creator", permissions: [.write, .read, .create]), Grant(role: "Aide", permissions: [.read]),
        ]
        let other = [
            Grant(role: "_creator", permissions: [.write]), Grant(role: "Aide", permissions: [.read]),
            Grant(role: "_creator", permissions: [.create, .read]),
            Grant(role: "helper", permissions: [.read]), Grant(role: "_world", permissions: []),
        ]
        #expect(text(one).contains(expected), "\(text(one))")
        #expect(text(one) == text(other))
    }

    @Test func compositeIndexesAreNotExported() {
        let plain = RecordType(name: "T", fields: ["a": FieldDefinition(type: .string, indexes: .queryable)])
        var composite = plain
        composite.compositeIndexes = [CompositeIndex(filter: .custom("a"), sort: .system(.modTime))]
        #expect(Schema(types: [plain]).text == Schema(types: [composite]).text)
    }

    @Test func indexesWithoutUseArePrintedAndWritten() throws {
        let text =
            "RECORD TYPE T (a LIST<STRING> QUERYABLE SEARCHABLE SORTABLE, b LIST<INT64> SORTABLE, c LOCATION SORTABLE)"
        let schema = try Schema(text: "DEFINE SCHEMA \(text);")
        let type = try #require(schema.types["T"])
        #expect(
            type.fields["a"]
                == FieldDefinition(type: .list(.string), indexes: .queryable, idleIndexes: [.searchable, .sortable]))
        #expect(try Schema(text: schema.text).types["T"] == type)
        var writer = JSONWriter()
        writer.value(type)
        #expect(try RecordType(JSONReader.value(of: writer.bytes)) == type)
    }

    @Test func namesOfTypesAreRead() {
        let scalars = ValueType.allCases.map { FieldType($0) }
        let encrypted = scalars.filter(\.canBeEncrypted).map { FieldType($0.valueType, isEncrypted: true) }
        let numbers = NumberPreference.allCases.map { FieldType($0.valueType, number: $0) }
        #expect(scalars.count == 8 && encrypted.count == 6 && numbers.count == 3)
        for type in scalars + encrypted + numbers {
            for isList in [false, true] {
                var type = type
                type.isList = isList
                #expect(FieldType(schemaName: type.schemaName) == type)
            }
        }
        for wrong in [
            "", "STRNG", "ENCRYPTED ASSET", "ENCRYPTED NUMBER", "LIST<STRING", "LIST<LIST<STRING>>", "string", "LIST<>",
            "ENCRYPTED ", "NUMBER PREFERRED AS STRING",
        ] {
            #expect(FieldType(schemaName: wrong) == nil)
        }
        #expect(FieldType(.double, number: NumberPreference.none).holdsSameValues(as: .double))
        #expect(!FieldType(.int64, number: .int64).holdsSameValues(as: .double))
    }
}
