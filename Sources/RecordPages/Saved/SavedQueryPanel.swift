internal import Accounts
internal import Console
internal import Records

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
                place: [saved.scope.rawValue, saved.zone.flatMap { $0.isEmpty ? "all zones" : $0 }].compactMap { $0 }.joined(separator: ", "))
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
