/// A form: its fields and a button.
package struct Form: Component {
    package static let template = "form"

    package enum Style: String, Sendable {
        /// A line of inputs, such as in the head of a page.
        case line = "row"
        /// Labels beside inputs, with hints below them.
        case grid = "labelled"
        /// Above a list, with links to other lists of the same things.
        case views
        /// Around parts of the page, which have inputs or buttons of it.
        case around
    }

    package struct Button: Component {
        package static let template = "button"

        let text: String
        /// The name of the field that names the action, and its value; `nil` for a form with one button.
        let name: String
        let act: String?
        /// `go` for the main action of the page.
        let style: String?
        /// The label for screen readers; `nil` for the text.
        let label: String?
        /// What is shown under the pointer.
        let tip: String?
        /// The id of the form, where the button stands outside of it.
        let form: String?
        /// The address that the button sends the form to; `nil` for that of the form.
        let target: String?
        /// `true` or `false` for a switch.
        let switched: String?
        /// True for the button that adds this browser as a device, which a script shows.
        let listens: Bool

        package init(
            _ text: String, act: String?, name: String = "do", style: String? = nil, label: String? = nil,
            tip: String? = nil, form: String? = nil, target: String? = nil, isOn: Bool? = nil, listens: Bool = false
        ) {
            (self.text, self.name, self.act, self.style, self.label) = (text, name, act, style, label)
            (self.tip, self.form, self.target, self.listens) = (tip, form, target, listens)
            switched = isOn.map { String($0) }
        }
    }

    /// The id for buttons outside of the form.
    let id: String?
    let style: String
    let action: String
    let isPost: Bool
    let isSearch: Bool
    let hasFiles: Bool
    /// True if a page that listens for notifications sends the form in place.
    let stays: Bool
    let hidden: [Frame.Hidden]
    let fields: [FormField]
    let buttons: [Button]
    /// True if buttons and links share a line below the labels.
    let hasRow: Bool
    /// True if a choice sends the form, so that only a page without scripts needs the button.
    let isSentByChoice: Bool
    /// Links to alternatives, beside the button.
    let links: [Frame.Link]
    let note: Inline?
    /// True if each field has a line of its own, where there is no room.
    let hasFieldRow: Bool
    /// What the form is around.
    let parts: [any Component]

    package init(
        _ style: Style, _ action: String, hidden: [Frame.Hidden] = [], _ fields: [FormField], button: String,
        buttonStyle: String? = nil, buttonLabel: String? = nil, links: [Frame.Link] = [], note: Inline? = nil
    ) {
        self.init(
            style, action, hidden: hidden, fields,
            buttons: [Button(button, act: nil, style: buttonStyle, label: buttonLabel)], links: links, note: note)
    }

    package init(
        _ style: Style, _ action: String, id: String? = nil, hidden: [Frame.Hidden] = [], _ fields: [FormField],
        buttons: [Button], links: [Frame.Link] = [], note: Inline? = nil, stays: Bool = false,
        around parts: [any Component] = []
    ) {
        (self.style, self.action, self.id, self.hidden, self.fields) = (style.rawValue, action, id, hidden, fields)
        (self.buttons, self.links, self.note, self.stays, self.parts) = (buttons, links, note, stays, parts)
        (isPost, isSearch, hasFiles) = (true, false, fields.contains(where: \.takesFile))
        isSentByChoice = false
        hasRow = style == .grid && buttons.count + links.count > 1
        hasFieldRow = style == .around && !fields.isEmpty
    }

    /// A form that loads a page with other parameters.
    private init(
        _ style: Style, _ action: String, id: String? = nil, hidden: [Frame.Hidden], _ fields: [FormField],
        button: String?, links: [Frame.Link] = [], isSearch: Bool
    ) {
        (self.style, self.action, self.id, self.hidden, self.fields) = (style.rawValue, action, id, hidden, fields)
        (buttons, self.links, note, hasRow) = (button.map { [Button($0, act: nil)] } ?? [], links, nil, false)
        (isPost, self.isSearch, hasFiles, stays, parts) = (false, isSearch, false, false, [])
        isSentByChoice = !fields.isEmpty && fields.allSatisfy(\.isSent)
        hasFieldRow = style == .around && !fields.isEmpty
    }

    /// - Parameters:
    ///   - parameters: what the address has besides the place and the fields.
    ///   - button: `nil` if the buttons stand elsewhere, and name the form by its id.
    package static func choosing(
        _ path: String, at place: Place, id: String? = nil, keeping parameters: [(name: String, value: String)] = [],
        _ fields: [FormField], button: String?
    ) -> Form {
        Form(
            button == nil ? .around : .line, "\(place.path)/\(path)", id: id, hidden: place.hidden(parameters), fields,
            button: button, isSearch: false)
    }

    /// A filter of a list.
    package static func filter(
        _ path: String, at place: Place, keeping parameters: [(name: String, value: String)], _ field: FormField,
        links: [Frame.Link]
    ) -> Form {
        Form(
            .views, "\(place.path)/\(path)", hidden: place.hidden(parameters), [field], button: "Filter", links: links,
            isSearch: true)
    }

    /// - Parameter found: what was searched for.
    package static func search(_ find: Frame.Find, found: String) -> Form {
        Form(
            .line, find.action, hidden: find.hidden, [FormField(.search, find.name, find.label, value: found)],
            button: "Find", isSearch: true)
    }
}

// MARK: - Fields

extension Place {
    fileprivate func hidden(_ more: [(name: String, value: String)]) -> [Frame.Hidden] {
        (parameters + more).map { Frame.Hidden(name: $0.name, value: $0.value) }
    }
}

/// An input of a form, with its label.
package struct FormField: Component {
    package static let template = "form_field"

    package enum Kind: Sendable {
        case text
        /// A name that no keyboard corrects.
        case name
        case code
        /// The name of a container.
        case longCode
        case email
        case password
        /// Has its label as a placeholder.
        case search
        /// A text that the rows of the page have to contain.
        /// - Parameter narrows: true if the page has all rows, so that a script can filter them.
        case filter(narrows: Bool)
        case number(ClosedRange<Int>)
        /// Several lines of code, as wide as the form if they are many.
        case area(rows: Int)
        case choice([Choice])
        /// A choice that is sent when it is made.
        case sentChoice([Choice])
        case user(UserField)
        case tick(isOn: Bool)
        case file(accepts: String)
        /// A value that is read only.
        case fixed
        /// Several inputs, each with a label of its own.
        case group([any Component])
    }

    /// A file that gives an area its text, in place of typing.
    package struct File: ViewModel {
        let id: String
        let accepts: String

        package init(id: String, accepts: String) { (self.id, self.accepts) = (id, accepts) }
    }

    private let kind: Kind
    let name: String
    let label: String
    let id: String
    let value: String
    let placeholder: String?
    let hint: Inline?
    /// What is shown under the pointer.
    let tip: String?
    /// What a text has to match, as a regular expression.
    let pattern: String?
    let limit: String?
    /// What the number counts.
    let unit: String?
    let isRequired: Bool
    /// False if only screen readers say the label.
    let isLabelled: Bool
    let file: File?

    /// - Parameter id: the id of the element; `nil` for the name.
    package init(
        _ kind: Kind, _ name: String, _ label: String, id: String? = nil, value: String? = nil,
        placeholder: String? = nil, hint: Inline? = nil, tip: String? = nil, pattern: String? = nil, limit: Int? = nil,
        unit: String? = nil, isRequired: Bool = false, isLabelled: Bool = true, file: File? = nil
    ) {
        (self.kind, self.name, self.label, self.id, self.value) = (kind, name, label, id ?? name, value ?? "")
        (self.placeholder, self.hint, self.limit) = (placeholder, hint, limit.map(String.init))
        (self.tip, self.pattern, self.unit) = (tip, pattern, unit)
        (self.isRequired, self.isLabelled, self.file) = (isRequired, isLabelled, file)
    }

    fileprivate var isSent: Bool { if case .sentChoice = kind { true } else { false } }

    var takesFile: Bool { if case .file = kind { true } else { file != nil } }

    package func child(named name: String) -> Any? {
        switch (name, kind) {
        case ("template", _): Self.template
        case ("type", .text), ("type", .name), ("type", .code), ("type", .longCode): "text"
        case ("type", .email): "email"
        case ("type", .password): "password"
        case ("type", .search), ("type", .filter): "search"
        case ("type", .number): "number"
        case ("least", .number(let range)): String(range.lowerBound)
        case ("most", .number(let range)): String(range.upperBound)
        case ("narrows", .filter(let narrows)): narrows
        case ("rows", .area(let rows)): String(rows)
        case ("choices", .choice(let choices)), ("choices", .sentChoice(let choices)): choices
        case ("isChoice", .choice), ("isChoice", .sentChoice), ("isSent", .sentChoice), ("isTick", .tick): true
        case ("isCode", .code), ("isCode", .area), ("isCode", .password), ("isFixed", .fixed): true
        case ("isNamed", .fixed), ("isNamed", .group), ("isGroup", .group): true
        case ("parts", .group(let parts)): parts
        case ("value", .tick) where value.isEmpty: "1"
        case ("isCode", .longCode), ("isLong", .longCode): true
        case ("isLong", .area(let rows)): rows >= 10
        case ("isExact", .name), ("isExact", .search), ("isExact", .filter): true
        case ("user", .user(let user)): user
        case ("isOn", .tick(let isOn)): isOn
        case ("accepts", .file(let accepts)): accepts
        case ("placeholder", .search): label
        case ("isLabelled", .search), ("isLabelled", .tick): false
        case ("type", _), ("rows", _), ("choices", _), ("user", _), ("isChoice", _), ("isSent", _), ("isTick", _),
            ("isOn", _), ("isCode", _), ("isLong", _), ("isExact", _), ("accepts", _), ("isFixed", _), ("least", _),
            ("most", _), ("narrows", _), ("isNamed", _), ("isGroup", _):
            Absent()
        default: property(named: name)
        }
    }
}
