import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import Testing

@Suite struct SchemaImportPlanTests {
    private func schema(_ statements: String) throws -> Schema { try Schema(text: "DEFINE SCHEMA \(statements)") }

    private func plan(
        _ file: String, into current: String, merging: Bool = false, production: String? = nil
    ) throws -> SchemaImportPlan {
        var existing = try schema(current)
        if existing.types[Schema.usersType] == nil { existing.types.merge(Schema.initial.types) { own, _ in own } }
        return try SchemaImportPlan(
            importing: schema(file), into: existing, merging: merging, production: production.map { try schema($0) })
    }

    private func reason(_ body: () throws -> SchemaImportPlan) -> String? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? RecordError).map { $0.code == .badRequest ? $0.reason : "\($0)" }
        }
    }

    @Test func aFileReplacesWhatIsThere() throws {
        let plan = try plan(
            "RECORD TYPE T (a STRING, c INT64); CREATE ROLE s;",
            into:
                "RECORD TYPE T (a STRING QUERYABLE, b STRING); RECORD TYPE U (); RECORD TYPE Users (nick STRING); CREATE ROLE r;"
        )
        #expect(
            plan.lines == [
                "Role 's' added", "Role 'r' deleted", "T: field 'a': QUERYABLE deleted", "T: field 'b' STRING deleted",
                "T: field 'c' INT64 added",
                "U: type deleted without fields",
            ])
        #expect(plan.difference.losses.count == 2)
        // The built-in type stays, with the fields that users added.
        #expect(plan.target.types["Users"]?.fields.keys.sorted() == ["nick", "roles"])
    }

    /// Changes between the preview and the edit are kept.
    @Test func aMergeTakesNothingBack() throws {
        let statements = "RECORD TYPE T (a STRING QUERYABLE, b STRING, GRANT READ TO r); CREATE ROLE r;"
        let plan = try plan(
            "RECORD TYPE T (a STRING SORTABLE, \"___modTime\" TIMESTAMP SORTABLE, c NUMBER, GRANT WRITE TO r); RECORD TYPE U (x STRING); CREATE ROLE r; CREATE ROLE s;",
            into: statements, merging: true)
        let meanwhile = try schema(statements).applying([
            .setIndexes(.searchable, of: .custom("a"), in: "T"),
            .addIndexes(.queryable, of: .system(.modTime), in: "T"),
            .setGrants([Grant(role: "r", permissions: [.create])], of: "T"), .removeField("b", in: "T"),
            .addType(RecordType(name: "U", fields: ["y": FieldDefinition(type: .int64)])),
        ])
        let result = try meanwhile.applying(plan.edits)
        let type = try #require(result.types["T"])
        #expect(type.fields.keys.sorted() == ["a", "c"] && type.fields["a"]?.indexes == [.searchable, .sortable])
        #expect(type.systemIndexes[.modTime] == [.queryable, .sortable])
        #expect(type.grants.first { $0.role == "r" }?.permissions == [.create, .write])
        #expect(result.types["U"]?.fields.keys.sorted() == ["x", "y"] && result.roles == ["r", "s"])
    }

    /// The grants of `Users` stay with the type, so their role stays too.
    @Test func rolesThatUsersNeedsStay() throws {
        let current =
            "CREATE ROLE mod; CREATE ROLE other; RECORD TYPE Users (GRANT READ TO mod, GRANT WRITE TO \"_creator\");"
        let plan = try plan("RECORD TYPE T (a STRING);", into: current)
        #expect(plan.lines == ["Role 'other' deleted", "T: type added with 1 field: 'a' STRING"])
        #expect(plan.target.roles == ["mod"])
        // A file with the type defines its grants.
        let named = try self.plan("RECORD TYPE Users (GRANT WRITE TO \"_creator\");", into: current)
        #expect(named.lines.prefix(2) == ["Role 'mod' deleted", "Role 'other' deleted"] && named.target.roles.isEmpty)
    }

    /// The plan is refused for the same reasons as its edits.
    @Test func whatTheRulesRefuseIsNoPlan() throws {
        let file = Schema(types: [RecordType(name: "T", grants: [Grant(role: "nobody", permissions: [.read])])])
        for merging in [false, true] {
            let reason = reason {
                try SchemaImportPlan(importing: file, into: .initial, merging: merging, production: nil)
            }
            #expect(
                reason == "The type 'T' has a grant for the role 'nobody', which does not exist; add the role first")
        }
    }

    @Test func fieldsOfUsersGoWhenTheFileNamesTheType() throws {
        let plan = try plan("RECORD TYPE Users (other STRING);", into: "RECORD TYPE Users (nick STRING);")
        #expect(plan.lines == ["Users: field 'nick' STRING deleted", "Users: field 'other' STRING added"])
        #expect(plan.target.types["Users"]?.fields.keys.sorted() == ["other", "roles"])
    }

    @Test func compositeIndexesStayWithTheirFields() throws {
        var current = try schema(
            "RECORD TYPE T (a STRING QUERYABLE, b INT64 SORTABLE, c STRING); RECORD TYPE U (a STRING);")
        let (kept, first, second) = (
            CompositeIndex(filter: .custom("a"), sort: .system(.modTime)),
            CompositeIndex(filter: .custom("a"), sort: .custom("b")),
            CompositeIndex(filter: .custom("c"), sort: .custom("a"))
        )
        current.types["T"]?.compositeIndexes = [kept, first, second]
        let file = try schema("RECORD TYPE T (a STRING, b STRING); RECORD TYPE U (a STRING);")
        let plan = try SchemaImportPlan(importing: file, into: current, merging: false, production: nil)
        #expect(plan.target.types["T"]?.compositeIndexes == [kept])
        #expect(try current.applying(plan.edits) == plan.target)
        let merged = try SchemaImportPlan(
            importing: schema("RECORD TYPE T (d STRING);"), into: current, merging: true, production: nil)
        #expect(merged.target.types["T"]?.compositeIndexes == [kept, first, second])
    }

    /// An export after the import equals the file, including the spelling of number types.
    @Test func numbersAreSpeltAsTheFileSpellsThem() throws {
        let plan = try plan(
            "RECORD TYPE T (a NUMBER, b NUMBER PREFERRED AS INT64, c DOUBLE);",
            into: "RECORD TYPE T (a DOUBLE, b INT64, c DOUBLE);")
        #expect(plan.difference.isEmpty && !plan.isEmpty)
        #expect(
            plan.lines == [
                "T: field 'a' DOUBLE is written NUMBER", "T: field 'b' INT64 is written NUMBER PREFERRED AS INT64",
            ])
        let merged = try self.plan(
            "RECORD TYPE T (a NUMBER, d NUMBER);", into: "RECORD TYPE T (a DOUBLE);", merging: true)
        #expect(merged.lines == ["T: field 'd' NUMBER added"])
    }

    @Test func mergingOnlyAdds() throws {
        let plan = try plan(
            #"RECORD TYPE T (a STRING SORTABLE, n STRING, "___recordID" REFERENCE QUERYABLE); RECORD TYPE N (x STRING); CREATE ROLE s;"#,
            into: "RECORD TYPE T (a STRING QUERYABLE, b STRING); RECORD TYPE U (); CREATE ROLE r;", merging: true)
        #expect(plan.difference.losses.isEmpty)
        #expect(
            plan.lines == [
                "Role 's' added", "N: type added with 1 field: 'x' STRING", "T: field '___recordID': QUERYABLE added",
                "T: field 'a': SORTABLE added",
                "T: field 'n' STRING added",
            ])
    }

    /// A file without grants keeps the existing ones.
    @Test(
        arguments: [
            ("", #"GRANT READ TO "_creator""#, []),
            (
                #"GRANT READ TO "_icloud""#, #"GRANT WRITE TO "_icloud""#,
                [#"T: grants READ, WRITE TO "_icloud", were WRITE TO "_icloud""#]
            ),
            (#"GRANT READ TO "_icloud""#, #"GRANT READ, WRITE TO "_icloud""#, []),
            (
                #"GRANT READ TO "_icloud""#, "",
                [
                    #"T: grants WRITE TO "_creator"; READ, CREATE TO "_icloud"; READ TO "_world", were WRITE TO "_creator"; CREATE TO "_icloud"; READ TO "_world""#
                ]
            ),
        ] as [(String, String, [String])])
    func mergingGrants(file: String, current: String, lines: [String]) throws {
        #expect(try plan("RECORD TYPE T (\(file));", into: "RECORD TYPE T (\(current));", merging: true).lines == lines)
    }

    @Test func mergingNamesAllConflicts() throws {
        let reason = reason {
            try plan(
                "RECORD TYPE T (a INT64, b STRING, c LIST<STRING>); RECORD TYPE U (x ENCRYPTED STRING);",
                into: "RECORD TYPE T (a STRING, b STRING, c STRING); RECORD TYPE U (x STRING);", merging: true)
        }
        #expect(
            reason
                == "The file can't be merged: field 'a' of type 'T' is STRING, and INT64 in the file; "
                + "field 'c' of type 'T' is STRING, and LIST<STRING> in the file; "
                + "field 'x' of type 'U' is STRING, and ENCRYPTED STRING in the file")
    }

    /// Development, production, the file, and the reason of the refusal.
    @Test(
        arguments: [
            ("RECORD TYPE T (a STRING);", "RECORD TYPE T (a STRING);", "", "type 'T' would be deleted"),
            ("RECORD TYPE T (a STRING);", "", "", nil),
            ("RECORD TYPE T (a STRING, b STRING);", "RECORD TYPE T (a STRING);", "RECORD TYPE T (a STRING);", nil),
            (
                "RECORD TYPE T (a STRING, b STRING);", "RECORD TYPE T (a STRING);", "RECORD TYPE T (b STRING);",
                "field 'a' of type 'T' would be deleted"
            ),
            (
                "RECORD TYPE T (a STRING);", "RECORD TYPE T (a STRING);", "RECORD TYPE T (a INT64);",
                "field 'a' of type 'T' is STRING there, and INT64 in the file"
            ),
            // The import restores development to production's type.
            ("RECORD TYPE T (a INT64);", "RECORD TYPE T (a STRING);", "RECORD TYPE T (a STRING);", nil),
            (
                "RECORD TYPE T ();", "RECORD TYPE T (a STRING);", "RECORD TYPE T (a INT64);",
                "field 'a' of type 'T' is STRING there, and INT64 in the file"
            ),
            (
                "", "RECORD TYPE T (a STRING);", "RECORD TYPE T (a INT64);",
                "field 'a' of type 'T' is STRING there, and INT64 in the file"
            ),
            (
                "RECORD TYPE T (a STRING QUERYABLE);", "RECORD TYPE T (a STRING QUERYABLE);",
                "RECORD TYPE T (a STRING);", nil
            ),
            ("RECORD TYPE T (a DOUBLE);", "RECORD TYPE T (a DOUBLE);", "RECORD TYPE T (a NUMBER);", nil),
        ] as [(String, String, String, String?)])
    func whatIsDeployedStays(development: String, production: String, file: String, refusal: String?) throws {
        let reason = reason { try plan(file, into: development, production: production) }
        let expected = refusal.map {
            "The file can't be imported, because production never loses or changes types and fields: \($0). Correct the file first"
        }
        #expect(reason == expected)
    }

    @Test func lossesAreCounted() async throws {
        let engine = InMemoryRecordEngine()
        let database = try await engine.withZone()
        let text =
            "RECORD TYPE Item (a STRING, b STRING, n INT64, o INT64); RECORD TYPE Old (a STRING); RECORD TYPE Empty (a STRING);"
        _ = try await database.require(.editSchema).edit(
            SchemaDifference(from: database.require(.showSchema).schema(), to: schema(text)).edits)
        for (name, fields) in [("x", ["a", "n"]), ("y", ["a"]), ("z", ["b", "n"])] as [(Name, [Name])] {
            _ = try await database.save(
                name, in: notes,
                Dictionary(uniqueKeysWithValues: fields.map { ($0, $0 == "n" ? .int64(1) : .string("v")) }))
        }
        _ = try await database.save("o", type: "Old")
        let plan = try await SchemaImportPlan(
            importing: schema("RECORD TYPE Item (b STRING, n DOUBLE);"), into: database.require(.showSchema).schema(),
            merging: false,
            production: nil)
        let losses = try await plan.losses(measuredBy: database)
        let ofItem = losses.filter { $0.change.recordType == "Item" }
        #expect(
            ofItem.map(\.line) == [
                "Item: field 'a' STRING deleted; its values in 2 records are deleted",
                "Item: field 'n' becomes DOUBLE, was INT64; its values in 2 records are deleted",
                "Item: field 'o' INT64 deleted; no record has a value in it",
            ])
        #expect(
            losses.first { $0.change.recordType == "Old" }?.line
                == "Old: type deleted with 1 field: 'a' STRING; its 1 record is deleted")
        let empty = losses.first { $0.change.recordType == "Empty" }
        #expect(empty?.line == "Empty: type deleted with 1 field: 'a' STRING; it has no records" && empty?.records == 0)
        let uncounted = try await plan.losses(measuredBy: ProtocolOnlyEngine(engine).full(.private))
        #expect(uncounted.count == losses.count && uncounted.allSatisfy { $0.records == nil })
        #expect(uncounted.map(\.line) == plan.difference.losses.map(\.line))
    }

    /// Any import over any schema gives the export of the file, and a second import changes nothing.
    @Test(arguments: 1...150) func anImportIsTheFile(seed: UInt64) throws {
        var maker = SchemaMaker(seed: seed &+ 1000)
        let (current, file) = (maker.schema(), maker.schema())
        let plan = try SchemaImportPlan(importing: file, into: current, merging: false, production: nil)
        let result = try current.applying(plan.edits)
        #expect(result == plan.target)
        #expect(result.text == file.text)
        #expect(
            try SchemaImportPlan(importing: Schema(text: result.text), into: result, merging: false, production: nil)
                .isEmpty)
        // A merge has everything of both schemas, or is refused because of a conflicting field.
        if let merge = try? SchemaImportPlan(importing: file, into: current, merging: true, production: nil) {
            #expect(merge.difference.losses.isEmpty)
            let merged = try current.applying(merge.edits)
            #expect(merged.text == merge.target.text)
            #expect(try SchemaImportPlan(importing: file, into: merged, merging: true, production: nil).isEmpty)
            #expect(SchemaDifference(from: file, to: merged).losses.isEmpty)
        }
    }
}
