internal import Console
internal import JSON

/// The actions for the ticked records of a table.
struct PickingBar: ViewModel {
    let action: String
    /// The page to return to.
    let back: String
    let formats: [Choice]
    /// The link that changes all matching records, ticked or not; `nil` if there is no query.
    let changeAll: String?
    let newRecord: String?

    /// - Parameter canSave: false if every save is refused.
    init(back form: QueryForm, canSave: Bool, visit: Visit) {
        self.init(
            back: visit.place.link("query", form.parameters), changeAll: visit.place.link("bulk", form.changed { _ in }.parameters),
            newRecord: canSave ? visit.place.link("record/new", form.type.map { [("type", $0.string)] } ?? []) : nil, visit: visit)
    }

    init(back: String, changeAll: String? = nil, newRecord: String? = nil, visit: Visit) {
        action = visit.place.link("picked")
        self.back = back
        self.changeAll = changeAll
        self.newRecord = newRecord
        formats = ResultFormat.allCases.map { Choice($0.rawValue, $0.label, isSelected: false) }
    }
}
