import Accounts
import AssetStore
import Console
import ConsolePages
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

/// The pages of roles and history, and the common parts of all schema pages.
@Suite struct RoleAndHistoryPageTests {
    // MARK: Roles

    @Test func rolesAreMadeGrantedAndRemoved() async throws {
        try await SchemaPageStage.with { stage in
            #expect(
                try await stage.post("roles/add", "role=Editor").headers[.location]
                    == "\(SchemaPageStage.there)/roles?notice=role-added")
            let again = try await stage.post("roles/add", "role=Editor")
            #expect(again.status == .badRequest && String(buffer: again.body).contains("value=\"Editor\""))
            #expect(try await stage.post("roles/add", "role=_world").status == .badRequest)
            #expect(try await stage.database.require(.showSchema).schema().roles == ["Editor"])
            let form = try await stage.page("roles?type=Note")
            #expect(
                form.contains("aria-label=\"Editor may WRITE\"")
                    && form.contains("value=\"_world:READ\" aria-label=\"_world may READ\" checked"))
            let saved = try await stage.post(
                "roles/grants", "type=Note&grant=_world%3AREAD&grant=Editor%3AREAD&grant=Editor%3AWRITE")
            #expect(saved.headers[.location] == "\(SchemaPageStage.there)/roles?notice=grants-changed")
            #expect(
                Set(try await stage.type("Note").grants) == [
                    Grant(role: "_world", permissions: [.read]), Grant(role: "Editor", permissions: [.read, .write]),
                ])
            #expect(try await stage.page("roles").contains("in use"))
            #expect(try await stage.post("roles/remove", "role=Editor").status == .badRequest)
            #expect(try await stage.post("roles/grants", "type=Note&grant=_world%3AREAD").status == .seeOther)
            #expect(try await stage.page("roles").contains("Delete the role Editor"))
            #expect(
                try await stage.post("roles/remove", "role=Editor").headers[.location]
                    == "\(SchemaPageStage.there)/roles?notice=role-removed")
            #expect(try await stage.database.require(.showSchema).schema().roles.isEmpty)
        }
    }

    @Test(arguments: [
        "type=Note", "type=Note&grant=_world%3AFLY", "type=Note&grant=_world", "type=Note&grant=Nobody%3AREAD",
        "type=Nothing&grant=_world%3AREAD",
    ])
    func grantsThatMakeNoSenseAreRefused(form: String) async throws {
        try await SchemaPageStage.with { stage in
            let before = try await stage.database.require(.showSchema).schema()
            let status = try await stage.post("roles/grants", form).status
            #expect(status == .badRequest || status == .notFound)
            #expect(try await stage.database.require(.showSchema).schema() == before)
        }
    }

    @Test func rolesAreGivenAndTaken() async throws {
        try await SchemaPageStage.with { stage in
            let developer = stage.database.caller.userRecordName
            _ = try await stage.post("roles/add", "role=Editor")
            let number = CustomRole.number(of: "Editor")
            let empty = try await stage.page("roles")
            #expect(
                empty.contains(">\(number)</td>") && empty.contains("aria-label=\"Assign the role Editor\"")
                    && !empty.contains("Remove the role Editor from"))
            for _ in 0..<2 {
                let given = try await stage.post("roles/give", "role=Editor&user=\(developer)")
                #expect(given.headers[.location] == "\(SchemaPageStage.there)/roles?notice=role-given")
                #expect(try await stage.roleNumbers(of: developer) == [number])
            }
            #expect(try await stage.page("roles").contains("aria-label=\"Remove the role Editor from Developer\""))
            let taken = try await stage.post("roles/take", "role=Editor&user=\(developer)")
            #expect(taken.headers[.location] == "\(SchemaPageStage.there)/roles?notice=role-taken")
            #expect(try await stage.roleNumbers(of: developer) == [])
            #expect(try await !stage.page("roles").contains("Remove the role Editor from"))
        }
    }

    @Test(arguments: [
        ("role=Nothing&user=_00000000000000000000000000000000", HTTPResponse.Status.notFound),
        ("role=Editor&user=_00000000000000000000000000000000", .notFound), ("role=Editor&user=somebody", .badRequest),
        ("role=Editor", .badRequest),
    ])
    func rolesAreGivenToUsersAlone(form: String, status: HTTPResponse.Status) async throws {
        try await SchemaPageStage.with { stage in
            _ = try await stage.post("roles/add", "role=Editor")
            #expect(try await stage.post("roles/give", form).status == status)
        }
    }

    // MARK: History

    @Test func historyHasPages() async throws {
        try await SchemaPageStage.with { stage in
            let reasons: [Int: SchemaHistoryEntry.Reason] = [120: .schemaImport, 119: .save]
            stage.engine.history.withLock {
                $0 = (1...120).reversed().map { number in
                    SchemaHistoryEntry(
                        number: Int64(number), timestamp: Timestamp(milliseconds: 1_790_000_000_000),
                        userRecordName: stage.database.caller.userRecordName,
                        reason: reasons[number] ?? .edit,
                        changes: number == 120 ? (1...30).map { "Note: field 'f\($0)' added" } : ["Note: <\(number)>"])
                }
            }
            let first = try await stage.page("history")
            #expect(first.matches(of: />Developer<\/td>/).count == 50)
            #expect(
                first.contains(">schema file</span>") && first.contains(">saved</span>")
                    && first.contains("<summary>22 more</summary>")
                    && first.contains("&#39;f30&#39;"))
            #expect(first.contains("&lt;119&gt;") && !first.contains("<119>"))
            #expect(first.contains("history?before=71") && !first.contains("« Latest"))
            #expect(try await stage.page("history?before=71").contains("history?before=21"))
            let last = try await stage.page("history?before=21")
            #expect(last.contains("« Latest") && !last.contains("Earlier ›") && last.contains("&lt;1&gt;"))
            #expect(try await stage.page("history?before=1").contains("No earlier changes"))
            #expect(try await stage.get("history?before=x").status == .badRequest)
        }
    }

    @Test func whatPeopleDoHereIsInTheHistory() async throws {
        try await SchemaStage.run { stage in
            _ = try await stage.post("types/create", "name=Song")
            let page = try await stage.page("history")
            #expect(page.contains("Song") && page.contains(">edited</span>") && page.contains(">Developer</td>"))
        }
    }

    // MARK: Production

    @Test func productionShowsEverythingAndChangesNothing() async throws {
        try await SchemaPageStage.with { stage in
            let container = try #require(ContainerID("iCloud.com.example.App"))
            let address = DatabaseAddress(container: container, environment: .production, scope: .private)
            let production = try await stage.engine.database(address, as: stage.database.caller)
            let schema = try await production.require(.deploySchema).deploy(
                try await stage.database.require(.showSchema).schema(), waitingForIndexes: true)
            for path in ["types", "type?type=Note", "indexes?show=all", "roles", "roles?type=Note", "history"] {
                let page = try await stage.page(path, in: SchemaPageStage.production)
                for control in [
                    "name=\"has\"", "name=\"grant\"", "Delete…", "types/create", "\"New field\"", "roles/add",
                ] {
                    #expect(!page.contains(control), "\(path): \(control)")
                }
            }
            for (path, form) in [
                ("types/create", "name=Song"), ("type/remove", "type=Note"),
                ("type/indexes", "type=Note&field=x&fieldType=STRING"),
                ("field/remove", "type=Note&field=title"), ("type/indexes", "add=Note%2Frank%3ASORTABLE"),
                ("roles/add", "role=Editor"),
                ("roles/grants", "type=Note&grant=_world%3AREAD"),
            ] {
                #expect(
                    try await stage.post(path, form, in: SchemaPageStage.production).status == .forbidden, "\(path)")
            }
            #expect(try await production.require(.showSchema).schema() == schema)
            // Composite indexes are Skylight's own and are allowed in production.
            _ = try await stage.database.require(.editSchema).edit([
                .setIndexes(.sortable, of: .custom("rank"), in: "Note")
            ])
            _ = try await production.require(.deploySchema).deploy(
                try await stage.database.require(.showSchema).schema(), waitingForIndexes: true)
            #expect(
                try await stage.post(
                    "composites/change", "type=Note&filter=title&sort=rank", in: SchemaPageStage.production
                ).status == .seeOther)
            #expect(try await production.require(.showSchema).schema().types["Note"]?.compositeIndexes.count == 1)
        }
    }

    @Test func formsOfOtherSitesAndLinksChangeNothing() async throws {
        try await SchemaPageStage.with { stage in
            let before = try await stage.database.require(.showSchema).schema()
            for (path, form) in [
                ("types/create", "name=Song"), ("type/remove", "type=Note"),
                ("type/indexes", "type=Note&field=x&fieldType=STRING"),
                ("field/remove", "type=Note&field=title"), ("composites/change", "drop=Note%2Ftitle%3Arank"),
                ("roles/add", "role=Editor"),
                ("roles/remove", "role=Editor"), ("roles/grants", "type=Note&grant=_world%3AREAD"),
            ] {
                for origin in ["https://example.com", "null"] {
                    let foreign = try await stage.post(path, form, [.origin: origin])
                    #expect(foreign.status == .forbidden, "\(path) from \(origin)")
                }
                _ = try await stage.get("\(path)?\(form)")
            }
            #expect(try await stage.database.require(.showSchema).schema() == before)
        }
    }
}

extension SchemaPageStage {
    fileprivate func roleNumbers(of user: Name) async throws -> [Int64] {
        let address = DatabaseAddress(container: database.address.container, environment: .development, scope: .public)
        let record = try await engine.database(address, as: database.caller).fetch(
            [RecordID(recordName: user)], desiredKeys: nil)[0].get()
        guard case .list(let elements, _)? = try record.fields.values(of: ["roles"])["roles"] else { return [] }
        return elements.compactMap { if case .int64(let number) = $0 { number } else { nil } }
    }
}
