internal import HTTPServing
internal import JSON

/// The page that a zone or a user is chosen for: the same tab, at the place of the choice. Drops parameters that are specific to one database, such
/// as names, tokens and markers.
package struct SamePage {
    private static let parameter = "for"

    private let tab: Tab
    /// The record type of a query.
    private let type: String?

    init(_ tab: Tab, _ fields: FormFields) {
        self.tab = tab
        type = tab == .query ? fields["type"] : nil
    }

    /// The page that a search of the bar came from; `nil` if it came from none.
    package init?(asked visit: Visit) {
        guard let tab = visit.fields[Self.parameter].flatMap(Tab.init(rawValue:)), tab != .home, visit.offers(tab) else { return nil }
        self.init(tab, visit.fields)
    }

    package var title: String { tab.title }

    /// The address that leads from a page of choices back to this one.
    package var parameters: [(name: String, value: String)] {
        tab == .home ? [] : [(Self.parameter, tab.rawValue)] + own
    }

    package func link(at place: Place) -> String {
        switch tab {
        case .home: place.link(Tab.query.rawValue)
        // The public database has no shares.
        case .sharing where !place.hasFeed: place.link(Tab.zones.rawValue)
        default: place.link(tab.rawValue, own)
        }
    }

    private var own: [(name: String, value: String)] { type.map { [("type", $0)] } ?? [] }
}
