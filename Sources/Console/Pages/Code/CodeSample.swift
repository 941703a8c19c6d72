/// A request in one language, ready to paste and run.
package struct CodeSample: ViewModel {
    /// The language, with the variant if there are several: `Swift, async`.
    let title: String
    /// The accessible name of the text, for screen readers: `The query in CloudKit JS`.
    let label: String
    /// The text before the server's address.
    let before: String
    /// The server's address within the text, which the browser replaces by the one that it uses; `nil` if the text has none.
    let address: String?
    let after: String

    package init(_ title: String, of subject: String, text: String) {
        self.init(title, of: subject, before: text, address: nil, after: "")
    }

    init(_ title: String, of subject: String, before: String, address: String?, after: String) {
        self.title = title
        label = "\(subject) in \(title)"
        self.before = before
        self.address = address
        self.after = after
    }
}
