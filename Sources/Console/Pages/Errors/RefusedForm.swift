package import Records

/// A form that the server refused: its page shows the reason above the form, which keeps what was typed.
package struct RefusedForm: ViewModel {
    let reason: String
    let code: String
    let typed: String
    /// A link to what stands in the way.
    let link: Frame.Link?

    package init(_ error: RecordError, typed: String, link: Frame.Link? = nil) {
        reason = error.reason
        code = error.code.rawValue
        self.typed = typed
        self.link = link
    }
}
