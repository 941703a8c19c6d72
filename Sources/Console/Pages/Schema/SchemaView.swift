internal import RecordStore
internal import Records

/// The page Schema text: the whole schema in CloudKit's schema language.
struct SchemaView: Page {
    static let template = "schema"
    static let tab = Tab.schema

    let title = "Schema text"
    let text: String
    let fileName: String
    let count: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> SchemaView {
        guard let schema = visit.schema else { throw RecordError(.badRequest, "This engine does not show its schema") }
        return SchemaView(
            text: schema.text, fileName: "\(visit.place.address.container).ckdb", count: Digits.count(schema.types.count, "type"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
