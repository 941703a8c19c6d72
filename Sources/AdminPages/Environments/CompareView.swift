internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page Compare: differences between the schemas of development and production.
struct CompareView: Page {
    static let template = "compare"
    static let tab = Tab.compare

    /// A composite index, and the environments that have it.
    struct CompositeRow: ViewModel {
        let typeName: String
        let index: String
        let isInDevelopment: Bool
        let isInProduction: Bool
    }

    let title = "Compare"
    let container: String
    /// `nil` if the schemas are equal.
    let changes: SchemaChangeList?
    let composites: [CompositeRow]
    let deploy: String
    let types: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> CompareView {
        let development = try await visit.schema(of: .development)
        let production = try await visit.schema(of: .production)
        let difference = SchemaDifference(from: production, to: development)
        let respellings = SchemaRespelling.all(from: production, to: development)
        return CompareView(
            container: visit.place.address.container.description,
            changes: difference.isEmpty && respellings.isEmpty
                ? nil : SchemaChangeList(difference, respellings, of: development, before: "production", after: "development"),
            composites: composites(development, production), deploy: visit.place.link("deploy"),
            types: Digits.count(Set(development.types.keys).union(production.types.keys).count, "type"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func composites(_ development: Schema, _ production: Schema) -> [CompositeRow] {
        Set(development.types.keys).union(production.types.keys).sorted().flatMap { name in
            let here = development.types[name]?.compositeIndexes ?? []
            let there = production.types[name]?.compositeIndexes ?? []
            return here.symmetricDifference(there).map { index in
                CompositeRow(
                    typeName: name.string, index: index.words, isInDevelopment: here.contains(index), isInProduction: there.contains(index))
            }.sorted { Name($0.index) < Name($1.index) }
        }
    }
}
