/// A confirmation page for changes that can't be undone.
struct ConfirmationView: Page {
    static let template = "confirm"
    static let tab = Tab.home

    let title: String
    let lines: [String]
    /// The address of the form.
    let action: String
    let fields: [Frame.Hidden]
    let button: String
    /// The link back, without any change.
    let cancel: String
}
