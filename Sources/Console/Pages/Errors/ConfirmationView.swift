internal import Accounts
internal import Records

/// A confirmation page for changes that can't be undone.
package struct ConfirmationView: Page {
    package static let template = "confirm"
    package static let tab = Tab.home

    package let frameTab: Tab
    package let title: String
    package let lines: [String]
    /// The address of the form.
    package let action: String
    package let fields: [Frame.Hidden]
    package let button: String
    /// The link back, without any change.
    package let cancel: String

    package init(on tab: Tab, title: String, lines: [String], action: String, fields: [Frame.Hidden], button: String, cancel: String) {
        frameTab = tab
        self.title = title
        self.lines = lines
        self.action = action
        self.fields = fields
        self.button = button
        self.cancel = cancel
    }
}

extension ConfirmationView {
    /// The form field with the id of the connection whose container may be changed.
    static let leaveField = "change-in-icloud"

    /// The question before a change of a container in iCloud. Its form sends the fields of the refused one again.
    init(changing connection: ContainerConnection, _ visit: Visit) {
        let whose = connection.environment == .production ? "It holds the data of the app's users." : "Other developers and testers of the app see the change."
        self.init(
            on: .home, title: "Change \(connection.place) in iCloud?",
            lines: ["This changes the container itself, not a copy on this machine. \(whose)", "Nothing has been changed yet."], action: visit.target,
            fields: (visit.fields.pairs + [(Self.leaveField, connection.id)]).map { Frame.Hidden(name: $0.name, value: $0.value) },
            button: "Change it in iCloud", cancel: Place.local(visit.fields["from"]) ?? visit.place.link(Tab.query.rawValue))
    }
}
