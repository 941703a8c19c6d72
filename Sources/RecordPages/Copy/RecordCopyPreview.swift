internal import Console
internal import DataTransfer
internal import JSON
internal import RecordStore
internal import Records

/// The effects of copying records, as text for the page.
struct RecordCopyPreview: ViewModel {
    struct Row: ViewModel {
        let recordName: String
        let title: String?
        let href: String
        let type: String
        let size: String
        let files: String?
        /// `new`, `is there already`, `is replaced`, `can’t be copied`.
        let verdict: String
        let tone: String
        /// The link to the comparison with the record of the same name.
        let compare: String?
        /// The reason why the record can't be copied.
        let problem: String?
    }

    struct Dangling: ViewModel {
        let recordName: String
        let field: String
        let target: String
        let consequence: String
        let isRefused: Bool
    }

    let there: String
    /// `12 records are copied. 3 are there already and are kept as they are.`
    let summary: String
    let isProduction: Bool
    let makesZone: Bool
    let additions: String?
    /// The link to the page that deploys the schema that production lacks.
    let deploy: String?
    let rows: [Row]
    let dangling: [Dangling]
    let moreDangling: String?
    let fingerprint: String
    let canCopy: Bool
    let button: String

    init(_ plan: RecordCopyPlan, _ source: RecordCopyView.Source, to other: OtherPlace, _ existing: RecordCopier.Existing) throws {
        let visit = source.visit
        there = other.words
        isProduction = other.place.address.environment == .production
        let copied = plan.arriving
        let stops = existing == .refuse && !plan.taken.isEmpty
        let refused = existing == .refuse && !plan.problems.isEmpty
        canCopy = !copied.isEmpty && !stops && !refused
        makesZone = canCopy && plan.zone == nil && !other.zoneID.isDefault
        additions = plan.additions.isEmpty ? nil : plan.additions.prefix(RecordCopyView.shownLimit).joined(separator: ", ")
        let lacksSchema = plan.items.contains { if case .unfit = $0.fate { true } else { false } }
        deploy = lacksSchema && isProduction ? visit.place.with { $0.address.environment = .development }.link(Tab.deploy.rawValue) : nil
        rows = try plan.items.map { try Row($0, visit, other, existing) }
            + plan.gone.map { name in
                Row(
                    recordName: name.string, title: nil, href: visit.place.link(toRecord: name, in: visit.place.zoneID ?? .default), type: "", size: "", files: nil,
                    verdict: "deleted", tone: "deleted", compare: nil, problem: "It was deleted after you selected it")
            }
        dangling = plan.dangling.prefix(RecordCopyView.shownLimit).map { Dangling($0) }
        let left = plan.dangling.count - RecordCopyView.shownLimit
        moreDangling = plan.isCutOff ? "There are more references than were checked." : left > 0 ? "And \(Digits.grouped(left)) more." : nil
        fingerprint = plan.fingerprint
        button = "Copy \(Digits.count(copied.count, "record"))"
        var words: [String] = []
        if stops {
            words.append("\(Digits.count(plan.taken.count, "record")) with the same \(plan.taken.count == 1 ? "name exists" : "names exist") there, so nothing is copied.")
        } else if refused {
            words.append("\(Digits.count(plan.problems.count, "record")) can’t be copied, so none is.")
        } else {
            let files = plan.files == 0 ? "" : copied.count == 1 ? " with its files" : " with their files"
            words.append(copied.isEmpty ? "Nothing is copied." : "\(Digits.count(copied.count, "record")) \(copied.count == 1 ? "is" : "are") copied\(files).")
            let taken = plan.taken.count { $0.problem == nil }
            let (are, they) = taken == 1 ? ("is", "it is") : ("are", "they are")
            let then = existing == .replace ? "replaced" : "kept as \(they)"
            if taken > 0 { words.append("\(Digits.grouped(taken)) \(are) there already and \(are) \(then).") }
            if !plan.problems.isEmpty { words.append("\(Digits.grouped(plan.problems.count)) can’t be copied.") }
        }
        summary = words.joined(separator: " ")
    }
}

extension RecordCopyPreview.Row {
    fileprivate init(_ item: RecordCopyPlan.Item, _ visit: Visit, _ other: OtherPlace, _ existing: RecordCopier.Existing) throws {
        let name = item.record.recordID.recordName
        recordName = name.string
        title = try visit.titles.title(of: item.record)
        href = visit.place.link(toRecord: name, in: item.record.recordID.zoneID)
        type = item.record.recordType.string
        size = Digits.bytes(Int64(item.record.fields.bytes.count))
        files = item.files == 0 ? nil : Digits.count(item.files, "file")
        compare = item.existing == nil ? nil : RecordComparisonView.link(name, in: visit.place, with: name, other)
        problem = item.problem?.reason
        (verdict, tone) =
            item.problem != nil ? ("can’t be copied", "deleted")
            : item.existing == nil ? ("new", "created")
            : existing == .replace ? ("is replaced", "recreated") : ("is there already", "")
    }
}

extension RecordCopyPreview.Dangling {
    fileprivate init(_ dangling: RecordCopyPlan.Dangling) {
        recordName = dangling.recordName.string
        field = dangling.field.string
        target = dangling.target.recordName.string
        isRefused = dangling.action == .validate
        consequence = isRefused ? "VALIDATE: the record is refused without it" : "its target is missing there"
    }
}
