internal import Accounts
package import Console
internal import RecordStore
internal import Records

/// The tab Query: the query form, and the answer or the reason why there is none.
package struct QueryView: Page {
    package static let template = "query"
    package static let tab = Tab.query

    /// The footer of the page.
    struct Footer: ViewModel {
        /// `50 records`, or `Not run`.
        let count: String
        /// `50 of 1,940`, for the line of the folded form.
        let outcome: String
        /// The number of all matches; `nil` if it is unknown.
        let all: String?
        /// The link that counts all matches, if the total is unknown.
        let countAll: String?
        let page: String?
        let first: String?
        let previous: String?
        let next: String?
        /// What a request for the next page has; `nil` on the last one.
        let marker: String?
        /// `nil` if there is nothing to export.
        let exports: ResultFiles?
    }

    package let title: String
    /// The record type; `Query` if the container has no types.
    let heading: String
    /// `3 of 10 fields returned`; `nil` if all are.
    let returned: String?
    /// The page of the type; `nil` where there is none.
    let fields: String?
    /// The form and its result; `nil` if the container has no types.
    let folded: FoldedForm?
    /// The form with one more filter.
    let addition: String?
    let editor: QueryEditor?
    let refusal: QueryRefusal?
    let complaint: PageError?
    /// A remark in place of an answer, for example about a missing value.
    let remark: String?
    /// The records of an earlier state that the journal no longer has.
    let notKnown: Inline?
    let facet: FacetPanel?
    let map: LocationMap?
    let table: ResultTable?
    let noMatch: NoMatch?
    let firstSteps: FirstSteps?
    /// The question for a record type, if the types are unknown.
    let typeQuestion: TypeQuestion?
    /// The query as client code; `nil` if the query is invalid.
    let code: CodePanel?
    let picking: PickingBar?
    let footer: Footer?

    struct TypeQuestion: ViewModel {
        let action: String
        let hidden: [Frame.Hidden]
        let zones: [Choice]
        let mirrorOffer: MirrorOffer
    }

    /// The state of a page whose answer has no records.
    struct NoMatch: ViewModel {
        let heading: String
        let text: String
        /// The same query without filters; `nil` if it has none.
        let unfiltered: String?
        /// The form for a record of the type; `nil` if there is no zone for it.
        let newRecord: String?
        /// Other users whose private databases are not empty.
        let others: [Frame.Link]
    }
}

extension QueryView {
    /// The page, or the redirect of a form button.
    package static func answer(_ visit: Visit) async throws -> Answer {
        let form = QueryForm(visit.fields)
        if let alike = try await form.alike(visit) { return alike }
        return if let changed = form.redirect(visit, to: "query") { changed } else {
            .page(try await load(visit, form))
        }
    }

    private static func load(_ visit: Visit, _ asked: QueryForm) async throws -> QueryView {
        var form = asked
        var counts: [Name: Int]?
        if form.type == nil {
            counts = await visit.recordCounts()
            form.type = visit.usualType(counts)?.name
        }
        guard let typeName = form.type else { return noTypes(visit) }
        let known = visit.schema?.types[typeName]
        let type = known ?? RecordType(name: typeName)
        form.chooseFittingComparators(for: type)
        let plan = CheckedQuery(form, of: type)
        let found = try await FilterMatches(form, visit)
        let title = try await plan.titles(visit)
        var editor = QueryEditor(form, type: type, plan: plan, canFind: true, found: found, visit: visit)
        let asks = await visit.asksBeforeDeletions()
        func page(
            refusal: QueryRefusal? = nil, complaint: PageError? = nil, remark: String? = nil, facet: FacetPanel? = nil,
            map: LocationMap? = nil, table: ResultTable? = nil, notKnown: Inline? = nil,
            noMatch: NoMatch? = nil, footer: Footer? = nil, canSave: Bool = false
        ) -> QueryView {
            let footer = footer ?? notRun(visit)
            let own = type.fields.count
            return QueryView(
                title: "Query · \(typeName)", heading: typeName.string,
                returned: form.keys.isSystemOnly
                    ? form.keys.text
                    : form.keys.fields.isEmpty
                        ? nil : "\(form.keys.fields.count) of \(Digits.count(own, "field")) returned",
                fields: known == nil || !visit.offers(.types)
                    ? nil : visit.place.link("type", [("type", typeName.string)]),
                folded: form.folded(
                    plan, type: known, outcome: footer.outcome,
                    isAnswered: table != nil || noMatch != nil || refusal != nil, visit: visit,
                    title: title),
                addition: visit.place.link(
                    "query", form.adding("filter", visit).parameters + [FoldedForm.editing]),
                editor: editor, refusal: refusal, complaint: complaint, remark: remark, notKnown: notKnown,
                facet: facet, map: map, table: table, noMatch: noMatch,
                firstSteps: nil, typeQuestion: nil,
                code: plan.canRun ? CodePanel(plan, form: form, type: known, visit: visit) : nil,
                picking: table == nil || visit.earlier != nil
                    ? nil
                    : PickingBar(
                        back: form, total: footer.all, hasMore: footer.next != nil || form.page > 1, canSave: canSave,
                        asks: asks, visit: visit),
                footer: footer)
        }
        if visit.fields["draft"] != nil || found != nil { return page(remark: "Not run yet.") }
        if editor.written.problem != nil { return page(remark: "Not run: the text can't be read.") }
        guard plan.canRun else { return page(remark: "Not run: a value is not valid. Its row says why.") }
        if asked.type == nil, asked.filters.isEmpty, asked.sorts.isEmpty, let counts,
            counts.values.allSatisfy({ $0 == 0 })
        {
            return page(noMatch: try await NoMatch(form, plan: plan, counts: counts, visit: visit))
        }
        let works = try await visit.indexWorks()
        // Without a schema, only the store can tell.
        let problems = visit.schema.map { IndexRules.problems(of: plan.query, in: $0, building: works.builds) } ?? []
        func refusal() -> QueryRefusal {
            QueryRefusal(
                problems, plan: plan, form: form, type: known, works: works,
                back: visit.place.link("query", form.parameters), visit: visit)
        }
        let isWaiting =
            !problems.isEmpty && problems.allSatisfy { if case .indexBeingBuilt = $0 { true } else { false } }
        if isWaiting { return page(refusal: refusal()) }
        do {
            // Runs queries that will be refused too: the engine records them for the page Query advice.
            let counted =
                form.page == 1
                ? form.facet.flatMap { type.queryField(named: $0) }.flatMap { $0.canBeCounted ? $0 : nil } : nil
            var keys = form.keys.set
            if let counted, !counted.isSystem { keys?.insert(counted.name) }
            let drawn = form.map.flatMap { type.queryField(named: $0) }
            if let drawn, !drawn.isSystem { keys?.insert(drawn.name) }
            if let some = keys, !some.isEmpty { keys = some.union(visit.titles.fields(of: type.name)) }
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: form.limit),
                continuationMarker: form.markers.last, desiredKeys: keys)
            let answer = try await visit.measure { try await visit.database.query(request) }
            let footer = try await Footer(answer, to: request, form: form, plan: plan, counts: counts, visit: visit)
            let notKnown = Inline(notKnown: answer.notKnown, visit)
            if answer.records.isEmpty {
                return page(
                    notKnown: notKnown,
                    noMatch: try await NoMatch(
                        form, plan: plan, counts: asked.type == nil ? counts : nil, visit: visit), footer: footer)
            }
            let links = try await visit.links(toAssetsOf: answer.records)
            let table = try await ResultTable(
                answer.records, of: type, form: form, showsZones: visit.queriesSeveralZones, links: links,
                since: SinceThen(answer.records, keys: keys, visit), visit: visit)
            var facet: FacetPanel?
            if let counted {
                facet = try await FacetPanel(counted, of: request, after: answer, form: form, type: type, visit: visit)
            }
            let map = try drawn.flatMap { try LocationMap(answer.records, $0, form: form, visit: visit) }
            return page(
                facet: facet, map: map, table: table, notKnown: notKnown, footer: footer,
                canSave: try await visit.canSave(in: visit.place.zoneID))
        } catch let error as RecordError {
            // The refusal tells about an index.
            if visit.connection != nil {
                editor = QueryEditor(form, type: type, plan: plan, canFind: true, visit: visit)
            }
            if problems.isEmpty { return page(complaint: PageError(error)) }
            return page(refusal: refusal())
        }
    }

    private static func noTypes(_ visit: Visit) -> QueryView {
        let place = visit.place
        let question =
            visit.connection == nil
            ? nil
            : TypeQuestion(
                action: "\(place.path)/query",
                hidden: (place.userParameters + place.pointParameters).map {
                    Frame.Hidden(name: $0.name, value: $0.value)
                },
                zones: visit.zoneChoices(allowsAll: place.address.scope != .public), mirrorOffer: MirrorOffer(visit))
        return QueryView(
            title: "Query", heading: "Query", returned: nil, fields: nil, folded: nil, addition: nil,
            editor: nil, refusal: nil, complaint: nil, remark: nil, notKnown: nil,
            facet: nil, map: nil, table: nil, noMatch: nil,
            firstSteps: question == nil ? FirstSteps(visit) : nil, typeQuestion: question, code: nil, picking: nil,
            footer: nil)
    }

    private static func notRun(_ visit: Visit) -> Footer {
        Footer(
            count: "Not run", outcome: "not run", all: nil, countAll: nil, page: nil,
            first: nil, previous: nil,
            next: nil, marker: nil, exports: nil)
    }
}

extension Inline {
    /// The number of records that are named.
    private static let namedLimit = 12

    /// What is not known of an earlier state, record by record; `nil` if all is known.
    fileprivate init?(notKnown: NotKnown, _ visit: Visit) {
        if notKnown.isEmpty { return nil }
        var text: Inline = ""
        if notKnown.count > 0 {
            let named = notKnown.records.prefix(Self.namedLimit)
            let rest = notKnown.count - named.count
            let links = named.map {
                Inline.link($0.recordName.string, visit.place.link(toRecord: $0.recordName, in: $0.zoneID))
            }
            text = "\(strong: "\(Digits.count(notKnown.count, "record")) not known.")"
            text =
                text + " Changed since, and the earlier versions are no longer kept: " + .list(links)
                + Inline(rest > 0 ? " and \(Digits.grouped(rest)) more. " : ". ")
        }
        if !notKnown.zones.isEmpty {
            text =
                text
                + Inline(
                    "Zones whose state is not known: \(notKnown.zones.map(visit.zoneName).joined(separator: ", ")).")
        }
        self = text
    }
}

extension QueryForm {
    /// The redirect for a button that adds or removes a row, or for a text that replaces the rows; `nil` for other
    /// requests.
    func redirect(_ visit: Visit, to page: String) -> Answer? {
        guard let changed = pressed(visit) else { return nil }
        let draft = visit.fields["draft"].map { [("draft", $0)] } ?? []
        let editing = visit.fields[QueryTextForm.fieldName] == nil ? [FoldedForm.editing] : []
        return .redirect(visit.place.link(page, changed.parameters + draft + editing))
    }

    /// The form as one line. It stays open while a filter lacks its value.
    func folded(
        _ plan: CheckedQuery, type: RecordType?, outcome: String, isAnswered: Bool, visit: Visit,
        title: (Reference) -> String? = { _ in nil }
    ) -> FoldedForm {
        let zone = visit.place.zoneID.map(visit.zoneName) ?? (visit.queriesSeveralZones ? "all zones" : nil)
        return FoldedForm(
            QuerySentence.text(of: plan.query, type: type, in: zone, title: title), outcome: outcome,
            facts: zone.map { ["in \($0)"] } ?? [],
            chips: plan.canRun ? chips(plan, type: type, visit: visit, title: title) : [],
            isAnswered: isAnswered && !filters.contains(where: \.isUnfinished),
            visit: visit)
    }

    /// The form with one more row, `filter` or `sort`.
    fileprivate func adding(_ row: String, _ visit: Visit) -> QueryForm {
        let type = type.flatMap { visit.schema?.types[$0] }
        let fields = type.map { QueryField.all(of: $0) } ?? []
        return changed { form in
            if row == "filter", form.filters.count < Self.rowLimit {
                let used = form.filters.map(\.field)
                let free = fields.filter { $0.canFilter && !used.contains($0.name) }
                guard let field = free.first ?? fields.first(where: \.canFilter) ?? fields.first else { return }
                form.filters.append(
                    Filter(field: field.name, comparator: field.usualComparator, value: "", distance: ""))
            } else if row == "sort", form.sorts.count < Self.rowLimit {
                let used = form.sorts.map(\.field)
                guard let field = fields.first(where: { $0.canSort && !used.contains($0.name) }) else { return }
                form.sorts.append(Sort(field: field.name, isDescending: false, origin: ""))
            }
        }
    }

    /// The form after such a button.
    func pressed(_ visit: Visit) -> QueryForm? {
        if let written = written(visit) { return written }
        if let added = visit.fields.text("add") { return adding(added, visit) }
        guard let removed = visit.fields.text("remove") else { return nil }
        return changed { form in
            // Reading the form drops empty rows, so the button identifies a row by its content instead of its number.
            if let index = filterIndex(removed, visit) { form.filters.remove(at: index) }
            if removed.hasPrefix("sort"), let index = rowIndex(removed, "sort", visit) { form.sorts.remove(at: index) }
        }
    }

    /// The index of the filter in a row of the request's form.
    func filterIndex(_ row: String, _ visit: Visit) -> Int? {
        row.hasPrefix("filter") ? rowIndex(row, "filter", visit) : nil
    }

    private func rowIndex(_ removed: String, _ kind: String, _ visit: Visit) -> Int? {
        guard let number = Int(removed.dropFirst(kind.count)), number > 0, number <= Self.rowLimit else { return nil }
        guard visit.fields.text("\(kind)\(number)") != nil else { return nil }
        let index = (1..<number).count { visit.fields.text("\(kind)\($0)") != nil }
        return index < (kind == "filter" ? filters.count : sorts.count) ? index : nil
    }
}

extension QueryView.Footer {
    /// - Parameter counts: the ``Visit/recordCounts()``, if they are known.
    fileprivate init(
        _ answer: QueryPage, to request: QueryRequest, form: QueryForm, plan: CheckedQuery, counts: [Name: Int]?,
        visit: Visit
    ) async throws {
        var all: String?
        let whole: [Name: Int]? =
            if !plan.query.filters.isEmpty { nil } else if let counts { counts } else { await visit.recordCounts() }
        if let whole {
            // The engine keeps the counts of whole types.
            all = Digits.grouped(whole[plan.query.recordType] ?? 0)
            countAll = nil
        } else if form.page == 1, answer.continuationMarker != nil {
            // Counting filtered records reads all of them, so the page counts only on request.
            let isAsked = visit.fields["count"] == "all"
            all =
                isAsked
                ? try await visit.measure { try await MatchCount(request, after: answer, in: visit.database) }.text
                : nil
            countAll = isAsked ? nil : visit.place.link("query", form.parameters + [("count", "all")])
        } else {
            countAll = nil
        }
        self.all = all
        // Without the number of all, that of the page would read as it.
        count = (countAll == nil ? "" : "first ") + Digits.count(answer.records.count, "record")
        let shown = Digits.grouped(answer.records.count)
        outcome =
            if let all, all != shown { "\(shown) of \(all)" } else { answer.records.isEmpty ? "no records" : count }
        page = form.page > 1 ? "page \(Digits.grouped(form.page))" : nil
        func link(_ form: QueryForm) -> String { visit.place.link("query", form.parameters) }
        first = form.page > 2 ? link(form.changed { _ in }) : nil
        previous = form.previousPage.map(link)
        marker = answer.continuationMarker
        next = marker.map { link(form.nextPage($0)) }
        let isPart = next != nil || form.page > 1
        exports =
            answer.records.isEmpty
            ? nil
            : ResultFiles(
                to: "query", form.parameters, all: isPart ? form.changed { _ in }.parameters : nil, visit: visit)
    }
}

// MARK: - Chips

extension QueryForm {
    /// The filters and the sort order.
    /// - Parameter title: the title of the record of a reference, if it is known.
    fileprivate func chips(_ plan: CheckedQuery, type: RecordType?, visit: Visit, title: (Reference) -> String?)
        -> [Chip]
    {
        func link(_ form: QueryForm) -> String { visit.place.link("query", form.parameters) }
        let edit = visit.place.link("query", parameters + [FoldedForm.editing])
        let finished = filters.indices.filter { !self.filters[$0].isUnfinished }
        let rows = zip(plan.query.filters, finished).map { filter, row in
            let (lead, value) = QuerySentence.parts(of: filter, type: type, title: title)
            let field = type?.queryField(named: filter.fieldName)
            return Chip(
                lead, value, edit: edit, removal: link(changed { $0.filters.remove(at: row) }),
                lacksIndex: field.map { !$0.allows(filter.comparator) } ?? false)
        }
        let orders = plan.query.sorts.enumerated().map { row, sort in
            Chip(
                row == 0 ? "sorted by" : "then by", QuerySentence.text(of: sort, type: type), edit: edit,
                removal: link(changed { $0.sorts.remove(at: row) }),
                lacksIndex: type?.queryField(named: sort.fieldName).map { !$0.canSort } ?? false)
        }
        return rows + orders
    }
}

extension QueryView.NoMatch {
    /// - Parameter counts: the ``Visit/recordCounts()`` if nobody chose the type.
    fileprivate init(_ form: QueryForm, plan: CheckedQuery, counts: [Name: Int]?, visit: Visit) async throws {
        let (type, address) = (plan.query.recordType, visit.place.address)
        let isPublic = address.scope == .public
        let within = visit.place.zoneID.map { " in zone \(visit.zoneName($0))" } ?? (isPublic ? "" : " in any zone")
        let owner =
            isPublic
            ? "The public database" : "The \(address.scope.rawValue) database of \(visit.people.actor.displayName)"
        let hasFilters = !plan.query.filters.isEmpty
        let lacksZones = address.scope == .shared && visit.connection == nil && visit.zones.isEmpty
        if hasFilters {
            heading = "No \(type) matches"
            text = "The query ran. No record of this type\(within) matches all filters."
        } else if lacksZones {
            heading = "Nothing is shared"
            text = "\(owner) has the zones that other users share. There are none."
        } else if let counts, counts.values.allSatisfy({ $0 == 0 }) {
            heading =
                address.environment == .production
                ? "The schema is deployed. There are no records yet." : "No records yet"
            text = "\(owner) has no records\(within)."
        } else {
            heading = "No \(type) here"
            text = "\(owner) has no record of this type\(within)."
        }
        unfiltered = hasFilters ? visit.place.link("query", form.changed { $0.filters = [] }.parameters) : nil
        let canSave = lacksZones ? false : try await visit.canSave(in: visit.place.zoneID)
        newRecord = !canSave ? nil : visit.place.link("record/new", [("type", type.string)])
        others = hasFilters ? [] : try await visit.othersWithData()
    }
}

// MARK: - Saved queries

/// The saved queries, and the form that saves the current one.
struct SavedQueryPanel: ViewModel {
    struct Entry: ViewModel {
        let name: String
        let href: String
        /// The place of the query.
        let place: String
    }

    let entries: [Entry]
    let count: String?
    let action: String
    let removal: String
    /// The current query.
    let question: String
    /// The page to return to.
    let back: String
    let nameLimit: Int

    init(_ form: QueryForm, visit: Visit) {
        let place = visit.place
        entries = visit.accounts.savedQueries(of: place.address.container).map { saved in
            let there = place.with {
                $0.address.scope = saved.scope
                $0.zone = Place.zone(saved.zone, owner: nil, in: saved.scope)
            }
            return Entry(
                name: saved.name, href: there.link("query", FormFields(encoded: saved.question.utf8).pairs),
                place: [saved.scope.rawValue, saved.zone.flatMap { $0.isEmpty ? "all zones" : $0 }].compactMap { $0 }
                    .joined(separator: ", "))
        }
        count = entries.isEmpty ? nil : String(entries.count)
        action = place.link("queries/save")
        removal = place.link("queries/remove")
        let parameters = form.changed { _ in }.parameters
        question = String(FormFields.url("", parameters).dropFirst())
        back = place.link("query", parameters)
        nameLimit = SavedQuery.nameLimit
    }
}

/// Saves queries under names, and removes them.
package enum SavedQueryActions {
    package static func save(_ visit: Visit) async throws -> String {
        let name = visit.fields["name"]?.trimmingSpaces ?? ""
        if name.isEmpty { throw RecordError(.badRequest, "Enter a name for the query") }
        // Parses and serializes the query, so that the file contains no other input.
        let form = QueryForm(FormFields(encoded: (visit.fields["question"] ?? "").utf8)).changed { _ in }
        if form.type == nil { throw RecordError(.badRequest, "The query has no record type; choose one") }
        let zone = visit.place.zoneParameters.first?.value
        try await visit.accounts.save(
            SavedQuery(
                name: name, container: visit.place.address.container, scope: visit.place.address.scope, zone: zone,
                question: String(FormFields.url("", form.parameters).dropFirst())))
        return back(visit, .querySaved)
    }

    package static func remove(_ visit: Visit) async throws -> String {
        try await visit.accounts.removeSavedQuery(visit.fields["name"] ?? "", of: visit.place.address.container)
        return back(visit, .queryRemoved)
    }

    private static func back(_ visit: Visit, _ notice: Notice) -> String {
        let page = Place.local(visit.fields["back"]) ?? visit.place.link("query")
        return
            "\(page)\(page.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(notice.parameter.name)=\(notice.parameter.value)"
    }
}
