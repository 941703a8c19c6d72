internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
package import Records

/// Shows an error page for errors outside of any place.
struct ErrorPages: Sendable {
    let renderer: PageRenderer

    func handle(_ next: () async throws -> Response) async throws -> Response {
        do {
            return try await next()
        } catch let error as MissingPage {
            return try response(ComponentPage(missing: error.reason))
        } catch let error as RecordError {
            return try response(ComponentPage(error))
        } catch let error as HTTPError where error.status == .notFound {
            return try response(
                ComponentPage(missing: "There is no page at this address. It may be mistyped, or the link may be old."))
        }
    }

    private func response(_ page: ComponentPage) throws -> Response {
        try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}

// MARK: - Errors

extension ComponentPage {
    private static let allContainers = Frame.Link.button("All containers", "/")

    /// The page of an address without content.
    init(missing reason: String) {
        self.init(
            .home, title: "Not found", status: .notFound,
            PageHead("Page not found", [Inline(reason)], actions: [Self.allContainers]), [])
    }

    /// The page of an API error, with advice.
    /// - Parameter back: the link back to the page of the error; `nil` outside of any place.
    init(_ error: RecordError, back: Frame.Link? = nil) {
        let status = error.code.httpStatus
        let remedy: [Inline] = error.retryAfter.map { ["Try again in \(Digits.count($0, "second"))."] } ?? []
        self.init(
            .home, title: "Error", status: status, retryAfter: error.retryAfter,
            PageHead(
                status == .notFound ? "Not found" : status.code >= 500 ? "The server failed" : "Refused",
                ["\(error.reason) \(.faint(Inline(error.code.rawValue)))"] + remedy,
                actions: (back.map { [.button($0.text, $0.href)] } ?? []) + [Self.allContainers]), [])
    }

    /// A page about something that CloudKit's protocol does not provide, but a mirror of the container has.
    init(offeringMirror error: RecordError, _ visit: Visit) {
        self.init(
            .home,
            PageHead(
                "Not available from CloudKit",
                [
                    "\(error.reason).",
                    "CloudKit doesn't provide this. A \(.link("mirror", visit.place.link("mirror"))) (a local copy) does: counts, the schema, queries without indexes, history and checks.",
                ], actions: [.button("Back to the records", visit.place.link(Tab.query.rawValue))]), [])
    }
}

/// An address without content, and the reason.
struct MissingPage: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

extension RecordError {
    /// The error of an action that needs files in the server's temporary folder. Its text has no path: those are the
    /// server's own.
    /// - Parameter consequence: what did not happen, such as `Nothing can be copied`.
    package static func noTemporaryFile(_ consequence: String) -> RecordError {
        RecordError(
            .internalError,
            "\(consequence): the server can't create a file in its temporary folder; check its space and permissions")
    }
}

// MARK: - What CloudKit does not provide

/// The offer of a mirror, in place of what CloudKit does not provide.
package struct MirrorOffer: ViewModel {
    let mirror: String

    package init(_ visit: Visit) {
        mirror = visit.place.link("mirror")
    }
}

// MARK: - Confirmation

/// A confirmation page for changes that can't be undone.
package struct ConfirmationView: Page {
    package static let template = "confirm"
    package static let tab = Tab.home

    /// One thing that the action is about.
    package struct Item: ViewModel {
        let name: String
        let text: String

        package init(name: String, text: String) { (self.name, self.text) = (name, text) }
    }

    package let frameTab: Tab
    package let title: String
    package let lines: [String]
    package let items: [Item]
    /// The address of the form.
    package let action: String
    package let fields: [Frame.Hidden]
    package let button: String
    /// The link back, without any change.
    package let cancel: String
    /// The page that saves a snapshot, where one brings back what is lost.
    let snapshots: String?

    /// - Parameter losing: the visit whose data is lost for good.
    package init(
        on tab: Tab, title: String, lines: [String], items: [Item] = [], action: String, fields: [Frame.Hidden],
        button: String, cancel: String, losing: Visit? = nil
    ) {
        frameTab = tab
        self.title = title
        self.lines = lines
        self.items = items
        self.action = action
        self.fields = fields
        self.button = button
        self.cancel = cancel
        snapshots = losing?.snapshots
    }
}

extension Visit {
    /// The page that saves a snapshot; `nil` if there are none of this container.
    package var snapshots: String? {
        offers(.snapshots) ? place.with { $0.zone = .unspecified }.link(Tab.snapshots.rawValue) : nil
    }
}

extension ConfirmationView {
    /// The form field with the id of the connection whose container may be changed.
    static let leaveField = "change-in-icloud"

    /// The question before a change of a container in iCloud. Its form sends the fields of the refused one again.
    init(changing connection: ContainerConnection, _ visit: Visit) {
        let whose =
            connection.environment == .production
            ? "It holds the data of the app's users." : "Other developers and testers of the app see the change."
        self.init(
            on: .home, title: "Change \(connection.place) in iCloud?",
            lines: [
                "This changes the container itself, not a copy on this machine. \(whose)",
                "Nothing has been changed yet.",
            ], action: visit.target,
            fields: (visit.fields.pairs + [(Self.leaveField, connection.id)]).map {
                Frame.Hidden(name: $0.name, value: $0.value)
            },
            button: "Change it in iCloud",
            cancel: Place.local(visit.fields["from"]) ?? visit.place.link(Tab.query.rawValue))
    }
}
