/// A request in one language, ready to paste and run.
package struct CodeSample: ViewModel {
    /// The language, with the variant if there are several: `Swift, async`.
    let title: String
    /// The accessible name of the text, for screen readers: `The query in CloudKit JS`.
    let label: String
    /// The text before the server's address.
    let before: String
    /// True if the text contains the server's address, which the browser inserts.
    let hasAddress: Bool
    let after: String

    package init(_ title: String, of subject: String, text: String) {
        self.init(title, of: subject, before: text, hasAddress: false, after: "")
    }

    init(_ title: String, of subject: String, before: String, hasAddress: Bool = true, after: String) {
        self.title = title
        label = "\(subject) in \(title)"
        self.before = before
        self.hasAddress = hasAddress
        self.after = after
    }
}
