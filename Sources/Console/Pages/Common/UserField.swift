package import Accounts
internal import JSON

/// An input for a user: a selection for few users; for many, a text field with suggestions.
package struct UserField: ViewModel {
    /// The maximum number of users in a selection.
    static let limit = 50
    /// The number of suggestions for a text field.
    private static let suggestionLimit = 12

    let name: String
    /// The id for a separate label element; if it is `nil`, ``label`` names the input.
    let id: String?
    let label: String?
    /// The identifier for scripts.
    let mark: String?
    package let isTyped: Bool
    /// The options of the selection, or the suggestions.
    package let choices: [Choice]
    let value: String
    /// The id of the suggestion list, which must be unique on the page.
    let list: String

    /// - Parameters:
    ///   - none: the label of the option without a user; `nil` if a user is required.
    ///   - selected: the handle of the selected user.
    ///   - isOffered: returns true for the users to offer.
    package init(
        _ people: People, name: String, id: String? = nil, label: String? = nil, mark: String? = nil, none: String? = nil, selected: String? = nil,
        list: String = "users", isOffered: (User) -> Bool = { _ in true }
    ) {
        (self.name, self.id, self.label, self.mark, self.list) = (name, id, label, mark, list)
        isTyped = people.count > Self.limit
        value = selected ?? ""
        let users = (isTyped ? people.recent(Self.suggestionLimit) : people.users).filter(isOffered)
        var choices = users.map { user in Choice(user.handle, user.displayName, isSelected: selected.map { Name($0) == Name(user.handle) } ?? false) }
        if !isTyped {
            if let none { choices.insert(Choice("", none, isSelected: selected == nil), at: 0) }
            // A requested user who does not exist stays in the form.
            if let selected, !choices.contains(where: \.isSelected) { choices.append(Choice(selected, selected, isSelected: true)) }
        }
        self.choices = choices
    }
}
