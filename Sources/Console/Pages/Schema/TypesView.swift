internal import JSON
internal import RecordStore
internal import Records

/// The page Record types: all of a container's, and what can be asked of each.
struct TypesView: Page {
    static let template = "types"
    static let tab = Tab.types

    struct Row: ViewModel {
        let name: String
        let href: String
        let fields: String
        let indexes: String
        /// Whether all records can be listed, which is what a query without filters needs.
        let isListable: Bool
        let records: String?
        let query: String
    }

    let title = "Record types"
    let rows: [Row]
    let isProduction: Bool
    let schema: String
    let firstSteps: FirstSteps?
    let count: String
    let milliseconds: String

    /// Zones whose counts are added up.
    private static let zoneLimit = 200

    static func load(_ visit: Visit) async throws -> TypesView {
        var counts: [Name: Int]? = visit.zones.count > zoneLimit ? nil : [:]
        if counts != nil {
            for zone in visit.zones {
                guard let more = try await visit.counts(in: zone.zoneID) else {
                    counts = nil
                    break
                }
                counts?.merge(more.records, uniquingKeysWith: +)
            }
        }
        let all = visit.schema?.sortedTypes ?? []
        return TypesView(
            rows: all.map { type in
                let indexed = type.indexedKeys.count
                return Row(
                    name: type.name.string, href: visit.place.link("type", [("type", type.name.string)]), fields: Digits.grouped(type.fields.count),
                    indexes: indexed == 0 ? "none" : Digits.count(indexed, "field"),
                    isListable: type.isListable,
                    records: counts.map { Digits.grouped($0[type.name] ?? 0) }, query: visit.place.link("query", [("type", type.name.string)]))
            },
            isProduction: visit.place.address.environment == .production, schema: visit.place.link("schema"),
            firstSteps: visit.types.isEmpty ? FirstSteps(visit) : nil, count: Digits.count(all.count, "type"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
