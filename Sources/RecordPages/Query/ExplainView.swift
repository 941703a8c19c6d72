package import Console
internal import RecordStore
internal import Records

/// The page Explain: how the engine executes a query, and what would make it cheaper.
package struct ExplainView: Page {
    package static let template = "explain"
    package static let tab = Tab.query

    package let title: String
    /// The form as one line; `nil` if the container has no types.
    let folded: FoldedForm?
    let editor: QueryEditor?
    let firstSteps: FirstSteps?
    let refusal: QueryRefusal?
    let complaint: PageError?
    /// A remark in place of an explanation, for example about an unreadable value.
    let remark: String?
    let answer: Explained?
    /// The composite indexes that would serve the query and are still building.
    let works: IndexWorkPanel?
    /// True if the page waits for the indexes. It does not explain the query until they are complete, to avoid a run
    /// every second.
    let isWaiting: Bool
    /// The link to this page without waiting.
    let now: String
    let code: CodePanel?
}

extension ExplainView {
    /// The page, or the redirect of a form button.
    package static func answer(_ visit: Visit) async throws -> Answer {
        let form = QueryForm(visit.fields)
        return if let changed = form.redirect(visit, to: "explain") { changed } else {
            .page(try await load(visit, form))
        }
    }

    private static func load(_ visit: Visit, _ asked: QueryForm) async throws -> ExplainView {
        try visit.database.require(.explainQueries)
        var form = asked
        if form.type == nil { form.type = visit.usualType(await visit.recordCounts())?.name }
        guard let typeName = form.type else {
            return ExplainView(
                title: "Explain", folded: nil, editor: nil, firstSteps: FirstSteps(visit), refusal: nil, complaint: nil,
                remark: nil, answer: nil, works: nil,
                isWaiting: false, now: "", code: nil)
        }
        let known = visit.schema?.types[typeName]
        let type = known ?? RecordType(name: typeName)
        form.chooseFittingComparators(for: type)
        let plan = CheckedQuery(form, of: type)
        let title = try await plan.titles(visit)
        let editor = QueryEditor(form, type: type, plan: plan, explains: true, visit: visit)
        let works = try await visit.indexWorks()
        let awaited = IndexWorks(builds: works.builds.filter { $0.serves(plan.query, of: type) }).panel
        let isDraft = visit.fields["draft"] != nil
        let isAskedNow = visit.fields["now"] != nil
        let isWaiting = awaited != nil && plan.canRun && !isDraft && !isAskedNow
        func page(
            refusal: QueryRefusal? = nil, complaint: PageError? = nil, remark: String? = nil, answer: Explained? = nil
        ) -> ExplainView {
            let isRun = answer?.isRun ?? false
            return ExplainView(
                title: "Explain · \(typeName)",
                folded: form.folded(
                    plan, type: known, outcome: isRun ? "explained" : "not explained", isAnswered: isRun, visit: visit,
                    title: title), editor: editor, firstSteps: nil, refusal: refusal, complaint: complaint,
                remark: remark,
                answer: answer, works: isWaiting || answer != nil ? awaited : nil, isWaiting: isWaiting,
                now: visit.place.link("explain", form.parameters + [("now", "1")]),
                code: plan.canRun ? CodePanel(plan, form: form, type: known, visit: visit) : nil)
        }
        if isDraft { return page(remark: "Not explained yet.") }
        if editor.written.problem != nil { return page(remark: "Not explained: the text can't be read.") }
        guard plan.canRun else { return page(remark: "Not explained: a value is not valid. Its row says why.") }
        if isWaiting { return page() }
        do {
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: form.limit),
                continuationMarker: form.markers.last,
                desiredKeys: form.keys.set)
            let explanation = try await visit.measure {
                try await visit.database.require(.explainQueries).explain(request)
            }
            let refusal =
                explanation.problems.isEmpty
                ? nil
                : QueryRefusal(
                    explanation.problems, plan: plan, form: form, type: known, works: works,
                    back: visit.place.link("explain", form.parameters), visit: visit)
            return page(
                refusal: refusal,
                answer: Explained(explanation, plan: plan, form: form, type: type, title: title, visit: visit))
        } catch let error as RecordError {
            return page(complaint: PageError(error))
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

// MARK: - Explanation

/// An explanation in the format of the page.
struct Explained: ViewModel {
    struct CandidateRow: ViewModel {
        let index: String
        let clause: String
        let standing: String
        /// `has`, `lacks` or empty. Determines the style of the mark.
        let tone: String
        let isUsed: Bool
        let entries: String?
        let reason: String
    }

    struct Statement: ViewModel {
        let text: String
        let plan: [String]
    }

    struct Advice: ViewModel {
        let text: String
        let fields: [Frame.Hidden]
    }

    let sentence: String
    /// True if the engine ran the query. Otherwise it read nothing.
    let isRun: Bool
    let summary: String
    let entriesRead: String
    let recordsRead: String
    let recordsReturned: String
    let funnel: QueryFunnel?
    let more: String?
    let milliseconds: String
    /// The number of entries or records read per returned record.
    let ratio: String?
    let isWasteful: Bool
    let candidates: [CandidateRow]
    let statements: [Statement]
    let advice: [Advice]
    let canAdvise: Bool
    let action: String
}

extension Explained {
    /// The reads per returned record from which the page calls a query expensive.
    private static let wastefulRatio = 10

    init(
        _ explanation: QueryExplanation, plan: CheckedQuery, form: QueryForm, type: RecordType,
        title: (Reference) -> String?, visit: Visit
    ) {
        sentence = QuerySentence.text(of: plan.query, type: type, title: title)
        isRun = explanation.problems.isEmpty
        summary = explanation.summary
        entriesRead = Digits.grouped(explanation.entriesRead)
        recordsRead = Digits.grouped(explanation.recordsRead)
        recordsReturned = Digits.grouped(explanation.recordsReturned)
        funnel = QueryFunnel(explanation)
        more = explanation.hasMore ? "more follow" : nil
        milliseconds = Digits.fixed(
            explanation.milliseconds, explanation.milliseconds < 1 ? 2 : explanation.milliseconds < 100 ? 1 : 0)
        // The records read are among the entries read, so the larger number is the total work.
        let work = max(explanation.entriesRead, explanation.recordsRead)
        let returned = explanation.recordsReturned
        ratio = returned == 0 ? nil : Digits.fixed(Double(work) / Double(returned), work < returned * 10 ? 1 : 0)
        isWasteful = work > max(returned, 1) * Self.wastefulRatio && work > 100
        candidates = explanation.candidates.map { CandidateRow($0) }
        statements = explanation.statements.map { Statement(text: $0.text, plan: $0.plan) }
        let back = visit.place.link("explain", form.parameters)
        advice = explanation.advice.map { index in
            Advice(
                text: index.words,
                fields: [
                    Frame.Hidden(name: "type", value: type.name.string), Frame.Hidden(name: "back", value: back),
                    Frame.Hidden(name: "filter", value: index.filter.schemaName.string),
                    Frame.Hidden(name: "sort", value: index.sort.schemaName.string),
                ])
        }
        // Composite indexes are specific to Skylight, so production allows them too.
        canAdvise = visit.database.can(.editSchema)
        action = visit.place.link("composites/change")
    }
}

extension Explained.CandidateRow {
    init(_ candidate: QueryExplanation.Candidate) {
        index = candidate.index.words
        clause = candidate.clause
        reason = candidate.reason
        entries = candidate.entries.map { "\(Digits.grouped($0))\(candidate.isCutOff ? " or more" : "")" }
        switch candidate.use {
        case .servesFilter: (standing, tone, isUsed) = ("serves the filter", "has", true)
        case .servesSort: (standing, tone, isUsed) = ("serves the sort", "has", true)
        case .servesBoth: (standing, tone, isUsed) = ("serves filter and sort", "has", true)
        case .narrows: (standing, tone, isUsed) = ("narrows", "has", true)
        case .passedOver: (standing, tone, isUsed) = ("not used", "", false)
        case .beingBuilt: (standing, tone, isUsed) = ("being built", "lacks", false)
        case .missing: (standing, tone, isUsed) = ("missing", "lacks", false)
        }
    }
}

// MARK: - Drawing

/// The work of a query as a drawing that narrows: the index entries that it read, the records that it read, and those
/// that it returned.
struct QueryFunnel: ViewModel {
    struct Stage: ViewModel {
        /// `entries`, `records` or `returned`.
        let tone: String
        let x: Int
        let y: String
        let height: String
    }

    let label: String
    let stages: [Stage]
    /// The outlines of the parts between two stages.
    let joints: [String]

    /// The size of the drawing, and the width of a stage without the joint after it.
    private static let (width, height, stageWidth) = (300, 60.0, 76)
    /// A part of nothing at all would not be visible.
    private static let least = 1.5
}

extension QueryFunnel {
    /// - Returns: `nil` for a query that read nothing and returned nothing.
    init?(_ explanation: QueryExplanation) {
        let counts = [explanation.entriesRead, explanation.recordsRead, explanation.recordsReturned]
        guard let most = counts.max(), most > 0 else { return nil }
        let step = Self.width / counts.count
        let heights = counts.map { max(Self.least, Double($0) / Double(most) * Self.height) }
        func y(_ index: Int, _ side: Double) -> String { Digits.fixed((Self.height + side * heights[index]) / 2, 2) }
        stages = zip(counts.indices, ["entries", "records", "returned"]).map { index, tone in
            Stage(tone: tone, x: index * step, y: y(index, -1), height: Digits.fixed(heights[index], 2))
        }
        joints = counts.indices.dropLast().map { index in
            let (from, to) = (index * step + Self.stageWidth, (index + 1) * step)
            return "M\(from) \(y(index, -1))L\(to) \(y(index + 1, -1))V\(y(index + 1, 1))L\(from) \(y(index, 1))z"
        }
        label =
            "\(Digits.count(counts[0], "entry", plural: "entries")) and \(Digits.count(counts[1], "record")) read, \(Digits.count(counts[2], "record")) returned"
    }
}
