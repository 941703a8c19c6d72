import JSON
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

                """)
    }
}
