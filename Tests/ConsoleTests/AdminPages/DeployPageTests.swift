import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import StoreScenarios
import Testing

@testable import AdminPages
@testable import Console

/// The pages that transfer schemas: Deploy, Schema file, Reset.
@Suite struct DeployPageTests {
    private func text(_ response: TestResponse) -> String { String(buffer: response.body) }

    // MARK: Deploy

    @Test func whatDiffersIsShownAndDeployed() async throws {
        try await SchemaStage.run { stage in
            #expect(try await stage.get("compare").headers[.location] == "\(SchemaStage.there)/deploy")
            let plan = try await stage.page("deploy")
            #expect(
                plan.contains("RECORD TYPE Item (") && plan.contains("    shelf STRING QUERYABLE")
                    && plan.contains("author REFERENCE"))
            #expect(plan.contains("have <b>1 difference</b>"))
            // The button comes before a list that may be long.
            let (button, list) = (
                plan.firstRange(of: "deploy/confirm\">Deploy to production…</a>"),
                plan.firstRange(of: "<table class=\"sides\">")
            )
            #expect(try #require(button).lowerBound < #require(list).lowerBound)
            let question = try await stage.page("deploy/confirm")
            #expect(question.contains("Production gets 1 index."))
            let answer = try await stage.press("Deploy to production", on: question)
            #expect(answer.status == .seeOther)
            let development = try await stage.database(.development).require(.showSchema).schema()
            #expect(try await stage.database(.production).require(.showSchema).schema().text == development.text)
            let done = try await stage.page("deploy?notice=deployed")
            #expect(done.contains("Deployed: production has") && done.contains("There is nothing to deploy"))
            #expect(!done.contains("deploy/confirm"))
            #expect(try await stage.get("deploy/confirm").headers[.location] == "\(SchemaStage.there)/deploy")
            #expect(try await stage.page("deploy", in: "production").contains("have the same schema"))
            let query = try await stage.page("query", in: "production")
            #expect(
                query.contains("The schema is deployed. There are no records yet.")
                    && query.contains("/record/new?type=Item\">New record</a>"))
            // Somebody who asks for a type reads about the type.
            let asked = try await stage.page("query?type=Item&filter1=shelf&is1=EQUALS&value1=left", in: "production")
            #expect(
                asked.contains("No Item matches") && asked.contains(">New record</a>")
                    && !asked.contains("no records yet"))
        }
    }

    @Test func theQuestionNamesWhatBecomesPermanent() async throws {
        try await SchemaStage.run { stage in
            let plan = try await stage.page("deploy/confirm")
            #expect(
                plan.contains("1 record type becomes permanent.") && plan.contains("<b>Item</b>")
                    && plan.contains("type with 4 fields, created in the schema just now"))
            let (words, button) = (
                plan.firstRange(of: "becomes permanent"), plan.firstRange(of: ">Deploy to production</button>")
            )
            #expect(try #require(words).lowerBound < #require(button).lowerBound)
            _ = try await stage.press("Deploy to production", on: plan)
            // A save with a misspelt field, and one with a misspelt type.
            let development = try await stage.database(.development)
            for (type, field): (Name, Name) in [("Item", "titel"), ("Itme", "title")] {
                try await development.save("x-\(type)", type: type, [field: .string("t")])
            }
            let slips = try await stage.page("deploy/confirm")
            #expect(
                slips.contains("1 record type and 1 field become permanent.")
                    && slips.contains("type with 1 field, created by a request just now"))
            #expect(slips.contains("<b>Item.titel</b>") && slips.contains("STRING, created by a request just now"))
            // An index is no addition.
            _ = try await stage.press("Deploy to production", on: slips)
            _ = try await development.require(.editSchema).edit([
                .setIndexes(.sortable, of: .custom("year"), in: "Item")
            ])
            let index = try await stage.page("deploy/confirm")
            #expect(!index.contains("permanent") && index.contains("Production gets 1 index."))
        }
    }

    @Test func looksAtNothingMakeNoEnvironment() async throws {
        try await SchemaStage.run { stage in
            for path in ["deploy", "schema", "reset"] { _ = try await stage.page(path) }
            let container = try #require(ContainerID("iCloud.com.example.App"))
            #expect(try await stage.engine.require(.listEnvironments).environments(of: container) == [.development])
        }
    }

    @Test func onlyDifferencesAreShownSideBySide() async throws {
        try await SchemaStage.run { stage in
            let development = try await stage.database(.development)
            _ = try await stage.database(.production).require(.deploySchema).deploy(
                try await development.require(.showSchema).schema(), waitingForIndexes: true)
            _ = try await development.require(.editSchema).edit([
                .setIndexes([], of: .custom("shelf"), in: "Item"),
                .setIndexes(.sortable, of: .custom("year"), in: "Item"),
                .addType(RecordType(name: "Item", fields: ["pages": FieldDefinition(type: .int64)])),
                .addRole("Editor"),
                .addCompositeIndex(CompositeIndex(filter: .custom("author"), sort: .custom("year")), in: "Item"),
            ])
            let page = try await stage.page("deploy")
            #expect(page.contains("4 differences"))
            for line in [
                "shelf STRING QUERYABLE</code>", "shelf STRING</code>", "year INT64 SORTABLE</code>",
                "pages INT64</code>", "CREATE ROLE Editor</code>",
            ] {
                #expect(page.contains(line), "\(line)")
            }
            #expect(!page.contains("title STRING"))
            #expect(page.contains("Composite indexes</h2>"))
            #expect(page.contains("Queries in production that need QUERYABLE will be refused"))
            let question = try await stage.page("deploy/confirm")
            #expect(question.contains("Production loses 1 index."))
            _ = try await stage.press("Deploy to production", on: question)
            #expect(try await stage.type("Item", in: .production)?.fields["shelf"]?.indexes == [])
            #expect(try await stage.type("Item", in: .production)?.compositeIndexes == [])
        }
    }

    @Test func aRoleOfProductionAloneStays() async throws {
        try await SchemaStage.run { stage in
            let development = try await stage.database(.development)
            _ = try await development.require(.editSchema).edit([.addRole("Editor")])
            _ = try await stage.database(.production).require(.deploySchema).deploy(
                try await development.require(.showSchema).schema(), waitingForIndexes: true)
            _ = try await development.require(.editSchema).edit([.removeRole("Editor")])
            let page = try await stage.page("deploy")
            #expect(
                page.contains("A deployment leaves this role in production.")
                    && page.contains("There is nothing to deploy"))
            #expect(!page.contains("deploy/confirm"))
        }
    }

    @Test func whatWouldRemoveAFieldIsRefused() async throws {
        try await SchemaStage.run { stage in
            let development = try await stage.database(.development)
            _ = try await stage.database(.production).require(.deploySchema).deploy(
                try await development.require(.showSchema).schema(), waitingForIndexes: true)
            _ = try await development.require(.editSchema).edit([.removeField("year", in: "Item")])
            let page = try await stage.page("deploy")
            #expect(page.contains("This can&#39;t be deployed") || page.contains("This can't be deployed"))
            #expect(page.contains("Development no longer has Item.year INT64"))
            #expect(page.contains("A deployment can&#39;t delete this from production"))
            #expect(!page.contains("deploy/confirm"))
            let fingerprint = SchemaFingerprint.text(
                from: try await development.require(.showSchema).schema(),
                to: try await stage.database(.production).require(.showSchema).schema())
            #expect(try await stage.post("deploy", "fingerprint=\(fingerprint)").status == .badRequest)
            #expect(try await stage.type("Item", in: .production)?.fields["year"] != nil)
        }
    }

    @Test func whatWasNotShownIsNotDeployed() async throws {
        try await SchemaStage.run { stage in
            let plan = try await stage.page("deploy/confirm")
            _ = try await stage.database(.development).require(.editSchema).edit([.addType(RecordType(name: "Late"))])
            let stale = text(try await stage.press("Deploy to production", on: plan))
            #expect(stale.contains("Nothing was deployed") && stale.contains("RECORD TYPE Late"))
            #expect(try await stage.type("Item", in: .production) == nil)
            // The current plan can be deployed.
            let question = try await stage.page("deploy/confirm")
            #expect(try await stage.press("Deploy to production", on: question).status == .seeOther)
            #expect(try await stage.type("Late", in: .production) != nil)
            #expect(try await stage.post("deploy", "").status == .ok)
        }
    }

    // MARK: Schema file

    @Test func whatIsExportedIsImportedWithNothingToDo() async throws {
        try await SchemaStage.run { stage in
            let answer = try await stage.get("schema/export")
            #expect(
                answer.headers[.contentDisposition]
                    == "attachment; filename=\"iCloud.com.example.App-development.ckdb\"")
            let schema = try await stage.database(.development).require(.showSchema).schema()
            #expect(text(answer) == schema.text)
            let page = text(try await stage.send("schema/import", [("text", "")], file: text(answer)))
            #expect(page.contains("Nothing to import"))
            // Browsers send CRLF line endings.
            #expect(
                text(try await stage.send("schema/import", [("text", text(answer).replacing("\n", with: "\r\n"))]))
                    .contains("Nothing to import"))
        }
    }

    @Test func aWrongLineHasACaret() async throws {
        try await SchemaStage.run { stage in
            let page = text(
                try await stage.send(
                    "schema/import", [("text", "DEFINE SCHEMA\n    RECORD TYPE Item (\n        title STRNG\n    );\n")])
            )
            #expect(page.contains("line 3, column 15"))
            #expect(page.contains("        title STRNG\n              ^</code></pre>"))
            #expect(page.contains(">\nDEFINE SCHEMA\n    RECORD TYPE Item"))
            #expect(!page.contains(">Import</button>"))
        }
    }

    @Test func lossesAreCountedAndAskedFor() async throws {
        try await SchemaStage.run { stage in
            let file = "DEFINE SCHEMA\nRECORD TYPE Item (title STRING QUERYABLE, author STRING, year INT64);"
            let page = text(try await stage.send("schema/import", [("text", "ignored")], file: file))
            #expect(page.contains("The import deletes 2 fields with values."))
            #expect(page.contains("in 3 records are deleted"))
            #expect(page.contains("title STRING QUERYABLE</code>"))
            let fingerprint = try #require(page.firstMatch(of: /name="fingerprint" value="([^"]*)"/)?.output.1)
            let unasked = try await stage.send("schema/apply", [("text", file), ("fingerprint", String(fingerprint))])
            #expect(text(unasked).contains("Confirm the deletion") && text(unasked).contains(">Import</button>"))
            #expect(text(unasked).contains("author STRING, year INT64);"))
            #expect(try await stage.type("Item")?.fields["shelf"] != nil)
            let done = try await stage.send(
                "schema/apply", [("text", file), ("fingerprint", String(fingerprint)), ("accept", "1")])
            #expect(done.status == .seeOther)
            let type = try #require(try await stage.type("Item"))
            #expect(type.fields["shelf"] == nil && type.fields["author"]?.type == .string)
            #expect(type.fields["title"]?.indexes == .queryable)
            #expect(try await stage.page("schema?notice=schema-imported").contains("The schema file is imported"))
        }
    }

    @Test func aDeployedFieldIsNotImportedAway() async throws {
        try await SchemaStage.run { stage in
            _ = try await stage.database(.production).require(.deploySchema).deploy(
                try await stage.database(.development).require(.showSchema).schema(), waitingForIndexes: true)
            let file = "DEFINE SCHEMA\nRECORD TYPE Item (author REFERENCE, shelf STRING QUERYABLE, title STRING);"
            let page = text(try await stage.send("schema/import", [("text", file)]))
            #expect(page.contains("role=\"alert\"") && page.contains("field &#39;year&#39;"))
            #expect(!page.contains(">Import</button>"))
        }
    }

    @Test func mergingOnlyAdds() async throws {
        try await SchemaStage.run { stage in
            let file = "DEFINE SCHEMA\nRECORD TYPE Item (pages INT64 SORTABLE);\nRECORD TYPE Box (size INT64);"
            let page = text(try await stage.send("schema/import", [("text", file), ("merge", "1")]))
            #expect(!page.contains("The import deletes") && page.contains("pages INT64 SORTABLE</code>"))
            let fingerprint = try #require(page.firstMatch(of: /name="fingerprint" value="([^"]*)"/)?.output.1)
            let sent = [("text", file), ("merge", "1"), ("fingerprint", String(fingerprint))]
            #expect(try await stage.send("schema/apply", sent).status == .seeOther)
            #expect(try await stage.type("Item")?.fields.count == 5)
            #expect(try await stage.type("Box") != nil)
            let conflict = text(
                try await stage.send(
                    "schema/import", [("text", "DEFINE SCHEMA\nRECORD TYPE Item (year STRING);"), ("merge", "1")]))
            #expect(
                conflict.contains("INT64") && conflict.contains("BAD_REQUEST") && !conflict.contains(">Import</button>")
            )
        }
    }

    @Test func whatWasNotShownIsNotImported() async throws {
        try await SchemaStage.run { stage in
            let file = "DEFINE SCHEMA\nRECORD TYPE Box (size INT64);"
            let page = text(try await stage.send("schema/import", [("text", file), ("merge", "1")]))
            let fingerprint = try #require(page.firstMatch(of: /name="fingerprint" value="([^"]*)"/)?.output.1)
            _ = try await stage.database(.development).require(.editSchema).edit([.addType(RecordType(name: "Late"))])
            let stale = text(
                try await stage.send(
                    "schema/apply", [("text", file), ("merge", "1"), ("fingerprint", String(fingerprint))]))
            #expect(stale.contains("the schema changed after the plan was shown"))
            #expect(try await stage.type("Box") == nil)
            // An invalid schema is reported as such, not as an outdated preview.
            for text in [
                "DEFINE SCHEMA\nRECORD TYPE Box (size INT65);", "DEFINE SCHEMA\nRECORD TYPE Item (year STRING);",
            ] {
                let answer = self.text(
                    try await stage.send(
                        "schema/apply", [("text", text), ("merge", "1"), ("fingerprint", String(fingerprint))]))
                #expect(
                    !answer.contains("changed since") && !answer.contains(">Import</button>")
                        && answer.contains("role=\"alert\""))
            }
        }
    }

    @Test func anotherSpellingIsShown() async throws {
        try await SchemaStage.run { stage in
            let file =
                "DEFINE SCHEMA\nRECORD TYPE Item (author REFERENCE, shelf STRING QUERYABLE, title STRING, year NUMBER PREFERRED AS INT64);"
            let page = text(try await stage.send("schema/import", [("text", file)]))
            #expect(
                page.contains("year INT64</code>") && page.contains("year NUMBER PREFERRED AS INT64</code>")
                    && page.contains(">Import</button>"))
            let fingerprint = try #require(page.firstMatch(of: /name="fingerprint" value="([^"]*)"/)?.output.1)
            let sent = [("text", file), ("fingerprint", String(fingerprint))]
            #expect(try await stage.send("schema/apply", sent).status == .seeOther)
            #expect(text(try await stage.send("schema/import", [("text", file)])).contains("Nothing to import"))
        }
    }

    @Test func tooLargeFilesAreRefused() async throws {
        try await SchemaStage.run { stage in
            let file = "DEFINE SCHEMA\n" + String(repeating: "// nothing\n", count: SchemaText.serverLimit / 11 + 1)
            let page = text(try await stage.send("schema/import", [("text", "")], file: file))
            #expect(
                page.contains("is 2 MiB here") && !page.contains("The text is not a valid schema")
                    && page.utf8.count < 100_000)
        }
    }

    @Test func productionTakesNoFile() async throws {
        try await SchemaStage.run { stage in
            let page = try await stage.page("schema", in: "production")
            #expect(!page.contains("<textarea"))
            #expect(try await stage.post("schema/import", "text=DEFINE+SCHEMA", in: "production").status == .forbidden)
            #expect(try await stage.post("schema/apply", "text=DEFINE+SCHEMA", in: "production").status == .forbidden)
        }
    }

    // MARK: Reset

    @Test func resettingAsksForTheName() async throws {
        try await SchemaStage.run { stage in
            let page = try await stage.page("reset")
            #expect(page.contains("<dt>Item</dt><dd>3</dd>") && page.contains("Schema changes"))
            for typed in ["", "icloud.com.example.app", "iCloud.com.example.Ap"] {
                let answer = text(try await stage.post("reset", "container=\(typed)"))
                #expect(answer.contains("Nothing was reset"))
            }
            #expect(try await stage.type("Item") != nil)
            #expect(
                try await stage.post("reset", "container=iCloud.com.example.App", in: "production").status == .forbidden
            )
            let answer = try await stage.post("reset", "container=iCloud.com.example.App")
            #expect(answer.status == .seeOther)
            #expect(try await stage.type("Item") == nil)
            #expect(try await stage.page("reset?notice=environment-reset").contains("Development is reset"))
            #expect(try await stage.page("reset", in: "production").contains("Production is never reset"))
        }
    }

    @Test func nothingChangesOnGet() async throws {
        try await SchemaStage.run { stage in
            let before = try await stage.database(.development).require(.showSchema).schema()
            for path in [
                "deploy?fingerprint=1", "reset?container=iCloud.com.example.App", "schema?text=DEFINE%20SCHEMA",
            ] { _ = try await stage.page(path) }
            for path in ["schema/import", "schema/apply"] { #expect(try await stage.get(path).status == .notFound) }
            #expect(try await stage.database(.development).require(.showSchema).schema() == before)
        }
    }

    // MARK: Forms with files

    private static func parts(_ text: some Sequence<UInt8>, boundary: String = "B") -> [MultipartForm.Part]? {
        MultipartForm(Array(text), contentType: "multipart/form-data; boundary=\(boundary)")?.parts
    }

    @Test func brokenFormsAreReadAsFarAsTheyGo() {
        let whole = Array("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n".utf8)
        let end = whole.count - "\r\n".utf8.count
        for count in 0...whole.count { #expect(Self.parts(whole[..<count])?.count == (count < end ? 0 : 1)) }
        #expect(Self.parts("--B\r\n\r\n1\r\n--B--".utf8)?.isEmpty == true)
        #expect(Self.parts("--B\r\n\r\n--B\r\n--B\r\n--B".utf8)?.isEmpty == true)
        // The parts before the broken one count.
        #expect(Self.parts(whole[..<(end - 2)] + Array("\r\nnonsense\r\n\r\n2\r\n--B--".utf8))?.map(\.text) == ["1"])
        // A boundary prefix at every position, and one that restarts within itself.
        let nearly = String(repeating: "\r\n-", count: 1 << 18)
        let head = "Content-Disposition: form-data; name=\"a\"\r\n\r\n"
        #expect(Self.parts("--B\r\n\(head)\(nearly)\r\n--B--".utf8)?.map(\.text) == [nearly])
        #expect(Self.parts("----a\r\n\(head)1\r\r\n----a--".utf8, boundary: "--a")?.map(\.text) == ["1\r"])
        let hyphens = [UInt8](repeating: UInt8(ascii: "-"), count: 1 << 20)
        #expect(Self.parts(hyphens, boundary: String(repeating: "-", count: 70))?.isEmpty == true)
        // What has no boundary is read as another kind of form.
        for type in ["multipart/form-data", "multipart/form-data; boundary=", nil] {
            #expect(MultipartForm(whole, contentType: type) == nil)
        }
    }
}
