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
        refreshes = parts.contains { ($0 as? JobProgress)?.isLive ?? ($0 as? Note)?.isLive ?? false }
        (self.status, self.head, self.parts, self.foot) = (status, head, parts, foot)
    }
}

/// The title of a page, what the page is about, and what can be done.
package struct PageHead: ViewModel {
    let title: String
    /// The way back to the list that the thing is in, or what it belongs to.
    let crumb: Inline?
    let intro: [Inline]
    let forms: [Form]
    /// The state of the thing.
    let badge: String?
    let actions: [Frame.Link]
    let more: Menu?
    let hasActions: Bool

    package init(
        _ title: String, crumb: Inline? = nil, _ intro: [Inline] = [], forms: [Form] = [], badge: String? = nil,
        actions: [Frame.Link] = [], more: Menu? = nil
    ) {
        (self.title, self.crumb, self.intro, self.forms, self.badge) = (title, crumb, intro, forms, badge)
        (self.actions, self.more, hasActions) = (actions, more, !actions.isEmpty || more != nil)
    }
}

/// The end of a page: what is shown, how long it took, and the other pages of the list.
package struct PageFooter: ViewModel {
    let count: String?
    let shown: String?
    let previous: Frame.Link?
    let next: Frame.Link?

    package init(
        count: String? = nil, shown: String? = nil, previous: Frame.Link? = nil, next: Frame.Link? = nil
    ) {
        (self.count, self.shown, self.previous, self.next) = (count, shown, previous, next)
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
    let parts: [any Component]

    package init(_ id: String, _ title: Inline, style: String? = nil, _ parts: [any Component]) {
        (self.id, self.title, self.style, self.parts) = (id, title, style, parts)
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
    package init(stale title: String, _ text: Inline) { self.init(nil, "alert", title, text) }

    /// A remark about the page, such as that it leaves something out.
    package init(remark title: String, _ text: Inline? = nil, _ parts: [any Component] = []) {
        self.init(nil, "status", title, text, parts)
    }

    /// Work on indexes that goes on.
    package init(_ works: IndexWorkPanel, _ title: String, _ text: Inline? = nil) {
        self.init(nil, "status", title, text, [works], isLive: true)
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
