internal import Console
internal import DataTransfer
internal import JSON
internal import Records

/// The outcome of a copy, record by record.
struct RecordCopyResultView: Page {
    static let template = "record_copied"
    static let tab = Tab.fetch

    struct Row: ViewModel {
        let recordName: String
        /// The link to the copy, or to the existing record.
        let href: String?
        let verdict: String
        let tone: String
        let code: String?
        let reason: String?
    }

    let title: String
    let there: String
    let summary: String
    let isWhole: Bool
    let rows: [Row]
    /// The link that fetches the records at the target; `nil` if there are none.
    let fetch: String?
    /// The link that copies the same records to another place.
    let again: String
    let picked: [Frame.Hidden]
    let back: String
    let milliseconds: String

    init(
        _ plan: RecordCopyPlan, _ results: [(Name, Result<RecordCopier.Act, RecordError>)], _ source: RecordCopyView.Source, to other: OtherPlace
    ) {
        let visit = source.visit
        let refused = plan.problems.map { ($0.record.recordID.recordName, Result<RecordCopier.Act, RecordError>.failure($0.problem ?? .recordNotFound)) }
        let gone = plan.gone.map { ($0, Result<RecordCopier.Act, RecordError>.failure(.recordNotFound)) }
        let all = results + refused + gone
        func count(_ act: RecordCopier.Act) -> Int { all.count { (try? $0.1.get()) == act } }
        let failed = all.count { (try? $0.1.get()) == nil }
        let (saved, left) = (count(.copied) + count(.replaced), count(.left))
        title = saved == 0 ? "Nothing was copied" : failed == 0 ? "Copied" : "Copied, with \(Digits.count(failed, "exception"))"
        self.there = other.words
        isWhole = failed == 0
        let parts = [
            (count(.copied), "copied"), (count(.replaced), "replaced"), (left, "not replaced"), (failed, "not copied"),
        ]
        summary = parts.filter { $0.0 > 0 }.map { "\(Digits.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
        let shares = Set(plan.sent.filter { $0.recordType == Share.recordType }.map(\.recordID.recordName))
        rows = all.map { name, result in
            let href = other.place.link(toRecord: name, in: other.zoneID)
            let guests = shares.contains(name) ? "Its guests see the copy too" : nil
            return switch result {
            case .success(.copied): Row(recordName: name.string, href: href, verdict: "copied", tone: "created", code: nil, reason: guests)
            case .success(.replaced): Row(recordName: name.string, href: href, verdict: "replaced", tone: "modified", code: nil, reason: guests)
            case .success(.left): Row(recordName: name.string, href: href, verdict: "kept", tone: "", code: nil, reason: "A record with this name exists, and was not replaced")
            case .failure(let error): Row(recordName: name.string, href: nil, verdict: "not copied", tone: "deleted", code: error.code.rawValue, reason: error.reason)
            }
        }
        let there = all.filter { (try? $0.1.get()) != nil }.map(\.0.string)
        fetch = there.isEmpty ? nil : other.place.link("fetch", [("names", there.joined(separator: "\n"))])
        again = visit.place.link("record/copy")
        picked = RecordCopyView.fields(source) + [Frame.Hidden(name: "do", value: "choose")]
        back = source.back
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }
}
