internal import Console
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

/// The page Record types: all types of a container, their indexes, and the form for a new type.
struct TypesView: Page {
    static let template = "types"
    static let tab = Tab.types

    struct Row: ViewModel {
        let name: String
        let href: String
        let fields: String
        let indexes: String
        /// True if all records can be listed, as a query without filters requires.
        let isListable: Bool
        let records: String?
        /// True for system types, which can't be queried.
        let isSystemType: Bool
        let query: String
    }

    let title = Self.tab.title
    let notice: String?
    let rows: [Row]
    let isProduction: Bool
    /// The address of the form for a new type; `nil` if types can't be created.
    let create: String?
    /// The form for a new type, if it was refused.
    let refused: RefusedForm?
    /// True if the form makes the records of the new type listable.
    let makesListable: Bool
    let nameLimit: String
    let here: String
    let firstSteps: FirstSteps?
    let count: String
    let milliseconds: String

    /// The maximum number of zones whose counts are added.
    private static let zoneLimit = 200

    var status: HTTPResponse.Status { refused == nil ? .ok : .badRequest }

    static func load(_ visit: Visit, refused: RefusedForm? = nil) async throws -> TypesView {
        var counts: [Name: Int]? = visit.zones.count > zoneLimit || !visit.database.can(.countRecords) ? nil : [:]
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
        let own = Set(visit.ownTypes.map(\.name))
        let ofSystem = all.map(\.name.string).filter { !own.contains(Name($0)) }
        return TypesView(
            notice: Notice.text(visit.fields["notice"]),
            rows: all.map { type in
                let indexed = type.fields.values.count { !$0.indexes.isEmpty }
                return Row(
                    name: type.name.string, href: visit.place.link("type", [("type", type.name.string)]), fields: Digits.grouped(type.fields.count),
                    indexes: indexed == 0 ? "none" : Digits.count(indexed, "field"),
                    isListable: type.isListable,
                    records: counts.map { Digits.grouped($0[type.name] ?? 0) }, isSystemType: type.name == Schema.usersType,
                    query: visit.place.link("query", [("type", type.name.string)]))
            },
            isProduction: visit.place.address.environment == .production, create: visit.canEditSchema ? visit.place.link("types/create") : nil,
            refused: refused, makesListable: refused == nil || visit.fields.text("listable") != nil,
            nameLimit: String(RecordType.nameLimit), here: visit.place.link("types"),
            firstSteps: visit.types.isEmpty ? FirstSteps(visit) : nil, count: ([Digits.count(own.count, "record type")] + ofSystem).joined(separator: " and "),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
