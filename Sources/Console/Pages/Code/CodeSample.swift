/// A request as one writes it somewhere, to be pasted and run.
struct CodeSample: ViewModel {
    /// The language, and the way where it has several: `Swift, async`.
    let title: String
    /// Names the text to those who don't see what stands around it: `The query in CloudKit JS`.
    let label: String
    /// What stands before the server's address.
    let before: String
    /// Whether the server's address, as the browser knows it, belongs into the text.
    let hasAddress: Bool
    let after: String

    init(_ title: String, of subject: String, text: String) {
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
