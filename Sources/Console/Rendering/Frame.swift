internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// The frame of every page: the current location, and the navigation.
struct Frame: ViewModel {
    /// A selection in the bar: the current choice, and links to the alternatives.
    struct Chip: ViewModel {
        struct Option: ViewModel {
            let text: String
            let note: String?
            let href: String
            let isCurrent: Bool

            func child(named name: String) -> Any? {
                switch name {
                case "text": text
                case "note": note ?? Absent()
                case "href": href
                case "isCurrent": isCurrent
                default: nil
                }
            }
        }

        let label: String
        let text: String
        /// The style of environment badges.
        let tone: String?
        let options: [Option]
        /// The last link, to a page with more choices or actions.
        let more: Link?
        /// A search field, if there are too many options to list.
        var find: Find?
    }

    /// A search field that loads a page.
    struct Find: ViewModel {
        let action: String
        let hidden: [Hidden]
        let name: String
        let label: String
    }

    struct Link: ViewModel {
        let text: String
        let href: String
    }

    struct Section: ViewModel {
        let title: String
        let entries: [Entry]
    }

    struct Entry: ViewModel {
        let text: String
        let href: String
        let count: String?
        /// The letter of the keyboard shortcut, after the key `g`.
        let key: String?
        let isCurrent: Bool

        func child(named name: String) -> Any? {
            switch name {
            case "text": text
            case "href": href
            case "count": count ?? Absent()
            case "key": key ?? Absent()
            case "isCurrent": isCurrent
            default: nil
            }
        }
    }

    struct Hidden: ViewModel {
        let name: String
        let value: String
    }

    let title: String
    let stylesheet: String
    /// The script that blocks the rendering of pages.
    let theme: String
    let script: String
    let icon: String
    let chips: [Chip]
    let sections: [Section]
    let tabs: [Entry]
    let findAction: String
    /// The acting user and the zone.
    let findFields: [Hidden]
    let findHint: String
    /// The fault injection page; `nil` outside of any container.
    let rehearsals: String?

    /// The maximum number of zones in the bar. The Zones page lists all.
    static let zoneLimit = 40
    /// The maximum number of users in the bar, the most recently active ones. A search finds the others.
    static let userLimit = 12
}

extension Frame {
    /// The frame of a page outside of any container.
    init(title: String, staticFiles: StaticFiles) {
        self.init(
            title: title, stylesheet: staticFiles.url("skylight.css"), theme: staticFiles.url("theme.js"), script: staticFiles.url("skylight.js"),
            icon: staticFiles.url("skylight.svg"), chips: [], sections: [], tabs: [], findAction: "/find", findFields: [], findHint: "Find a container or a record", rehearsals: nil)
    }

    /// The frame of a page about a place.
    init(title: String, tab: Tab, visit: Visit, staticFiles: StaticFiles) {
        let place = visit.place
        let builder = FrameBuilder(visit: visit, tab: tab)
        self.init(
            title: title, stylesheet: staticFiles.url("skylight.css"), theme: staticFiles.url("theme.js"), script: staticFiles.url("skylight.js"),
            icon: staticFiles.url("skylight.svg"), chips: builder.chips, sections: builder.sections, tabs: builder.tabs,
            findAction: "\(place.path)/find", findFields: place.parameters.map { Hidden(name: $0.name, value: $0.value) },
            findHint: "Find a record, type, zone or token", rehearsals: place.link(Tab.rehearsals.rawValue))
    }
}
