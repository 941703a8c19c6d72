internal import Console
internal import JSON
internal import RecordStore
internal import Records

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

    init(_ explanation: QueryExplanation, plan: QueryPlan, form: QueryForm, type: RecordType, title: (Reference) -> String?, visit: Visit) {
        sentence = QuerySentence.text(of: plan.query, type: type, title: title)
        isRun = explanation.problems.isEmpty
        summary = explanation.summary
        entriesRead = Digits.grouped(explanation.entriesRead)
        recordsRead = Digits.grouped(explanation.recordsRead)
        recordsReturned = Digits.grouped(explanation.recordsReturned)
        funnel = QueryFunnel(explanation)
        more = explanation.hasMore ? "more follow" : nil
        milliseconds = Digits.fixed(explanation.milliseconds, explanation.milliseconds < 1 ? 2 : explanation.milliseconds < 100 ? 1 : 0)
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
        switch candidate.standing {
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
