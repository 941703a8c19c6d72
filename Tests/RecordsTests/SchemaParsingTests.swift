import Records
import Testing

@Suite struct SchemaParsingTests {
    private func type(_ items: String, before: String = "", sourceLocation: SourceLocation = #_sourceLocation) throws
        -> RecordType
    {
        let schema = try Schema(text: "DEFINE SCHEMA \(before) RECORD TYPE T (\(items));")
        return try #require(schema.types["T"], sourceLocation: sourceLocation)
    }

    @Test(
        arguments: [
            ("ASSET", .asset), ("BYTES", .bytes), ("DOUBLE", .double), ("INT64", .int64), ("LOCATION", .location),
            ("REFERENCE", .reference), ("STRING", .string),
            ("TIMESTAMP", .timestamp), ("NUMBER", FieldType(.double, number: NumberPreference.none)),
            ("NUMBER PREFERRED AS INT64", FieldType(.int64, number: .int64)),
            ("NUMBER PREFERRED AS DOUBLE", FieldType(.double, number: .double)),
            ("ENCRYPTED STRING", FieldType(.string, isEncrypted: true)),
            ("ENCRYPTED BYTES", FieldType(.bytes, isEncrypted: true)),
            ("ENCRYPTED DOUBLE", FieldType(.double, isEncrypted: true)),
            ("ENCRYPTED INT64", FieldType(.int64, isEncrypted: true)),
            ("ENCRYPTED LOCATION", FieldType(.location, isEncrypted: true)),
            ("ENCRYPTED TIMESTAMP", FieldType(.timestamp, isEncrypted: true)),
            ("LIST<STRING>", .list(.string)), ("LIST<ASSET>", .list(.asset)), ("LIST < INT64 >", .list(.int64)),
            ("LIST<REFERENCE>", .list(.reference)),
            ("LIST<ENCRYPTED STRING>", FieldType(.string, isList: true, isEncrypted: true)),
            ("LIST<NUMBER PREFERRED AS INT64>", FieldType(.int64, isList: true, number: .int64)),
            ("LIST\n<\nBYTES\n>", .list(.bytes)),
            // Not in Apple's grammar, but unambiguous.
            ("ENCRYPTED LIST<STRING>", FieldType(.string, isList: true, isEncrypted: true)), ("string", .string),
            ("List<Int64>", .list(.int64)),
        ] as [(String, FieldType)])
    func fieldTypes(text: String, expected: FieldType) throws {
        #expect(try type("f \(text)").fields == ["f": FieldDefinition(type: expected)])
    }

    @Test(
        arguments: [
            ("", []), ("QUERYABLE", .queryable), ("SORTABLE", .sortable), ("SEARCHABLE", .searchable),
            ("QUERYABLE SORTABLE", [.queryable, .sortable]),
            ("SORTABLE QUERYABLE", [.queryable, .sortable]),
            ("SEARCHABLE SORTABLE QUERYABLE", [.queryable, .sortable, .searchable]),
            ("queryable Sortable", [.queryable, .sortable]), ("QUERYABLE QUERYABLE", .queryable),
            ("/* a */QUERYABLE--b\nSORTABLE", [.queryable, .sortable]),
        ] as [(String, Indexes)])
    func indexOptionsInAnyOrder(text: String, expected: Indexes) throws {
        #expect(try type("f STRING \(text)").fields["f"]?.indexes == expected)
    }

    @Test(arguments: [
        ("", Grant.defaults), (", GRANT READ TO \"_world\"", [Grant(role: "_world", permissions: [.read])]),
        (
            ", GRANT WRITE,CREATE , READ TO r, grant read to \"_icloud\"",
            [Grant(role: "_icloud", permissions: [.read]), Grant(role: "r", permissions: [.read, .create, .write])]
        ),
        (", GRANT READ TO \"r\", GRANT WRITE TO r", [Grant(role: "r", permissions: [.read, .write])]),
        (", GRANT READ TO \"_creator\", GRANT READ TO \"_creator\"", [Grant(role: "_creator", permissions: [.read])]),
    ])
    func grants(items: String, expected: [Grant]) throws {
        #expect(try type("f STRING\(items)", before: "CREATE ROLE r;").grants == expected)
        // Grants may also be among the fields, and come before the role is created.
        let first = items.isEmpty ? "" : "\(items.dropFirst(2)), "
        let schema = try Schema(text: "DEFINE SCHEMA RECORD TYPE T (\(first)f STRING); CREATE ROLE r;")
        #expect(schema.types["T"]?.grants == expected && schema.roles == ["r"])
    }

    @Test func systemFieldsCarryIndexesOnly() throws {
        let type = try type(
            #""___recordID" REFERENCE QUERYABLE, "___createTime" TIMESTAMP, "___modTime" TIMESTAMP SORTABLE, "___etag" STRING, a STRING"#
        )
        #expect(type.fields == ["a": FieldDefinition(type: .string)])
        #expect(type.systemIndexes == [.recordID: .queryable, .modTime: .sortable])
    }

    @Test func namesInQuotesAreNames() throws {
        let text = """
            DEFINE SCHEMA CREATE ROLE "Editor";
            RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING, "grant" STRING, "GRANT" INT64, "plain" DOUBLE, GRANT READ TO Editor);
            RECORD TYPE define (record STRING, type STRING, list LIST<STRING>, "to" STRING, string STRING, encrypted ENCRYPTED STRING, role INT64);
            """
        let schema = try Schema(text: text)
        #expect(schema.roles == ["Editor"])
        #expect(schema.types["cloudkit.share"]?.fields.keys.sorted() == ["GRANT", "cloudkit.title", "grant", "plain"])
        #expect(
            schema.types["define"]?.fields.keys.sorted() == [
                "encrypted", "list", "record", "role", "string", "to", "type",
            ])
        #expect(try Schema(text: schema.text).text == schema.text)
    }

    @Test func commentsAndSpaceAreAllowedAnywhere() throws {
        let text =
            "\u{FEFF}// one\r\n-- two\n/* three * / \u{1F680} */DEFINE/**/SCHEMA--\n\tRECORD\n\nTYPE/***/T(a STRING--x\n,b STRING//y\n,/*GRANT READ TO x*/c LIST<STRING>);\u{0C}--"
        let read = SchemaText(text)
        #expect(read.errors == [] && read.notes == [])
        #expect(try read.schema().types["T"]?.fields.keys.sorted() == ["a", "b", "c"])
    }

    @Test func anEmptySchemaIsOne() throws {
        #expect(try Schema(text: "DEFINE SCHEMA") == Schema())
        #expect(try Schema(text: "define schema RECORD TYPE T ();") == Schema(types: [RecordType(name: "T")]))
    }

    @Test func usersAreAsTheyAlwaysAre() throws {
        #expect(try Schema(text: #"DEFINE SCHEMA RECORD TYPE Users ("___recordID" REFERENCE);"#) == Schema.initial)
        let users = try #require(
            try Schema(text: "DEFINE SCHEMA RECORD TYPE Users (nick STRING, GRANT READ TO \"_world\");").types["Users"])
        #expect(
            users.fields == ["roles": FieldDefinition(type: .list(.int64)), "nick": FieldDefinition(type: .string)])
        #expect(users.grants == [Grant(role: "_world", permissions: [.read])])
    }

    /// Input that Apple's tools may refuse, and attributes that are only kept for exports or dropped.
    @Test(arguments: [
        ("a STRING,", "line 1, column 38: Apple's tools may refuse a comma before the )"),
        ("___recordID REFERENCE", "line 1, column 30: Apple's tools want the name ___recordID in double quotes"),
        ("a STRING, GRANT READ TO _world", "line 1, column 54: Apple's tools want the name _world in double quotes"),
        ("cloudkit.title STRING", "line 1, column 30: Apple's tools want the name cloudkit.title in double quotes"),
        (
            "m LIST<STRING> QUERYABLE SEARCHABLE",
            "line 1, column 55: SEARCHABLE has no effect on the field m of type LIST<STRING> and is kept only for exports"
        ),
        (
            "m REFERENCE QUERYABLE SORTABLE",
            "line 1, column 52: SORTABLE has no effect on the field m of type REFERENCE and is kept only for exports"
        ),
        (
            #""___createdBy" REFERENCE SORTABLE"#,
            "line 1, column 55: SORTABLE has no effect on the field ___createdBy of type REFERENCE and is left out"
        ),
    ])
    func notes(items: String, note: String) throws {
        let read = SchemaText("DEFINE SCHEMA RECORD TYPE T (\(items));")
        #expect(read.errors == [])
        #expect(read.notes.map(\.description) == [note])
        // The printed form is acceptable to Apple's tools.
        #expect(
            SchemaText(try read.schema().text).notes.map(\.text).allSatisfy { $0.hasSuffix("is kept only for exports") }
        )
    }

    @Test func notesBeyondTheLimitAreCounted() throws {
        let fields = (0..<30).map { "r\($0) REFERENCE SORTABLE" }.joined(separator: ", ")
        let read = SchemaText("DEFINE SCHEMA RECORD TYPE T (\(fields));")
        #expect(read.notes.count == SchemaText.noteLimit && read.moreNotes == 30 - SchemaText.noteLimit)
        #expect(SchemaText("DEFINE SCHEMA RECORD TYPE T (a REFERENCE SORTABLE);").moreNotes == 0)
    }

    @Test func theLastSemicolonMayBeMissing() throws {
        let read = SchemaText("DEFINE SCHEMA CREATE ROLE r")
        #expect(read.notes.map(\.description) == ["line 1, column 28: Apple's tools want a ; after it"])
        #expect(try read.schema().roles == ["r"])
    }
}
