import RecordStore
import Records
import Testing

@Suite struct SchemaDeploymentPlanTests {
    private func schema(_ statements: String) throws -> Schema { try Schema(text: "DEFINE SCHEMA \(statements)") }

    @Test func productionGrows() throws {
        let development = try schema(
            "CREATE ROLE editor; RECORD TYPE T (a STRING QUERYABLE, b INT64 SORTABLE, GRANT READ TO editor); RECORD TYPE U (x STRING);"
        )
        let production = try schema("CREATE ROLE old; RECORD TYPE T (a STRING SORTABLE, GRANT READ TO old);")
        let plan = SchemaDeploymentPlan(from: development, to: production)
        #expect(plan.canRun && plan.refusal == nil && !plan.isEmpty)
        #expect(
            plan.difference.lines == [
                "Role 'editor' added", "T: field 'a': QUERYABLE added, SORTABLE deleted",
                "T: field 'b' INT64 SORTABLE added",
                "T: grants READ TO editor, were READ TO old", "U: type added with 1 field: 'x' STRING",
            ])
        #expect(plan.indexLosses.map(\.line) == ["T: field 'a': QUERYABLE added, SORTABLE deleted"])
        let result = try production.applying(plan.edits)
        // A role in production may be assigned to users.
        #expect(result.roles == ["editor", "old"])
        #expect(SchemaDeploymentPlan(from: development, to: result).isEmpty)
    }

    @Test func nothingIsDeployedWhenAnythingWouldGo() throws {
        let plan = try SchemaDeploymentPlan(
            from: schema("RECORD TYPE T (b INT64, n STRING); RECORD TYPE N ();"),
            to: schema("RECORD TYPE T (a STRING, b STRING); RECORD TYPE Gone (x STRING);"))
        #expect(!plan.canRun && plan.edits.isEmpty)
        #expect(plan.obstacles.count == 3)
        #expect(
            plan.refusal?.reason
                == "The schema can't be deployed, because production never loses or changes types and fields: type 'Gone' is not in development; "
                + "field 'a' STRING of type 'T' is not in development; field 'b' of type 'T' is STRING, and INT64 in development. "
                + "Correct development first")
        #expect(plan.refusal?.code == .badRequest)
    }

    @Test func whatIsNoPartOfADeployment() throws {
        var development = try schema("RECORD TYPE T (a DOUBLE QUERYABLE); RECORD TYPE Users (roles LIST<INT64>);")
        development.types["T"]?.compositeIndexes = [CompositeIndex(filter: .custom("a"), sort: .system(.recordID))]
        var production = try schema("CREATE ROLE r; RECORD TYPE T (a DOUBLE QUERYABLE);")
        production.types["T"]?.compositeIndexes = [CompositeIndex(filter: .custom("a"), sort: .system(.modTime))]
        #expect(SchemaDeploymentPlan(from: development, to: production).isEmpty)
        // A new type is deployed without development's composite index.
        let fresh = SchemaDeploymentPlan(from: development, to: .initial)
        #expect(try Schema.initial.applying(fresh.edits).types["T"]?.compositeIndexes.isEmpty == true)
    }

    /// Production exports what development exports.
    @Test func numbersAreSpeltAsInDevelopment() throws {
        let development = try schema("RECORD TYPE T (a NUMBER, b NUMBER PREFERRED AS INT64 QUERYABLE, c DOUBLE);")
        let production = try schema("RECORD TYPE T (a DOUBLE QUERYABLE, b INT64, c NUMBER);")
        let plan = SchemaDeploymentPlan(from: development, to: production)
        #expect(plan.canRun && !plan.isEmpty)
        #expect(
            plan.lines == [
                "T: field 'a': QUERYABLE deleted", "T: field 'b': QUERYABLE added",
                "T: field 'a' DOUBLE is written NUMBER",
                "T: field 'b' INT64 is written NUMBER PREFERRED AS INT64", "T: field 'c' NUMBER is written DOUBLE",
            ])
        let change = try SchemaRules.deploy(development, over: production)
        #expect(change.after.text == development.text)
        #expect(change.lines == plan.lines)
        #expect(SchemaDeploymentPlan(from: development, to: change.after).isEmpty)
        let alone = try SchemaDeploymentPlan(
            from: schema("RECORD TYPE T (a NUMBER);"), to: schema("RECORD TYPE T (a DOUBLE);"))
        #expect(alone.difference.isEmpty && !alone.isEmpty && alone.lines == ["T: field 'a' DOUBLE is written NUMBER"])
        // If anything prevents the deployment, there are no edits.
        let refused = try SchemaDeploymentPlan(
            from: schema("RECORD TYPE T (a NUMBER);"), to: schema("RECORD TYPE T (a DOUBLE, b STRING);"))
        #expect(!refused.canRun && refused.edits.isEmpty)
    }

    @Test(arguments: 1...100) func afterDeployingThereIsNothingToDeploy(seed: UInt64) throws {
        var maker = SchemaMaker(seed: seed &+ 5000)
        let (development, production) = (maker.schema(), maker.schema())
        let plan = SchemaDeploymentPlan(from: development, to: production)
        #expect(plan.canRun == (plan.refusal == nil))
        guard plan.canRun else { return }
        let result = try production.applying(plan.edits)
        #expect(SchemaDeploymentPlan(from: development, to: result).isEmpty)
        #expect(SchemaDifference(from: production, to: result).losses.isEmpty)
        #expect(result.roles == development.roles.union(production.roles))
    }
}
