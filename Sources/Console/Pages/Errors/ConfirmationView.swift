/// Asks before something is changed that can't be taken back.
struct ConfirmationView: Page {
    static let template = "confirm"
    static let tab = Tab.home

    let title: String
    let lines: [String]
    /// Where the form is sent.
    let action: String
    let fields: [Frame.Hidden]
    let button: String
    /// Back without having done anything.
    let cancel: String
}
