internal import JSON
internal import RecordStore
internal import Records

/// Why a query does not run, in the API's words, and every way on.
struct QueryRefusal: ViewModel {
    /// An index that would help, and the button that makes it.
    struct Remedy: ViewModel {
        /// What the API would say; `nil` when it says just this above.
        let reason: String?
        let buttons: [Button]
        /// The line of a schema file; `nil` when no index can help.
        let schemaLine: String?
        let note: String?
    }

    struct Button: ViewModel {
        let text: String
        let fields: [Frame.Hidden]
    }

    let complaint: Complaint
    let typeName: String
    /// `one index`, `2 indexes`; `nil` when it is not a matter of indexes.
    let needs: String?
    let remedies: [Remedy]
    /// Makes all missing indexes at once, when they are several.
    let all: Button?
    /// Where the forms are sent.
    let action: String
    let canEdit: Bool
    let isProduction: Bool
    /// The same query without the row that is in the way.
    let without: [Frame.Link]
    /// Changes needs no index.
    let changes: String?
}

extension QueryRefusal {
    /// - Parameter problems: what stands in the way, the API's own answer first.
    init(_ problems: [QueryProblem], form: QueryForm, type: RecordType?, visit: Visit) {
        let place = visit.place
        let back = place.link("query", form.parameters)
        let typeName = form.type ?? ""
        func button(_ text: String, _ added: [(FieldKey, Indexes)]) -> Button {
            Button(
                text: text,
                fields: [Frame.Hidden(name: "type", value: typeName.string), Frame.Hidden(name: "back", value: back)]
                    + added.flatMap { key, indexes in
                        indexes.names.map { Frame.Hidden(name: "add", value: "\(key.schemaName):\($0)") }
                    })
        }
        let reported = Self.completed(problems, form: form, type: type)
        let missing = reported.compactMap { problem -> (FieldKey, Indexes)? in
            if case .missingIndex(let key, let indexes, _) = problem, let first = indexes.first { (key, first) } else { nil }
        }
        let isOnlyOne = reported.count == 1 && reported.first == problems.first
        remedies = reported.map { problem in
            let reason = isOnlyOne ? nil : problem.error.reason
            guard case .missingIndex(let key, let indexes, _) = problem else {
                return Remedy(reason: reason, buttons: [], schemaLine: nil, note: problem.note)
            }
            let definition = type?.definition(of: key)
            return Remedy(
                reason: reason,
                buttons: indexes.names.compactMap { name in
                    Indexes(name: name).map { button("Add \(name) to \(key.errorName)", [(key, $0)]) }
                },
                schemaLine: definition.flatMap { definition in
                    indexes.first.map { definition.schemaLine(key, adding: $0) }
                },
                note: indexes.isEmpty ? "A field of type \(definition?.type.schemaName ?? "this") can't carry this index." : nil)
        }
        complaint = Complaint(
            problems.first?.error ?? RecordError(.badRequest, "The query can't run"), advice: [])
        self.typeName = typeName.string
        needs = missing.isEmpty ? nil : missing.count == 1 ? "one more index" : "\(missing.count) more indexes"
        all = missing.count > 1 ? button("Add all \(missing.count) indexes", missing) : nil
        action = place.link("type/indexes")
        canEdit = visit.canEditSchema
        isProduction = place.address.environment == .production
        without = Self.waysOut(form, type: type, visit: visit)
        let zoneID = place.zoneID
        changes = place.hasFeed && zoneID.map(visit.hasFeed) ?? !visit.customZones.isEmpty ? place.link("changes") : nil
    }

    /// A type without any index hides what else is missing: this finds it, as if the type had one.
    private static func completed(_ problems: [QueryProblem], form: QueryForm, type: RecordType?) -> [QueryProblem] {
        guard case .noIndex? = problems.first, var type else { return problems }
        type.systemIndexes[.etag] = .queryable
        return IndexRules.problems(of: QueryPlan(form, of: type).query, in: Schema(types: [type]))
    }

    private static func waysOut(_ form: QueryForm, type: RecordType?, visit: Visit) -> [Frame.Link] {
        guard let type else { return [] }
        let schema = Schema(types: [type])
        var links: [Frame.Link] = []
        for (index, filter) in form.filters.enumerated() {
            let alone = form.changed {
                $0.filters = [filter]
                $0.sorts = []
            }
            guard !IndexRules.problems(of: QueryPlan(alone, of: type).query, in: schema).isEmpty else { continue }
            let without = form.changed { $0.filters.remove(at: index) }
            links.append(
                Frame.Link(text: "Run without the filter on \(filter.field)", href: visit.place.link("query", without.parameters)))
        }
        for (index, sort) in form.sorts.enumerated() {
            guard let field = type.queryField(named: sort.field), !field.canSort else { continue }
            let without = form.changed { $0.sorts.remove(at: index) }
            links.append(Frame.Link(text: "Run without the sort by \(sort.field)", href: visit.place.link("query", without.parameters)))
        }
        return links
    }
}

extension Indexes {
    /// The first of several by name.
    fileprivate var first: Indexes? {
        names.first.flatMap { Indexes(name: $0) }
    }
}

extension FieldDefinition {
    /// The field's line in a schema file.
    func schemaLine(_ key: FieldKey, adding added: Indexes) -> String {
        let name = key.schemaName.string
        let quoted = name.hasPrefix("_") ? "\"\(name)\"" : name
        return ([quoted, type.schemaName] + indexes.union(added).names).joined(separator: " ")
    }
}

extension QueryProblem {
    fileprivate var note: String? {
        switch self {
        case .systemType: "The type Users belongs to the system. Fetch a user's record by its name instead."
        case .unknownType: "In development a type appears when its first record is saved."
        case .unknownField: "The type has no such field; in development it appears when a record with it is saved."
        case .noIndex, .missingIndex, .indexBeingBuilt, .invalid: nil
        }
    }
}
