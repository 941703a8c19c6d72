package import Console
internal import RecordStore
internal import Records

/// The page Query advice: unused indexes, and queries that need a missing index.
package struct AdviceView: Page {
    package static let template = "advice"
    package static let tab = Tab.advice

    struct RefusalRow: ViewModel {
        let sentence: String
        let reasons: [String]
        let count: String
        let last: ValueView
        let user: String
        /// The indexes that would serve the query, such as `author QUERYABLE, sentAt SORTABLE`; `nil` if no index can.
        let needs: String?
        /// True if the indexes exist and are still building.
        let isBuilding: Bool
        let button: Frame.Link?
        let fields: [Frame.Hidden]
        /// The same query in the console; `nil` if the query form can't express it.
        let query: String?
    }

    struct IndexRow: ViewModel {
        let typeName: String
        let typeHref: String
        let index: String
        let uses: String?
        let last: ValueView?
        let drop: Drop?
    }

    /// A button that drops an index.
    struct Drop: ViewModel {
        let action: String
        let fields: [Frame.Hidden]
        let label: String
    }

    package let title = Self.tab.title
    let since: ValueView
    let refusals: [RefusalRow]
    let unused: [IndexRow]
    /// The remark that too few queries ran to call an index unused; `nil` after enough of them.
    let early: String?
    let used: [IndexRow]
    let canEdit: Bool
    let isProduction: Bool
    let action: String
    let unusedCount: String

    /// The number of served queries from which the page calls indexes unused.
    private static let telling = 100
}

extension AdviceView {
    package static func load(_ visit: Visit) async throws -> AdviceView {
        let statistics = try await visit.measure {
            try await visit.database.require(.keepQueryStatistics).queryStatistics()
        }
        let schema = visit.schema ?? Schema()
        let works = try await visit.indexWorks()
        let uses = Dictionary(
            statistics.uses.map { (IndexOfType(typeName: $0.recordType, index: $0.index), $0) },
            uniquingKeysWith: { first, _ in first })
        let places = IndexOfType.all(in: schema)
        let unused = places.filter { uses[$0] == nil }
        let used = places.compactMap { place in uses[place].map { (place, $0) } }.sorted {
            ($1.1.count, $0.0) < ($0.1.count, $1.0)
        }
        let early =
            statistics.queries >= telling
            ? nil
            : "So far, indexes have served \(Digits.count(statistics.queries, "query", plural: "queries")). After \(telling), this page lists the indexes that no query used."
        return AdviceView(
            since: ValueView(.time(statistics.since)),
            refusals: statistics.refusals.map { RefusalRow($0, in: schema, works: works, visit: visit) },
            unused: unused.map { IndexRow($0, use: nil, visit: visit) }, early: early,
            used: used.map { IndexRow($0, use: $1, visit: visit) },
            canEdit: visit.canEditSchema, isProduction: visit.place.address.environment == .production,
            action: visit.place.link("type/indexes"),
            unusedCount: Digits.count(unused.count, "unused index", plural: "unused indexes"))
    }
}

/// One index of one type.
private struct IndexOfType: Hashable, Comparable {
    let typeName: Name
    let index: QueryIndex

    static func all(in schema: Schema) -> [IndexOfType] {
        schema.sortedTypes.filter { $0.name != Schema.usersType }.flatMap { type in
            let fields = type.indexedKeys.flatMap { key in
                (type.definition(of: key)?.indexes.names ?? []).compactMap { Indexes(name: $0) }.map {
                    QueryIndex.field(key, $0)
                }
            }
            let composites = type.compositeIndexes.map { QueryIndex.composite($0) }.sorted {
                Name($0.words) < Name($1.description)
            }
            return (fields + composites).map { IndexOfType(typeName: type.name, index: $0) }
        }
    }

    static func < (left: IndexOfType, right: IndexOfType) -> Bool {
        (left.typeName, Name(left.index.words)) < (right.typeName, Name(right.index.words))
    }
}

extension AdviceView.RefusalRow {
    fileprivate init(_ refusal: QueryStatistics.Refusal, in schema: Schema, works: IndexWorks, visit: Visit) {
        let type = schema.types[refusal.query.recordType]
        sentence = QuerySentence.text(of: refusal.query, type: type)
        reasons = refusal.problems.map(\.error.reason)
        count = Digits.count(refusal.count, "time")
        last = ValueView(.time(refusal.last))
        user = visit.people.name(of: refusal.userRecordName)
        let missing = IndexNeeds(refusal.problems, of: refusal.query, type: type, building: works.builds)
        isBuilding = refusal.problems.allSatisfy { if case .indexBeingBuilt = $0 { true } else { false } }
        needs = missing.count == 0 ? nil : missing.text
        query = QueryForm(refusal.query, of: type).map { visit.place.link("query", $0.parameters) }
        button =
            missing.count == 0
            ? nil
            : Frame.Link(
                text: missing.count == 1 ? "Add the index" : "Add \(missing.count) indexes",
                href: visit.place.link("type/indexes"))
        fields =
            [
                Frame.Hidden(name: "type", value: refusal.query.recordType.string),
                Frame.Hidden(name: "back", value: visit.place.link("advice")),
            ] + missing.fields
    }
}

extension AdviceView.IndexRow {
    fileprivate init(_ place: IndexOfType, use: QueryStatistics.Use?, visit: Visit) {
        typeName = place.typeName.string
        typeHref = visit.place.link("type", [("type", place.typeName.string)])
        index = place.index.words
        uses = use.map { Digits.grouped($0.count) }
        last = use.map { ValueView(.time($0.last)) }
        drop = AdviceView.Drop(place, visit: visit)
    }
}

extension AdviceView.Drop {
    fileprivate init?(_ place: IndexOfType, visit: Visit) {
        let value: String
        switch place.index {
        case .field(let key, let indexes):
            guard visit.canEditSchema, let name = indexes.names.first else { return nil }
            value = "\(key.schemaName):\(name)"
            action = visit.place.link("type/indexes")
        case .composite(let index):
            guard visit.database.can(.editSchema) else { return nil }
            value = "\(place.typeName)/\(index.filter.schemaName):\(index.sort.schemaName)"
            action = visit.place.link("composites/change")
        case .recordNames: return nil
        }
        fields = [
            Frame.Hidden(name: "type", value: place.typeName.string), Frame.Hidden(name: "drop", value: value),
            Frame.Hidden(name: "back", value: visit.place.link("advice")),
        ]
        label = "Delete \(place.index.words) of \(place.typeName)"
    }
}
