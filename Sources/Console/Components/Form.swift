/// A form: its fields and a button.
package struct Form: Component {
    package static let template = "form"

    package enum Style: String, Sendable {
        /// A line of inputs, such as in the head of a page.
        case line = "row"
        /// Labels beside inputs, with hints below them.
        case grid = "labelled"
    }

    package struct Button: ViewModel {
        let text: String
        /// The value of the form's field `do`, which names the action; `nil` for a form with one button.
        let act: String?
        /// `go` for the main action of the page.
        let style: String?
        /// The label for screen readers; `nil` for the text.
        let label: String?

        package init(_ text: String, act: String?, style: String? = nil, label: String? = nil) {
            (self.text, self.act, self.style, self.label) = (text, act, style, label)
        }
    }

    let style: String
    let action: String
    let isPost: Bool
    let isSearch: Bool
    let hasFiles: Bool
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

    package init(
        _ style: Style, _ action: String, hidden: [Frame.Hidden] = [], _ fields: [FormField], button: String,
        buttonStyle: String? = nil, buttonLabel: String? = nil, links: [Frame.Link] = [], note: Inline? = nil
    ) {
        self.init(
            style, action, hidden: hidden, fields,
            buttons: [Button(button, act: nil, style: buttonStyle, label: buttonLabel)], links: links, note: note)
    }

    package init(
        _ style: Style, _ action: String, hidden: [Frame.Hidden] = [], _ fields: [FormField], buttons: [Button],
        links: [Frame.Link] = [], note: Inline? = nil
    ) {
        (self.style, self.action, self.hidden, self.fields) = (style.rawValue, action, hidden, fields)
        (self.buttons, self.links, self.note) = (buttons, links, note)
        (isPost, isSearch, hasFiles) = (true, false, fields.contains(where: \.takesFile))
        isSentByChoice = false
        hasRow = style == .grid && buttons.count + links.count > 1
    }

    /// A form that loads a page with other parameters.
    private init(_ action: String, hidden: [Frame.Hidden], _ fields: [FormField], button: String, isSearch: Bool) {
        (style, self.action, self.hidden, self.fields) = (Style.line.rawValue, action, hidden, fields)
        (buttons, links, note, hasRow) = ([Button(button, act: nil)], [], nil, false)
        (isPost, self.isSearch, hasFiles) = (false, isSearch, false)
        isSentByChoice = fields.allSatisfy(\.isSent)
    }

    /// - Parameter parameters: what the address has besides the place and the fields.
    package static func choosing(
        _ path: String, at place: Place, keeping parameters: [(name: String, value: String)] = [],
        _ fields: [FormField], button: String
    ) -> Form {
        Form(
            "\(place.path)/\(path)",
            hidden: (place.parameters + parameters).map { Frame.Hidden(name: $0.name, value: $0.value) }, fields,
            button: button, isSearch: false)
    }

    /// - Parameter found: what was searched for.
    package static func search(_ find: Frame.Find, found: String) -> Form {
        Form(
            find.action, hidden: find.hidden, [FormField(.search, find.name, find.label, value: found)],
            button: "Find", isSearch: true)
    }
}

// MARK: - Fields

/// An input of a form, with its label.
package struct FormField: ViewModel {
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
    let isRequired: Bool
    /// False if only screen readers say the label.
    let isLabelled: Bool
    let file: File?

    /// - Parameter id: the id of the element; `nil` for the name.
    package init(
        _ kind: Kind, _ name: String, _ label: String, id: String? = nil, value: String? = nil,
        placeholder: String? = nil, hint: Inline? = nil, tip: String? = nil, pattern: String? = nil, limit: Int? = nil,
        isRequired: Bool = false,
        isLabelled: Bool = true, file: File? = nil
    ) {
        (self.kind, self.name, self.label, self.id, self.value) = (kind, name, label, id ?? name, value ?? "")
        (self.placeholder, self.hint, self.limit) = (placeholder, hint, limit.map(String.init))
        (self.tip, self.pattern) = (tip, pattern)
        (self.isRequired, self.isLabelled, self.file) = (isRequired, isLabelled, file)
    }

    fileprivate var isSent: Bool { if case .sentChoice = kind { true } else { false } }

    var takesFile: Bool { if case .file = kind { true } else { file != nil } }

    package func child(named name: String) -> Any? {
        switch (name, kind) {
        case ("type", .text), ("type", .name), ("type", .code), ("type", .longCode): "text"
        case ("type", .email): "email"
        case ("type", .password): "password"
        case ("type", .search): "search"
        case ("rows", .area(let rows)): String(rows)
        case ("choices", .choice(let choices)), ("choices", .sentChoice(let choices)): choices
        case ("isChoice", .choice), ("isChoice", .sentChoice), ("isSent", .sentChoice), ("isTick", .tick): true
        case ("isCode", .code), ("isCode", .area), ("isCode", .password), ("isFixed", .fixed): true
        case ("isCode", .longCode), ("isLong", .longCode): true
        case ("isLong", .area(let rows)): rows >= 10
        case ("isExact", .name), ("isExact", .search): true
        case ("user", .user(let user)): user
        case ("isOn", .tick(let isOn)): isOn
        case ("accepts", .file(let accepts)): accepts
        case ("placeholder", .search): label
        case ("isLabelled", .search), ("isLabelled", .tick): false
        case ("type", _), ("rows", _), ("choices", _), ("user", _), ("isChoice", _), ("isSent", _), ("isTick", _),
            ("isOn", _),
            ("isCode", _), ("isLong", _), ("isExact", _), ("accepts", _), ("isFixed", _):
            Absent()
        default: property(named: name)
        }
    }
}
