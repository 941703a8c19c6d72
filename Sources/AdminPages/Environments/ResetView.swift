package import Console
internal import RecordStore
internal import Records

/// The page Reset: deletes all data in development and resets its schema.
package enum ResetView {
    package static func load(_ visit: Visit) async throws -> ComponentPage { try await page(visit) }

    /// Resets development if the confirmation input matches the container's name.
    package static func reset(_ visit: Visit) async throws -> Answer {
        guard visit.place.address.environment == .development else {
            throw RecordError(.accessDenied, "Production can't be reset; choose development")
        }
        let typed = visit.fields["container"]?.trimmingSpaces ?? ""
        guard Name(typed) == Name(visit.place.address.container.description) else {
            return .page(try await page(visit, typed: typed))
        }
        let editing = try await visit.database(in: .development)
        let production = try await visit.schema(of: .production)
        _ = try await visit.measure { try await editing.require(.editSchema).reset(to: production) }
        return .redirect(visit.place.with { $0.zone = .unspecified }.link("reset", [Notice.environmentReset.parameter]))
    }

    /// - Parameter typed: the name that was entered, if it is not the container's.
    private static func page(_ visit: Visit, typed: String? = nil) async throws -> ComponentPage {
        let place = visit.place
        guard place.address.environment == .development else {
            let development = place.with {
                $0.address.environment = .development
                $0.zone = .unspecified
            }
            return ComponentPage(
                .reset,
                PageHead(
                    Tab.reset.title, ["Production is never reset."],
                    actions: [.button("Go to development", development.link("reset"))]), [])
        }
        let schema = visit.schema ?? Schema()
        let difference = SchemaDifference(from: schema, to: try await visit.schema(of: .production))
        let container = place.address.container.description
        var parts: [any Component] = [
            Columns([
                question(container, typed, visit), types(of: schema, try await records(of: schema, visit)),
            ])
        ]
        if !difference.isEmpty {
            let changes = SchemaChangeList(
                difference, of: schema, before: "development now", after: "after the reset, as production is")
            parts.append(Section("changes", "Schema changes", [changes]))
        }
        return ComponentPage(
            .reset,
            PageHead(
                Tab.reset.title,
                [
                    "This deletes all data of \(strong: container) in development, and gives development the schema of production."
                ]), parts)
    }

    private static func question(_ container: String, _ typed: String?, _ visit: Visit) -> Section {
        let wrong = typed.map { Note(bad: "‘\($0)’ is not the name of this container.", "Nothing was reset.") }
        let snapshots = visit.snapshots.map { [Frame.Link.button("Save a snapshot first…", $0)] } ?? []
        return Section(
            "deleted", "Deleted data",
            [
                Listing(
                    [
                        "All records of all users, in the public, the private and the shared databases, with their assets",
                        "All zones except the default ones, and all sharing; clients see the zones as purged and delete their copies",
                        "Types, fields, indexes and roles that production does not have",
                    ], style: "dots"),
                Paragraph("Users, API tokens, keys and the schema history stay. A reset can’t be undone."),
            ] + (wrong.map { [$0] } ?? []) + [
                Form(
                    .line, visit.place.link("reset"),
                    [
                        FormField(
                            .longCode, "container", "Type the container’s name, \(container), to confirm",
                            isRequired: true)
                    ], button: "Reset development", buttonStyle: "go danger",
                    links: [.button("Cancel", visit.place.link(Tab.types.rawValue))] + snapshots)
            ])
    }

    private static func types(of schema: Schema, _ counts: [Name: Int]?) -> Section {
        let names = schema.sortedTypes.map(\.name).filter { $0 != Schema.usersType }
        let facts = names.map { name in
            Facts.Fact(Inline(name.string), counts.map { Inline(Digits.grouped($0[name] ?? 0)) } ?? "")
        }
        let total = counts.map { counts in
            [Facts.Fact("in all", "\(strong: Digits.count(counts.values.reduce(0, +), "record"))")]
        }
        return Section(
            "types", counts == nil ? "Types" : "Types and their records",
            [names.isEmpty ? Paragraph.faint("There are none.") : Facts(facts + (total ?? []))])
    }

    private static func records(of schema: Schema, _ visit: Visit) async throws -> [Name: Int]? {
        guard visit.database.can(.measureTypes) else { return nil }
        var counts: [Name: Int] = [:]
        for name in schema.types.keys where name != Schema.usersType {
            counts[name] = try await visit.measure {
                try await visit.database.require(.measureTypes).valueCounts(of: [], in: name).records
            }
        }
        return counts
    }
}
