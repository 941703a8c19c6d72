import RecordStore
import Records
import StoreScenarios
import Testing

@Suite struct SchemaDifferenceTests {
    private func schema(_ statements: String) throws -> Schema { try Schema(text: "DEFINE SCHEMA \(statements)") }

    /// The schema before and after, and the description of each change.
    @Test(
        arguments: [
            ("", "", []), ("CREATE ROLE r;", "CREATE ROLE s;", ["Role 's' added", "Role 'r' deleted"]),
            (
                "", "RECORD TYPE T (b INT64, a STRING QUERYABLE);",
                ["T: type added with 2 fields: 'a' STRING QUERYABLE, 'b' INT64"]
            ), ("RECORD TYPE T (a STRING);", "", ["T: type deleted with 1 field: 'a' STRING"]),
            ("", "RECORD TYPE T ();", ["T: type added without fields"]),
            (
                "RECORD TYPE T (a STRING);", "RECORD TYPE T (a STRING, b LIST<INT64> QUERYABLE);",
                ["T: field 'b' LIST<INT64> QUERYABLE added"]
            ),
            ("RECORD TYPE T (a STRING SORTABLE);", "RECORD TYPE T ();", ["T: field 'a' STRING SORTABLE deleted"]),
            (
                "RECORD TYPE T (a STRING SORTABLE);", "RECORD TYPE T (a INT64 QUERYABLE);",
                ["T: field 'a' becomes INT64 QUERYABLE, was STRING SORTABLE"]
            ),
            (
                "RECORD TYPE T (a STRING SORTABLE);", "RECORD TYPE T (a STRING QUERYABLE SEARCHABLE);",
                ["T: field 'a': QUERYABLE SEARCHABLE added, SORTABLE deleted"]
            ),
            (
                "RECORD TYPE T (a STRING QUERYABLE);", "RECORD TYPE T (a ENCRYPTED STRING);",
                ["T: field 'a' becomes ENCRYPTED STRING, was STRING QUERYABLE"]
            ),
            (
                "RECORD TYPE T (a STRING);", "RECORD TYPE T (a LIST<STRING>);",
                ["T: field 'a' becomes LIST<STRING>, was STRING"]
            ),
            (
                #"RECORD TYPE T ("___recordID" REFERENCE QUERYABLE);"#,
                #"RECORD TYPE T ("___modTime" TIMESTAMP SORTABLE);"#,
                ["T: field '___modTime': SORTABLE added", "T: field '___recordID': QUERYABLE deleted"]
            ),
            (
                "RECORD TYPE T ();", #"RECORD TYPE T (GRANT READ, WRITE TO "_creator");"#,
                [
                    #"T: grants READ, WRITE TO "_creator", were WRITE TO "_creator"; CREATE TO "_icloud"; READ TO "_world""#
                ]
            ),
            // Different spelling of the same schema.
            (
                #"RECORD TYPE T (GRANT READ TO "_world", GRANT WRITE TO "_creator", GRANT READ TO "_creator", a NUMBER);"#,
                #"RECORD TYPE T (a DOUBLE, GRANT WRITE, READ TO "_creator", GRANT READ TO "_world");"#, []
            ),
            (
                "RECORD TYPE T (a NUMBER PREFERRED AS INT64);", "RECORD TYPE T (a NUMBER);",
                ["T: field 'a' becomes NUMBER, was NUMBER PREFERRED AS INT64"]
            ),
            // Every container has the type Users. A file without it says nothing about the type.
            (#"RECORD TYPE Users (roles LIST<INT64>, nick STRING);"#, "", []),
            ("", "RECORD TYPE Users (nick STRING);", []),
            ("RECORD TYPE Users ();", "RECORD TYPE Users (nick STRING);", ["Users: field 'nick' STRING added"]),
            // CloudKit itself declares the type of shares and three of its fields.
            (#"RECORD TYPE "cloudkit.share" (mine STRING);"#, "", []),
            (#"RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING, mine STRING);"#, "", []),
            (
                #"RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING, mine STRING);"#,
                #"RECORD TYPE "cloudkit.share" (yours STRING);"#,
                ["cloudkit.share: field 'mine' STRING deleted", "cloudkit.share: field 'yours' STRING added"]
            ),
            (
                #"RECORD TYPE T ("cloudkit.title" STRING);"#, "RECORD TYPE T ();",
                ["T: field 'cloudkit.title' STRING deleted"]
            ),
        ] as [(String, String, [String])])
    func changesAreDescribed(before: String, after: String, lines: [String]) throws {
        let difference = try SchemaDifference(from: schema(before), to: schema(after))
        #expect(difference.lines == lines)
        #expect(difference.isEmpty == lines.isEmpty)
    }

    @Test func typesAreInOrderAndRolesFirst() throws {
        let difference = try SchemaDifference(
            from: schema("CREATE ROLE z; RECORD TYPE C (x STRING, y STRING); RECORD TYPE A ();"),
            to: schema(
                #"RECORD TYPE B (); CREATE ROLE a; RECORD TYPE C (y INT64, z STRING, x STRING QUERYABLE, GRANT READ TO a);"#
            ))
        #expect(difference.changes.map(\.recordType) == [nil, nil, "A", "B", "C", "C", "C", "C"])
        #expect(difference.changes.map(\.field?.schemaName) == [nil, nil, nil, nil, "x", "y", "z", nil])
        #expect(
            difference.losses.map(\.line) == [
                "A: type deleted without fields", "C: field 'y' becomes INT64, was STRING",
            ])
        #expect(
            difference.edits == [
                .addRole("a"), .removeType("A"), .removeField("y", in: "C"), .addType(RecordType(name: "B")),
                .addType(
                    RecordType(
                        name: "C", fields: ["y": FieldDefinition(type: .int64), "z": FieldDefinition(type: .string)])),
                .setIndexes(.queryable, of: .custom("x"), in: "C"),
                .setGrants([Grant(role: "a", permissions: [.read])], of: "C"), .removeRole("z"),
            ])
    }

    @Test func compositeIndexesDoNotCount() throws {
        var other = try schema("RECORD TYPE T (a STRING QUERYABLE);")
        let plain = other
        other.types["T"]?.compositeIndexes = [CompositeIndex(filter: .custom("a"), sort: .system(.modTime))]
        #expect(SchemaDifference(from: plain, to: other).isEmpty && SchemaDifference(from: other, to: plain).isEmpty)
        #expect(SchemaDifference(from: Schema(), to: other).edits == SchemaDifference(from: Schema(), to: plain).edits)
    }

    @Test func longTypesAreShortened() {
        let fields = Dictionary(uniqueKeysWithValues: (10..<40).map { (Name("f\($0)"), FieldDefinition(type: .int64)) })
        let lines = SchemaDifference(from: Schema(), to: Schema(types: [RecordType(name: "T", fields: fields)])).lines
        #expect(
            lines.count == 1 && lines[0].hasPrefix("T: type added with 30 fields: 'f10' INT64, ")
                && lines[0].hasSuffix("'f21' INT64 and 18 more"))
    }

    /// For any two schemas, the edits turn the first into the second without a remaining difference.
    @Test(arguments: 1...200) func editsLeadFromOneToTheOther(seed: UInt64) throws {
        var random = SchemaMaker(seed: seed)
        let (before, after) = (random.schema(), random.schema())
        let difference = SchemaDifference(from: before, to: after)
        let result = try before.applying(difference.edits)
        #expect(SchemaDifference(from: result, to: after).isEmpty, "\(difference.lines)")
        #expect(result.text == after.text)
        #expect(SchemaDifference(from: before, to: before).isEmpty)
        let back = SchemaDifference(from: after, to: before)
        #expect(
            back.isEmpty == difference.isEmpty
                && back.losses.isEmpty
                    == difference.changes.allSatisfy { change in
                        switch change {
                        case .addType, .addField, .changeField: false
                        default: true
                        }
                    }
        )
    }
}

/// Makes similar small schemas.
struct SchemaMaker {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15
    }

    mutating func number(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % limit
    }

    mutating func schema() -> Schema {
        let types: [FieldType] = [
            .string, .string, .int64, .list(.string), FieldType(.string, isEncrypted: true), .asset,
        ]
        var schema = Schema.initial
        for role in ["editor", "reader"] as [Name] where number(2) == 0 { schema.roles.insert(role) }
        for name in ["A", "B", "C"] as [Name] where number(4) > 0 {
            var type = RecordType(name: name)
            for field in ["a", "b", "c", "d"] as [Name] where number(3) > 0 {
                let fieldType = types[number(types.count)]
                type.fields[field] = FieldDefinition(
                    type: fieldType, indexes: Indexes(rawValue: number(8)).intersection(fieldType.allowedIndexes))
            }
            for field in [SystemField.recordID, .modTime] where number(2) == 0 {
                type.systemIndexes[field] = .queryable
            }
            if number(3) == 0 {
                let roles = schema.roles.sorted() + ["_world"]
                type.grants = Grant.canonical(
                    roles.map { Grant(role: $0, permissions: number(2) == 0 ? [.read] : [.write, .create]) })
            }
            schema.types[name] = type
        }
        return schema
    }
}
