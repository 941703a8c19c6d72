internal import Console
internal import RecordStore
internal import Records

/// The reason why a query can't run, in the API's words, with all remedies.
struct QueryRefusal: ViewModel {
    /// One problem in the API's words; `nil` if the page already shows them above.
    struct Reason: ViewModel {
        let reason: String?
        let note: String?
    }

    /// The form that adds the missing indexes at once.
    struct Addition: ViewModel {
        let fields: [Frame.Hidden]
        /// The indexes that help, those that suffice selected; empty if there is only one.
        let choices: [Choice]
        let verb: String
    }

    let complaint: PageError
    let typeName: String
    /// `one more index`, `2 more indexes`; `nil` if the problem is not a missing index.
    let needs: String?
    let reasons: [Reason]
    /// `nil` if no index can help.
    let addition: Addition?
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
        _ problems: [QueryProblem], plan: CheckedQuery, form: QueryForm, type: RecordType?, works: IndexWorks,
        back: String, answers: String? = "query",
        visit: Visit
    ) {
        let place = visit.place
        let typeName = form.type ?? ""
        let needs = IndexNeeds(problems, of: plan.query, type: type, building: works.builds)
        reasons = needs.problems.compactMap { problem in
            var note = problem.note
            if case .missingIndex(let key, let indexes, _) = problem, indexes.isEmpty {
                note = "A field of type \(type?.definition(of: key)?.type.schemaName ?? "this") can't have this index."
            }
            let isAbove = problem == problems.first
            return isAbove && note == nil ? nil : Reason(reason: isAbove ? nil : problem.error.reason, note: note)
        }
        addition = Addition(
            needs,
            fields: [Frame.Hidden(name: "type", value: typeName.string), Frame.Hidden(name: "back", value: back)])
        complaint = PageError(problems.first?.error ?? RecordError(.badRequest, "The query can't run"), advice: [])
        self.typeName = typeName.string
        self.needs = needs.count == 0 ? nil : needs.count == 1 ? "one more index" : "\(needs.count) more indexes"
        schemaLines = needs.count == 0 ? nil : type.map { needs.schemaLines(in: $0).joined(separator: ",\n") }
        let awaited = needs.problems.compactMap { problem in
            if case .indexBeingBuilt(let key, let indexes, _) = problem { (key, indexes) } else { nil }
        }
        self.works =
            IndexWorks(
                builds: works.builds.filter { build in
                    guard case .field(let key, let indexes) = build.subject, build.recordType == typeName else {
                        return false
                    }
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
            guard !IndexRules.problems(of: CheckedQuery(alone, of: type).query, in: schema).isEmpty else { continue }
            let without = form.changed { $0.filters.remove(at: index) }
            links.append(
                Frame.Link(
                    text: "Run without the filter on \(filter.field)", href: visit.place.link(page, without.parameters))
            )
        }
        for (index, sort) in form.sorts.enumerated() {
            guard let field = type.queryField(named: sort.field), !field.canSort else { continue }
            let without = form.changed { $0.sorts.remove(at: index) }
            links.append(
                Frame.Link(
                    text: "Run without the sort by \(sort.field)", href: visit.place.link(page, without.parameters)))
        }
        return links
    }
}

extension QueryRefusal.Addition {
    /// - Returns: `nil` if no index can help.
    fileprivate init?(_ needs: IndexNeeds, fields: [Frame.Hidden]) {
        var choices: [Choice] = []
        for case .missingIndex(let key, let indexes, _) in needs.problems {
            let suffices = needs.additions.first { $0.key == key }?.indexes ?? []
            for name in indexes.names where !choices.contains(where: { $0.value == "\(key.schemaName):\(name)" }) {
                let isSelected = Indexes(name: name).map(suffices.contains) ?? false
                choices.append(Choice("\(key.schemaName):\(name)", "\(name) to \(key.label)", isSelected: isSelected))
            }
        }
        guard let first = choices.first else { return nil }
        let isOnlyOne = choices.count == 1
        self.init(
            fields: fields + (isOnlyOne ? [Frame.Hidden(name: "add", value: first.value)] : []),
            choices: isOnlyOne ? [] : choices,
            verb: isOnlyOne ? "Add \(first.text)" : "Add the selected indexes")
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

// MARK: - Missing indexes

extension IndexNeeds {
    /// The total number of indexes.
    var count: Int { additions.reduce(0) { $0 + $1.indexes.names.count } }

    /// The parameters `add` of a form that adds the indexes.
    var fields: [Frame.Hidden] {
        additions.flatMap { key, indexes in
            indexes.names.map { Frame.Hidden(name: "add", value: "\(key.schemaName):\($0)") }
        }
    }

    /// `author QUERYABLE, sentAt SORTABLE`
    var text: String {
        additions.map { key, indexes in "\(key.label) \(indexes.names.joined(separator: " "))" }.joined(separator: ", ")
    }

    /// The lines of the fields in a schema file, including the new indexes.
    func schemaLines(in type: RecordType) -> [String] {
        additions.compactMap { key, indexes in type.definition(of: key)?.schemaLine(key, adding: indexes) }
    }
}
