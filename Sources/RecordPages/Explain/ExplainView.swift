internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page Explain: how the engine executes a query, and what would make it cheaper.
struct ExplainView: Page {
    static let template = "explain"
    static let tab = Tab.query

    let title: String
    /// The form as one line; `nil` if the container has no types.
    let folded: FoldedForm?
    let editor: QueryEditor?
    let firstSteps: FirstSteps?
    let refusal: QueryRefusal?
    let complaint: Complaint?
    /// A remark in place of an explanation, for example about an unreadable value.
    let remark: String?
    let answer: Explained?
    /// The composite indexes that would serve the query and are still building.
    let works: IndexWorkPanel?
    /// True if the page waits for the indexes. It does not explain the query until they are complete, to avoid a run every second.
    let isWaiting: Bool
    /// The link to this page without waiting.
    let now: String
    let code: CodePanel?
    let milliseconds: String
}

extension ExplainView {
    /// The page, or the redirect of a form button.
    static func answer(_ visit: Visit) async throws -> Answer {
        let form = QueryForm(visit.fields)
        return if let changed = form.redirect(visit, to: "explain") { changed } else { .page(try await load(visit, form)) }
    }

    private static func load(_ visit: Visit, _ asked: QueryForm) async throws -> ExplainView {
        try visit.database.require(.explainQueries)
        var form = asked
        if form.type == nil { form.type = visit.usualType(await visit.recordCounts())?.name }
        guard let typeName = form.type else {
            return ExplainView(
                title: "Explain", folded: nil, editor: nil, firstSteps: FirstSteps(visit), refusal: nil, complaint: nil, remark: nil, answer: nil, works: nil,
                isWaiting: false, now: "", code: nil, milliseconds: visit.stopwatch.elapsed.millisecondsText)
        }
        let known = visit.schema?.types[typeName]
        let type = known ?? RecordType(name: typeName)
        form.chooseFittingComparators(for: type)
        let plan = QueryPlan(form, of: type)
        let title = try await plan.titles(visit)
        let editor = QueryEditor(form, type: type, plan: plan, explains: true, visit: visit)
        let works = try await visit.indexWorks()
        let awaited = IndexWorks(builds: works.builds.filter { $0.serves(plan.query, of: type) }).panel
        let isDraft = visit.fields["draft"] != nil
        let isAskedNow = visit.fields["now"] != nil
        let isWaiting = awaited != nil && plan.canRun && !isDraft && !isAskedNow
        func page(refusal: QueryRefusal? = nil, complaint: Complaint? = nil, remark: String? = nil, answer: Explained? = nil) -> ExplainView {
            let isRun = answer?.isRun ?? false
            return ExplainView(
                title: "Explain · \(typeName)",
                folded: form.folded(plan, type: known, outcome: isRun ? "explained" : "not explained", isAnswered: isRun, visit: visit, title: title), editor: editor, firstSteps: nil, refusal: refusal, complaint: complaint, remark: remark,
                answer: answer, works: isWaiting || answer != nil ? awaited : nil, isWaiting: isWaiting,
                now: visit.place.link("explain", form.parameters + [("now", "1")]),
                code: plan.canRun ? CodePanel(plan, form: form, type: known, visit: visit) : nil,
                milliseconds: visit.stopwatch.elapsed.millisecondsText)
        }
        if isDraft { return page(remark: "Not explained yet.") }
        if editor.written.problem != nil { return page(remark: "Not explained: the text can't be read.") }
        guard plan.canRun else { return page(remark: "Not explained: a value is not valid. Its row says why.") }
        if isWaiting { return page() }
        do {
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: form.limit), continuationMarker: form.markers.last,
                desiredKeys: form.desiredKeys)
            let explanation = try await visit.measure { try await visit.database.explain(request) }
            let refusal = explanation.problems.isEmpty
                ? nil
                : QueryRefusal(
                    explanation.problems, plan: plan, form: form, type: known, works: works, back: visit.place.link("explain", form.parameters), visit: visit)
            return page(refusal: refusal, answer: Explained(explanation, plan: plan, form: form, type: type, title: title, visit: visit))
        } catch let error as RecordError {
            return page(complaint: Complaint(error))
        }
    }
}

extension IndexBuildProgress {
    /// True if this is a composite index in progress that covers an equality filter and the first sort of a query.
    fileprivate func serves(_ query: Query, of type: RecordType) -> Bool {
        guard case .composite(let index) = subject, work == .building, recordType == type.name else { return false }
        return query.sorts.first.map { type.key(named: $0.fieldName) == index.sort } ?? false
            && query.filters.contains { type.key(named: $0.fieldName) == index.filter && $0.comparator == .equals }
    }
}
