internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// The frame of every page: the current location, and the navigation.
package struct Frame: ViewModel {
    /// A selection in the bar: the current choice, and links to the alternatives.
    struct Chip: ViewModel {
        struct Option: ViewModel {
            let text: String
            let note: String?
            /// `iCloud` for a connected container.
            var badge: String?
            let href: String
            let isCurrent: Bool

            func child(named name: String) -> Any? {
                switch name {
                case "text": text
                case "note": note ?? Absent()
                case "badge": badge ?? Absent()
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

    /// A search field that loads a page with the matches.
    package struct Find: ViewModel {
        /// The query parameter with the text.
        package static let parameter = "find"

        let action: String
        let hidden: [Hidden]
        let name = Self.parameter
        let label: String

        /// - Parameter page: The page that a match leads back to.
        package init(on tab: Tab, at place: Place, label: String, for page: SamePage?) {
            action = "\(place.path)/\(tab.rawValue)"
            hidden = (place.parameters + (page?.parameters ?? [])).map { Hidden(name: $0.name, value: $0.value) }
            self.label = label
        }
    }

    package struct Link: ViewModel {
        package let text: String
        package let href: String

        package init(text: String, href: String) {
            (self.text, self.href) = (text, href)
        }
    }

    /// A short text beside an entry of the navigation, such as `3 errors`.
    struct State: ViewModel {
        let text: String
        /// The end of the sentence that the text begins, for screen readers and under the pointer.
        let rest: String?
        /// `bad`, `warn`, `modified` or `faint`.
        let tone: String

        func child(named name: String) -> Any? {
            switch name {
            case "text": text
            case "rest": rest ?? Absent()
            case "tone": tone
            default: nil
            }
        }
    }

    struct Section: ViewModel {
        let title: String
        let href: String
        let isCurrent: Bool
        let state: State?
        /// The pages that are one click away on every page.
        let pages: [Entry]

        func child(named name: String) -> Any? {
            switch name {
            case "title": title
            case "href": href
            case "isCurrent": isCurrent
            case "state": state ?? Absent()
            case "pages": pages
            default: nil
            }
        }
    }

    package struct Entry: ViewModel {
        package let text: String
        package let href: String
        package let count: String?
        /// The letter of the keyboard shortcut, after the key `g`.
        package let key: String?
        package let isCurrent: Bool

        package init(text: String, href: String, count: String?, key: String?, isCurrent: Bool) {
            self.text = text
            self.href = href
            self.count = count
            self.key = key
            self.isCurrent = isCurrent
        }

        package func child(named name: String) -> Any? {
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

    package struct Hidden: ViewModel {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            (self.name, self.value) = (name, value)
        }
    }

    /// The whole title of the browser's tab.
    let title: String
    /// Skylight's own.
    let version = SkylightVersion.current
    let stylesheet: String
    /// The script that blocks the rendering of pages.
    let firstRendering: String
    let script: String
    let icon: String
    let chips: [Chip]
    let sections: [Section]
    /// The pages of the current section.
    let tabs: [Entry]
    /// The pages that a keyboard shortcut leads to.
    let shortcuts: [Entry]
    let findAction: String
    /// The acting user and the zone.
    let findFields: [Hidden]
    let findHint: String
    /// The fault injection page; `nil` outside of any container.
    let rehearsals: String?
    /// `nil` for containers of this machine alone.
    var connection: ConnectionBanner?

    /// The maximum number of zones in the bar. The Zones page lists all.
    package static let zoneLimit = 40
    /// The maximum number of users in the bar, the most recently active ones. A search finds the others.
    static let userLimit = 12
}

extension Frame {
    /// The frame of a page outside of any container.
    package init(title: String, staticFiles: StaticFiles) {
        let url = staticFiles.urls()
        self.init(
            title: "\(title) · Skylight", stylesheet: url("skylight.css"), firstRendering: url("first-rendering.js"), script: url("skylight.js"), icon: url("skylight.svg"),
            chips: [], sections: [], tabs: [], shortcuts: [], findAction: "/find", findFields: [], findHint: "Find a container or a record", rehearsals: nil)
    }

    /// The frame of a page about a place.
    init(title: String, tab: Tab, visit: Visit, states: SectionStates, staticFiles: StaticFiles) {
        let place = visit.place
        let builder = FrameBuilder(visit: visit, tab: tab, states: states)
        let url = staticFiles.urls()
        self.init(
            title: "\(title) · \(place.address.container) · \(place.address.environment.rawValue)",
            stylesheet: url("skylight.css"), firstRendering: url("first-rendering.js"), script: url("skylight.js"), icon: url("skylight.svg"),
            chips: builder.chips, sections: builder.sections, tabs: builder.tabs, shortcuts: builder.shortcuts,
            findAction: "\(place.path)/find", findFields: place.parameters.map { Hidden(name: $0.name, value: $0.value) },
            findHint: "Find a record, type, zone or token", rehearsals: place.link(Tab.rehearsals.rawValue), connection: ConnectionBanner(visit))
    }
}
