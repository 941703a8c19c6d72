package import Console
internal import RecordStore
internal import Records

/// The page Reset: deletes all data in development and resets its schema.
package struct ResetView: Page {
    package static let template = "reset"
    package static let tab = Tab.reset

    struct TypeRow: ViewModel {
        let name: String
        let records: String?
    }

    package let title = Self.tab.title
    let container: String
    let isProduction: Bool
    let development: String
    /// The confirmation input, if it did not match the container's name.
    let typed: String?
    let types: [TypeRow]
    /// `nil` if the engine does not count records.
    let total: String?
    /// The schema changes of the reset; `nil` if the schema already equals production's.
    let changes: SchemaChangeList?
    let action: String
    let back: String
    let snapshots: String?
}

extension ResetView {
    package static func load(_ visit: Visit) async throws -> ResetView {
        try await load(visit, typed: nil)
    }

    /// Resets development if the confirmation input matches the container's name.
    package static func reset(_ visit: Visit) async throws -> Answer {
        guard visit.place.address.environment == .development else {
            throw RecordError(.accessDenied, "Production can't be reset; choose development")
        }
        let typed = visit.fields["container"]?.trimmingSpaces ?? ""
        guard Name(typed) == Name(visit.place.address.container.description) else {
            return .page(try await load(visit, typed: typed))
        }
        let editing = try await visit.database(in: .development)
        let production = try await visit.schema(of: .production)
        _ = try await visit.measure { try await editing.require(.editSchema).reset(to: production) }
        return .redirect(visit.place.with { $0.zone = .unspecified }.link("reset", [Notice.environmentReset.parameter]))
    }

    private static func load(_ visit: Visit, typed: String?) async throws -> ResetView {
        let place = visit.place
        let isProduction = place.address.environment == .production
        let schema = visit.schema ?? Schema()
        let difference =
            isProduction ? nil : SchemaDifference(from: schema, to: try await visit.schema(of: .production))
        let counts = isProduction ? nil : try await records(of: schema, visit)
        return ResetView(
            container: place.address.container.description, isProduction: isProduction,
            development: place.with {
                $0.address.environment = .development; $0.zone = .unspecified
            }.link("reset"), typed: typed,
            types: schema.sortedTypes.filter { $0.name != Schema.usersType }.map { type in
                TypeRow(name: type.name.string, records: counts.map { Digits.grouped($0[type.name] ?? 0) })
            },
            total: counts.map { Digits.count($0.values.reduce(0, +), "record") },
            changes: difference.flatMap {
                $0.isEmpty
                    ? nil
                    : SchemaChangeList(
                        $0, of: schema, before: "development now", after: "after the reset, as production is")
            },
            action: place.link("reset"), back: place.link("types"), snapshots: visit.snapshots)
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
