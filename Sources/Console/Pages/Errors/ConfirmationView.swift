/// A confirmation page for changes that can't be undone.
package struct ConfirmationView: Page {
    package static let template = "confirm"
    package static let tab = Tab.home

    package let title: String
    package let lines: [String]
    /// The address of the form.
    package let action: String
    package let fields: [Frame.Hidden]
    package let button: String
    /// The link back, without any change.
    package let cancel: String

    package init(title: String, lines: [String], action: String, fields: [Frame.Hidden], button: String, cancel: String) {
        self.title = title
        self.lines = lines
        self.action = action
        self.fields = fields
        self.button = button
        self.cancel = cancel
    }
}
