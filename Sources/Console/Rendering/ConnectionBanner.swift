internal import Accounts
internal import CloudKitRecordStore
internal import Records

/// The banner on every page of a container in iCloud, or of the mirror of one, so that users never mistake one for the other.
struct ConnectionBanner: ViewModel {
    /// `iCloud · production · read-only`
    let title: String
    /// The style of the environment.
    let tone: String
    let note: String
    let link: Frame.Link

    /// - Returns: `nil` for other containers.
    init?(_ visit: Visit) {
        if let connection = visit.connection {
            title = "iCloud · \(connection.environment.rawValue) · \(connection.isReadOnly ? "read-only" : "writable")"
            tone = connection.environment.rawValue
            let reading = visit.stopwatch.cloudKit.reading
            let pauses = reading.waiting == .zero ? "" : ", and \(reading.waiting.millisecondsText) ms of pauses"
            note =
                reading.requests == 0
                ? connection.container.description
                : "\(connection.container): \(Digits.count(reading.requests, "request")) to iCloud took \(reading.answering.millisecondsText) ms\(pauses)"
            link = Frame.Link(text: "Mirror", href: visit.place.link("mirror"))
        } else if let origin = visit.origin {
            title = "Mirror"
            tone = ""
            note = "a copy of \(origin.place) on this machine"
            link = Frame.Link(text: "Not sent", href: visit.place.link(Tab.unsent.rawValue))
        } else {
            return nil
        }
    }
}
