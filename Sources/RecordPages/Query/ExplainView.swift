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
    /// The explanation.
    let parts: [any Component]
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
                remark: nil, parts: [], works: nil,
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
            refusal: QueryRefusal? = nil, complaint: PageError? = nil, remark: String? = nil,
            _ explanation: QueryExplanation? = nil
        ) -> ExplainView {
            let isRun = explanation?.problems.isEmpty ?? false
            let parts = explanation.map {
                self.parts(of: $0, sentence: QuerySentence.text(of: plan.query, type: type, title: title), form, visit)
            }
            return ExplainView(
                title: "Explain · \(typeName)",
                folded: form.folded(
                    plan, type: known, outcome: isRun ? "explained" : "not explained", isAnswered: isRun, visit: visit,
                    title: title), editor: editor, firstSteps: nil, refusal: refusal, complaint: complaint,
                remark: remark,
                parts: parts ?? [], works: isWaiting || explanation != nil ? awaited : nil, isWaiting: isWaiting,
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
            return page(refusal: refusal, explanation)
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

extension ExplainView {
    /// The reads per returned record from which the page calls a query expensive.
    private static let wastefulRatio = 10

    private static func parts(
        of explanation: QueryExplanation, sentence: String, _ form: QueryForm, _ visit: Visit
    ) -> [any Component] {
        var parts: [any Component] = []
        if explanation.problems.isEmpty { parts.append(result(explanation, sentence)) }
        let back = visit.place.link("explain", form.parameters)
        parts += explanation.advice.map { advice(of: $0, form, back: back, visit) }
        if !explanation.candidates.isEmpty {
            parts.append(
                Section(
                    "considered", "Indexes considered",
                    [
                        Table(
                            "Each index and its use",
                            ["index", "for", "use", .number("entries"), .column("why", "wide")],
                            explanation.candidates.map(row))
                    ]))
        }
        if !explanation.statements.isEmpty {
            let statements: [any Component] = explanation.statements.flatMap { statement -> [any Component] in
                [
                    CodeBlock("A statement", Inline(statement.text)),
                    Listing(statement.plan.map { .code($0) }, style: "plan"),
                ]
            }
            parts.append(Section("engine", "The engine's plan", statements))
        }
        return parts
    }

    private static func result(_ explanation: QueryExplanation, _ sentence: String) -> Section {
        let returned = explanation.recordsReturned
        let counts = Figures([
            JobProgress.Figure("entries read", Digits.grouped(explanation.entriesRead)),
            JobProgress.Figure("records read", Digits.grouped(explanation.recordsRead)),
            JobProgress.Figure(
                "records returned", Digits.grouped(returned), note: explanation.hasMore ? "more follow" : nil),
        ])
        // The records read are among the entries read, so the larger number is the total work.
        let work = max(explanation.entriesRead, explanation.recordsRead)
        let isWasteful = work > max(returned, 1) * wastefulRatio && work > 100
        let ratio = JobProgress.Figure(
            "reads per record returned",
            Digits.fixed(Double(work) / Double(max(returned, 1)), work < returned * 10 ? 1 : 0),
            tone: isWasteful ? "warn" : nil)
        let milliseconds = explanation.milliseconds
        let time = JobProgress.Figure(
            "time", "\(Digits.fixed(milliseconds, milliseconds < 1 ? 2 : milliseconds < 100 ? 1 : 0)) ms")
        let funnel: [any Component] = QueryFunnel(explanation).map { [$0] } ?? []
        return Section(
            "result", Inline(sentence), style: "explained",
            [
                Paragraph(Inline(explanation.summary)), Columns(style: "funnel", funnel + [counts]),
                Figures(returned == 0 ? [time] : [ratio, time]),
            ])
    }

    /// The offer of a composite index. They are specific to Skylight, so production allows them too.
    private static func advice(of index: CompositeIndex, _ form: QueryForm, back: String, _ visit: Visit) -> Note {
        let fields = [
            ("type", form.type?.string ?? ""), ("back", back), ("filter", index.filter.schemaName.string),
            ("sort", index.sort.schemaName.string),
        ]
        let button = Form(
            .line, visit.place.link("composites/change"), hidden: fields.map { Frame.Hidden(name: $0, value: $1) }, [],
            button: "Add composite index \(index.words)", buttonStyle: "go")
        return Note(
            remark: "A composite index \(index.words) would return these records in order.",
            "It belongs to Skylight: schema files do not contain it, and no query requires it.",
            visit.database.can(.editSchema) ? [button] : [])
    }

    private static func row(_ candidate: QueryExplanation.Candidate) -> Table.Row {
        let (standing, tone) = candidate.use.words
        return Table.Row(
            [
                .code(candidate.index.words), Inline(candidate.clause), .badge(standing, tone),
                candidate.entriesWords.map { Inline($0) } ?? .faint("not counted"), Inline(candidate.reason),
            ], tone == "has" ? .used : nil)
    }
}

extension QueryExplanation.Candidate {
    /// `1,000 or more`; `nil` if they were not counted.
    var entriesWords: String? { entries.map { "\(Digits.grouped($0))\(isCutOff ? " or more" : "")" } }
}

extension QueryExplanation.IndexUse {
    /// The use of an index, and the tone of its mark: `has` if the query uses it.
    var words: (standing: String, tone: String) {
        switch self {
        case .servesFilter: ("serves the filter", "has")
        case .servesSort: ("serves the sort", "has")
        case .servesBoth: ("serves filter and sort", "has")
        case .narrows: ("narrows", "has")
        case .passedOver: ("not used", "")
        case .beingBuilt: ("being built", "lacks")
        case .missing: ("missing", "lacks")
        }
    }
}

// MARK: - Drawing

/// The work of a query as a drawing that narrows: the index entries that it read, the records that it read, and those
/// that it returned.
struct QueryFunnel: Component {
    static let template = "query_funnel"

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
