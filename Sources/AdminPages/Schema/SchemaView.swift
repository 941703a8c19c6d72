internal import Console
internal import RecordStore
internal import Records

/// The page Schema file: the schema in CloudKit's schema language, and the form that imports another one.
struct SchemaView: Page {
    static let template = "schema"
    static let tab = Tab.schema

    let title = Self.tab.title
    let notice: String?
    let text: String
    let fileName: String
    let export: String
    /// `nil` in production, whose schema comes from deployments only.
    let form: SchemaFileForm?
    let deploy: String
    let works: IndexWorkPanel?
    let hasComposites: Bool
    let count: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> SchemaView {
        let schema = try schema(visit)
        return SchemaView(
            notice: Notice.text(visit.fields["notice"]), text: schema.text, fileName: fileName(visit), export: visit.place.link("schema/export"),
            form: visit.canEditSchema ? SchemaFileForm(visit) : nil, deploy: visit.place.link("deploy"), works: try await visit.indexWorks().panel,
            hasComposites: schema.types.values.contains { !$0.compositeIndexes.isEmpty }, count: Digits.count(visit.ownTypes.count, "record type"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// The schema file for download.
    static func text(_ visit: Visit) throws -> String {
        try schema(visit).text
    }

    /// `iCloud.com.example.App-development.ckdb`
    static func fileName(_ visit: Visit) -> String {
        "\(visit.place.address.container)-\(visit.place.address.environment.rawValue).ckdb"
    }

    private static func schema(_ visit: Visit) throws -> Schema {
        guard let schema = visit.schema else { throw visit.database.unable(.showSchema) }
        return schema
    }
}
