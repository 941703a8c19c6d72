internal import Records

/// A page about something that CloudKit's protocol does not tell, which a mirror of the container has.
struct UntoldView: Page {
    static let template = "untold"
    static let tab = Tab.home

    let title = "Not available from CloudKit"
    let reason: String
    let untold: Untold
    let back: Frame.Link

    init(_ error: RecordError, _ visit: Visit) {
        reason = error.reason
        untold = Untold(visit)
        back = Frame.Link(text: "Back to the records", href: visit.place.link(Tab.query.rawValue))
    }
}

/// The offer of a mirror, in place of what CloudKit does not tell.
package struct Untold: ViewModel {
    let mirror: String

    package init(_ visit: Visit) {
        mirror = visit.place.link("mirror")
    }
}
