/// The form of a page that reads records, as one line: the request in words and the result. The form is behind it.
package struct FoldedForm: ViewModel {
    /// The request, such as `Message in Chats where room is general`.
    package let words: String
    /// `50 of 1,185`, or the reason why there is no result.
    package let outcome: String
    /// True if the form is open, because the request has no result yet or the user is changing it.
    package let isOpen: Bool

    /// A button that changes the form adds this to the URL, so that the form stays open.
    package static let editing: (name: String, value: String) = ("edit", "1")

    /// - Parameter isAnswered: true if the page shows a result.
    package init(_ words: String, outcome: String, isAnswered: Bool, visit: Visit) {
        self.words = words
        self.outcome = outcome
        isOpen = !isAnswered || visit.fields[Self.editing.name] != nil
    }
}
