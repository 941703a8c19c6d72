package import HTTPTypes
internal import Records

/// A page that is a head and a list of components.
package struct ComponentPage: Page {
    package static let template = "component_page"
    package static let tab = Tab.home

    package let frameTab: Tab
    package let title: String
    package let status: HTTPResponse.Status
    package let retryAfter: Int?
    let head: PageHead
    let parts: [any Component]
    let foot: PageFooter?
    /// The class of the page: `start` outside of any container.
    let kind: String
    /// True while a job goes on, so that the page is loaded again, also without scripts.
    let refreshes: Bool

    /// - Parameters:
    ///   - tab: `nil` for a page outside of any container.
    ///   - title: the title of the browser's tab; `nil` for the head's.
    package init(
        _ tab: Tab?, title: String? = nil, status: HTTPResponse.Status = .ok, retryAfter: Int? = nil, _ head: PageHead,
        _ parts: [any Component], foot: PageFooter? = nil
    ) {
        self.title = title ?? head.title
        self.retryAfter = retryAfter
        frameTab = tab ?? .home
        kind = tab == nil ? "start" : "document"
        refreshes = parts.contains {
            ($0 as? JobProgress)?.isLive ?? ($0 as? Note)?.isLive ?? ($0 as? Live)?.isWork ?? false
        }
        (self.status, self.head, self.parts, self.foot) = (status, head, parts, foot)
    }
}

/// A page for somebody without access to the console: a heading and a list of components.
package struct AlonePage: Page {
    package static let template = "alone_page"
    package static let tab = Tab.home

    package let title: String
    package let status: HTTPResponse.Status
    package let retryAfter: Int?
    /// The owner of the page: the console, or a server for tests.
    let about: String?
    let heading: String
    let script: String?
    /// The content of the tag that leads on.
    let refresh: String?
    let parts: [any Component]

    /// - Parameters:
    ///   - title: the title of the browser's tab; `nil` for the heading.
    ///   - isOfConsole: false for the pages of an app's users.
    ///   - script: the address of the page's script.
    ///   - next: the address that the browser goes on to.
    package init(
        title: String? = nil, _ heading: String, status: HTTPResponse.Status = .ok, retryAfter: Int? = nil,
        isOfConsole: Bool, script: String? = nil, next: String? = nil, _ parts: [any Component]
    ) {
        (self.title, self.heading, self.status, self.retryAfter) = (title ?? heading, heading, status, retryAfter)
        about = isOfConsole ? "the console" : nil
        (self.script, refresh, self.parts) = (script, next.map { "0; url=\($0)" }, parts)
    }
}

/// The title of a page, what the page is about, and what can be done.
package struct PageHead: ViewModel {
    let title: String
    /// The way back to the list that the thing is in, or what it belongs to.
    let crumb: Inline?
    let intro: [Inline]
    /// A line about the content, which scripts update.
    let live: Inline?
    /// What Save does; a script says it in other words once something is changed.
    let saves: String?
    /// The label of a box that filters the rows of the page, which needs scripts.
    let narrowing: String?
    let forms: [Form]
    /// The state of the thing.
    let badge: String?
    let actions: [Frame.Link]
    let more: Menu?
    /// The main action, if it sends a form of the page or runs a script.
    let button: Form.Button?
    let hasActions: Bool

    package init(
        _ title: String, crumb: Inline? = nil, _ intro: [Inline] = [], live: Inline? = nil, saves: String? = nil,
        narrowing: String? = nil, forms: [Form] = [], badge: String? = nil, actions: [Frame.Link] = [],
        more: Menu? = nil, button: Form.Button? = nil
    ) {
        (self.title, self.crumb, self.intro, self.forms, self.badge) = (title, crumb, intro, forms, badge)
        (self.live, self.saves, self.narrowing, self.button) = (live, saves, narrowing, button)
        (self.actions, self.more, hasActions) = (actions, more, !actions.isEmpty || more != nil || button != nil)
    }
}

/// The end of a page: what is shown, how long it took, and the other pages of the list.
package struct PageFooter: ViewModel {
    let count: String?
    let shown: String?
    let previous: Frame.Link?
    let next: Frame.Link?
    /// True if scripts renew the count.
    let isLive: Bool

    package init(
        count: String? = nil, shown: String? = nil, previous: Frame.Link? = nil, next: Frame.Link? = nil,
        isLive: Bool = false
    ) {
        (self.count, self.shown, self.previous, self.next, self.isLive) = (count, shown, previous, next, isLive)
    }
}

/// The rare actions, in a menu named `…`. Deletions come last.
package struct Menu: ViewModel {
    let label: String
    let items: [Frame.Link]

    /// - Returns: `nil` without items.
    package init?(_ items: [Frame.Link?], label: String = "More actions") {
        (self.label, self.items) = (label, items.compactMap(\.self))
        if self.items.isEmpty { return nil }
    }
}

// MARK: - Parts

/// A part of a page with a heading.
package struct Section: Component {
    package static let template = "section"

    let id: String
    let title: Inline
    let style: String?
    /// True if scripts renew it.
    let isLive: Bool
    let parts: [any Component]

    package init(_ id: String, _ title: Inline, style: String? = nil, isLive: Bool = false, _ parts: [any Component]) {
        (self.id, self.title, self.style, self.isLive, self.parts) = (id, title, style, isLive, parts)
    }
}

/// Parts that change while work goes on.
package struct Live: Component {
    package static let template = "live"

    let id: String
    /// What is said when the work has ended; `nil` if none goes on.
    let announcement: String?
    /// True if the end changes the rest of the page, too.
    let reloads: Bool
    let parts: [any Component]

    var isWork: Bool { announcement != nil }

    package init(_ id: String, until announcement: String?, reloads: Bool = false, _ parts: [any Component]) {
        (self.id, self.announcement, self.reloads, self.parts) = (id, announcement, reloads, parts)
    }
}

/// Parts side by side, where there is room.
package struct Columns: Component {
    package static let template = "columns"

    let style: String
    let parts: [any Component]

    /// - Parameter style: `charts` for charts.
    package init(style: String = "columns", _ parts: [any Component]) { (self.style, self.parts) = (style, parts) }
}

/// Components under a title, shown after a click on it, such as the form for a new API token.
package struct Fold: Component {
    package static let template = "fold"

    let title: String
    let style: String
    let isOpen: Bool
    let parts: [any Component]

    /// - Parameters:
    ///   - style: `making` for a form.
    ///   - refusal: why its form was refused.
    package init(
        _ title: String, style: String = "making", isOpen: Bool, refusal: PageError? = nil, _ parts: [any Component]
    ) {
        (self.title, self.style, self.isOpen) = (title, style, isOpen)
        self.parts = (refusal.map { [Note(refusing: $0)] } ?? []) + parts
    }
}

package struct Paragraph: Component {
    package static let template = "paragraph"

    let text: Inline
    let style: String?

    package init(_ text: Inline) { (self.text, style) = (text, nil) }

    package static func faint(_ text: Inline) -> Paragraph { Paragraph(text, style: "faint") }

    package static func remark(_ text: Inline) -> Paragraph { Paragraph(text, style: "remark") }

    /// Links to the next steps.
    package static func actions(after lead: String = "", _ links: [Frame.Link]) -> Paragraph {
        Paragraph(Inline(lead) + Inline(links), style: "actions")
    }

    private init(_ text: Inline, style: String) { (self.text, self.style) = (text, style) }
}

/// A list of short lines.
package struct Listing: Component {
    package static let template = "listing"

    let items: [Inline]
    let style: String

    package init(_ items: [Inline], style: String = "plainlist") { (self.items, self.style) = (items, style) }
}

/// A remark that stands out: about a refused form, or about something that is done.
package struct Note: Component {
    package static let template = "note"

    /// `bad`, `warn` or `good`; `nil` for a remark that is neither.
    let tone: String?
    /// `alert` for what a screen reader says at once, `status` for what it says when there is time.
    let role: String?
    let title: String
    let text: Inline?
    let parts: [any Component]
    /// True if it tells of work that goes on.
    let isLive: Bool

    private init(
        _ tone: String?, _ role: String?, _ title: String, _ text: Inline?, _ parts: [any Component] = [],
        isLive: Bool = false
    ) {
        (self.tone, self.role, self.title, self.text, self.parts) = (tone, role, title, text, parts)
        self.isLive = isLive
    }

    /// Why a form was refused.
    package init(refusing error: PageError, _ text: Inline? = nil) {
        self.init(
            "bad", "alert", error.reason, "\(.faint(Inline(error.code)))\(text.map { " \($0)" } ?? "")")
    }

    package init(_ refused: RefusedForm) {
        self.init(
            "bad", "alert", refused.reason, .faint(Inline(refused.code)),
            refused.link.map { [Paragraph.actions([.button($0.text, $0.href)])] } ?? [])
    }

    package init(good title: String, _ text: Inline? = nil, _ parts: [any Component] = []) {
        self.init("good", "status", title, text, parts)
    }

    /// An error: of a job in the background, or of a sent form.
    package init(bad title: String, _ text: Inline? = nil, _ parts: [any Component] = []) {
        self.init("bad", "alert", title, text, parts)
    }

    package init(warning title: String, _ text: Inline? = nil) { self.init("warn", nil, title, text) }

    /// The remark on a form that did nothing, because something had changed meanwhile.
    package init(stale title: String, _ text: Inline? = nil) { self.init(nil, "alert", title, text) }

    /// A remark about the page, such as that it leaves something out.
    package init(remark title: String, _ text: Inline? = nil, _ parts: [any Component] = []) {
        self.init(nil, "status", title, text, parts)
    }

    /// Work on indexes that goes on.
    package init(_ works: IndexWorkPanel, _ title: String, _ text: Inline? = nil) {
        self.init(nil, "status", title, text, [works], isLive: true)
    }
}

/// The question before a change of many records: what would change, and the button that changes it beside the title.
package struct Confirmation: Component {
    package static let template = "confirmation"

    let id: String
    let title: String
    let isWarning: Bool
    let form: Form?
    let notes: [String]

    /// - Parameter isWarning: true for what destroys.
    package init(_ id: String, _ title: String, isWarning: Bool = false, _ form: Form? = nil, notes: [String]) {
        (self.id, self.title, self.isWarning, self.form, self.notes) = (id, title, isWarning, form, notes)
    }
}

/// Text to copy, such as a command.
package struct CodeBlock: Component {
    package static let template = "code_block"

    let label: String
    let code: Inline
    /// `wraps` to break lines, `whole` to show all of them.
    let style: String

    package init(_ label: String, _ code: Inline, style: String = "wraps") {
        (self.label, self.code, self.style) = (label, code, style)
    }
}
