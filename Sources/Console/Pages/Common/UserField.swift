internal import Accounts
internal import JSON

/// Where a form asks for a user: a selection where there are some, and where there are many a name to type, with some to choose from.
struct UserField: ViewModel {
    /// Most users that a selection has.
    static let limit = 50
    /// Users that are suggested where one is typed.
    private static let suggestionLimit = 12

    let name: String
    /// For a label beside it; else ``label`` says what it is for.
    let id: String?
    let label: String?
    /// What scripts know it by.
    let mark: String?
    let isTyped: Bool
    /// To choose from, or to be suggested.
    let choices: [Choice]
    let value: String
    /// Tells the suggestions of several fields on a page apart.
    let list: String

    /// - Parameters:
    ///   - none: stands for no user, where that can be chosen.
    ///   - selected: a handle.
    ///   - isOffered: who is among the choices.
    init(
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
            // Who is asked for and is not known stays in the form.
            if let selected, !choices.contains(where: \.isSelected) { choices.append(Choice(selected, selected, isSelected: true)) }
        }
        self.choices = choices
    }
}
