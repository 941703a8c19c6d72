internal import JSON
internal import RecordStore
internal import Records

/// The page Explain: how a query is answered, and what would make it cheaper.
struct ExplainView: Page {
    static let template = "explain"
    static let tab = Tab.query

    let title: String
    /// `nil` when the container has no type yet.
    let editor: QueryEditor?
    let firstSteps: FirstSteps?
    let refusal: QueryRefusal?
    let complaint: Complaint?
    /// Said in place of an explanation, such as that a value can't be read.
    let remark: String?
    let answer: Explained?
    /// The composite indexes that are being built; then the page looks again by itself.
    let works: IndexWorkPanel?
    let code: QueryCode?
    let milliseconds: String
}

extension ExplainView {
    /// The page, or where a button of the form leads to.
    static func answer(_ visit: Visit) async throws -> Answer {
        var form = QueryForm(visit.fields)
        if let changed = form.pressed(visit) {
            form = changed
            let draft = visit.fields["draft"].map { [("draft", $0)] } ?? []
            return .redirect(visit.place.link("explain", form.parameters + draft))
        }
        return .page(try await load(visit, form))
    }

    private static func load(_ visit: Visit, _ asked: QueryForm) async throws -> ExplainView {
        guard let explaining = visit.database as? any QueryExplaining else {
            throw RecordError(.badRequest, "This engine can't explain how it answers queries")
        }
        var form = asked
        if form.type == nil { form.type = try await visit.usualType()?.name }
        guard let typeName = form.type else {
            return ExplainView(
                title: "Explain", editor: nil, firstSteps: FirstSteps(visit), refusal: nil, complaint: nil, remark: nil, answer: nil, works: nil,
                code: nil, milliseconds: visit.stopwatch.elapsed.millisecondsText)
        }
        let known = visit.schema?.types[typeName]
        let type = known ?? RecordType(name: typeName)
        form.chooseFittingComparators(for: type)
        let plan = QueryPlan(form, of: type)
        let editor = QueryEditor(form, type: type, plan: plan, explains: true, visit: visit)
        let works = try await visit.indexWorks()
        func page(refusal: QueryRefusal? = nil, complaint: Complaint? = nil, remark: String? = nil, answer: Explained? = nil) -> ExplainView {
            ExplainView(
                title: "Explain · \(typeName)", editor: editor, firstSteps: nil, refusal: refusal, complaint: complaint, remark: remark,
                answer: answer, works: answer == nil ? nil : IndexWorks(builds: works.builds.filter { $0.isComposite(of: typeName) }).panel,
                code: plan.canRun ? QueryCode(plan, form: form, type: known, visit: visit) : nil,
                milliseconds: visit.stopwatch.elapsed.millisecondsText)
        }
        if visit.fields["draft"] != nil { return page(remark: "Not explained yet.") }
        guard plan.canRun else { return page(remark: "Not explained: a value can't be read. The row says why.") }
        do {
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: form.limit), continuationMarker: form.markers.last,
                desiredKeys: form.returnsSystemFieldsOnly ? [] : form.keys.isEmpty ? nil : Set(form.keys))
            let explanation = try await visit.measure { try await explaining.explain(request) }
            let refusal = explanation.problems.isEmpty
                ? nil
                : QueryRefusal(
                    explanation.problems, plan: plan, form: form, type: known, works: works, page: "explain", visit: visit)
            return page(refusal: refusal, answer: Explained(explanation, plan: plan, form: form, type: type, visit: visit))
        } catch let error as RecordError {
            return page(complaint: Complaint(error))
        }
    }
}

extension IndexBuildProgress {
    fileprivate func isComposite(of type: Name) -> Bool {
        if case .composite = subject { recordType == type && work == .building } else { false }
    }
}
