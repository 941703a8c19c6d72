internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// What is around every page: where one stands and how to go elsewhere.
struct Frame: ViewModel {
    /// A choice in the bar: what is chosen, and links to what else could be.
    struct Chip: ViewModel {
        struct Option: ViewModel {
            let text: String
            let note: String?
            let href: String
            let isCurrent: Bool
        }

        let label: String
        let text: String
        /// Marks environments.
        let tone: String?
        let options: [Option]
        /// A last link, to where there is more to choose or to do.
        let more: Link?
        /// Finds what is not among the options, where there are too many to list.
        var find: Find?
    }

    /// A field whose text a page is looked up with.
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
        /// What leads there after the key `g`.
        let key: String?
        let isCurrent: Bool
    }

    struct Hidden: ViewModel {
        let name: String
        let value: String
    }

    let title: String
    let stylesheet: String
    /// The script that pages wait for.
    let theme: String
    let script: String
    let icon: String
    let chips: [Chip]
    let sections: [Section]
    let tabs: [Entry]
    let findAction: String
    /// Acting user and zone.
    let findFields: [Hidden]
    let findHint: String
    /// The page Rehearsals, `nil` outside of any container.
    let rehearsals: String?

    /// Zones listed in the bar; more are on their own page.
    static let zoneLimit = 40
    /// Users listed in the bar: those who asked for something last. The others are found by name.
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
