internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The reason why a query can't run, in the API's words, with all remedies.
struct QueryRefusal: ViewModel {
    /// One problem and its remedies.
    struct Remedy: ViewModel {
        /// The API's message; `nil` if the page already shows it above.
        let reason: String?
        let buttons: [Button]
        let note: String?
    }

    struct Button: ViewModel {
        let text: String
        let fields: [Frame.Hidden]
    }

    let complaint: Complaint
    let typeName: String
    /// `one more index`, `2 more indexes`; `nil` if the problem is not a missing index.
    let needs: String?
    let remedies: [Remedy]
    /// Adds all missing indexes at once; `nil` unless there are several.
    let all: Button?
    /// The fields' lines in a schema file, including the missing indexes; `nil` if no index can help.
    let schemaLines: String?
    /// The incomplete indexes of the query. If there is no other problem, the page reloads by itself.
    let works: IndexWorkPanel?
    /// Tells the panel from those of other refusals on the page.
    var worksID = "works"
    let isBuilding: Bool
    /// The address of the forms.
    let action: String
    let canEdit: Bool
    let isProduction: Bool
    /// The same query without the row that causes the problem.
    let without: [Frame.Link]
    /// The link to Changes, which needs no index.
    let changes: String?
}

extension QueryRefusal {
    /// - Parameters:
    ///   - problems: the problems, the API's own error first.
    ///   - works: the current index jobs.
    ///   - back: the address that shows the answer once the query can run.
    ///   - answers: the page for the query without the row that causes the problem; `nil` to offer none.
    init(
        _ problems: [QueryProblem], plan: QueryPlan, form: QueryForm, type: RecordType?, works: IndexWorks, back: String, answers: String? = "query",
        visit: Visit
    ) {
        let place = visit.place
        let typeName = form.type ?? ""
        let common = [
            Frame.Hidden(name: "type", value: typeName.string), Frame.Hidden(name: "back", value: back),
        ]
        let needs = IndexNeeds(problems, of: plan.query, type: type, building: works.builds)
        let isOnlyOne = needs.problems.count == 1 && needs.problems.first == problems.first
        remedies = needs.problems.map { problem in
            let reason = isOnlyOne ? nil : problem.error.reason
            guard case .missingIndex(let key, let indexes, _) = problem else { return Remedy(reason: reason, buttons: [], note: problem.note) }
            let valueType = type?.definition(of: key)?.type.schemaName ?? "this"
            return Remedy(
                reason: reason,
                buttons: indexes.names.map { name in
                    Button(
                        text: "Add \(name) to \(key.label)", fields: common + [Frame.Hidden(name: "add", value: "\(key.schemaName):\(name)")])
                },
                note: indexes.isEmpty ? "A field of type \(valueType) can't have this index." : nil)
        }
        complaint = Complaint(problems.first?.error ?? RecordError(.badRequest, "The query can't run"), advice: [])
        self.typeName = typeName.string
        self.needs = needs.count == 0 ? nil : needs.count == 1 ? "one more index" : "\(needs.count) more indexes"
        all = needs.count > 1 ? Button(text: "Add all \(needs.count) indexes", fields: common + needs.fields) : nil
        schemaLines = needs.count == 0 ? nil : type.map { needs.schemaLines(in: $0).joined(separator: ",\n") }
        let awaited = needs.problems.compactMap { problem in
            if case .indexBeingBuilt(let key, let indexes, _) = problem { (key, indexes) } else { nil }
        }
        self.works = IndexWorks(
            builds: works.builds.filter { build in
                guard case .field(let key, let indexes) = build.subject, build.recordType == typeName else { return false }
                return awaited.contains { $0.0 == key && !$0.1.isDisjoint(with: indexes) }
            }
        ).panel
        isBuilding = !awaited.isEmpty && awaited.count == needs.problems.count
        action = place.link("type/indexes")
        canEdit = visit.canEditSchema
        isProduction = place.address.environment == .production
        without = answers.map { Self.waysOut(form, type: type, page: $0, visit: visit) } ?? []
        let zoneID = place.zoneID
        changes = place.hasFeed && zoneID.map(visit.hasFeed) ?? !visit.customZones.isEmpty ? place.link("changes") : nil
    }

    private static func waysOut(_ form: QueryForm, type: RecordType?, page: String, visit: Visit) -> [Frame.Link] {
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
                Frame.Link(text: "Run without the filter on \(filter.field)", href: visit.place.link(page, without.parameters)))
        }
        for (index, sort) in form.sorts.enumerated() {
            guard let field = type.queryField(named: sort.field), !field.canSort else { continue }
            let without = form.changed { $0.sorts.remove(at: index) }
            links.append(Frame.Link(text: "Run without the sort by \(sort.field)", href: visit.place.link(page, without.parameters)))
        }
        return links
    }
}

extension QueryProblem {
    fileprivate var note: String? {
        switch self {
        case .systemType: "Users is a system type. Fetch a user's record by its name instead."
        case .unknownType: "In development, saving the first record creates the type."
        case .unknownField: "The type has no such field. In development, saving a record with the field creates it."
        case .noIndex, .missingIndex, .indexBeingBuilt, .invalid: nil
        }
    }
}
