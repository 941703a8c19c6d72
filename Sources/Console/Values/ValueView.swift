internal import JSON
package import Records

/// A value in its display format.
package struct ValueView: ViewModel {
    package enum Form: Sendable {
        case missing
        case text(String)
        /// The beginning of a text, and the whole text.
        case long(String, whole: String)
        case code(String)
        case number(String)
        case time(Timestamp)
        case link(String, href: String, hint: String?)
        /// A record with a title.
        case record(title: String, name: String, href: String, hint: String?)
        /// A file: its name, download address and size.
        case asset(String, href: String, size: String)
        /// The first values of a list, those that are seen when it is opened, and the number of further ones.
        case list([ValueView], folded: [ValueView], more: Int)
    }

    let form: Form
    /// A remark after the value, in a muted style.
    let note: String?

    package init(_ form: Form, note: String? = nil) {
        self.form = form
        self.note = note
    }

    package static let missing = ValueView(.missing)
    /// No value in a table with a style for empty cells, without an element of its own.
    package static let blank = ValueView(.text(""))

    package func child(named name: String) -> Any? {
        switch (name, form) {
        case ("template", _): template
        case ("text", .text(let text)), ("text", .code(let text)), ("text", .number(let text)), ("text", .link(let text, _, _)): text
        case ("text", .record(_, let name, _, _)): name
        case ("title", .record(let title, _, _, _)): title
        case ("text", .long(let beginning, _)): beginning
        case ("whole", .long(_, let whole)): whole
        case ("iso", .time(let timestamp)): timestamp.isoText
        case ("utc", .time(let timestamp)): timestamp.utcText
        case ("href", .link(_, let href, _)), ("href", .record(_, _, let href, _)): href
        case ("text", .asset(let name, _, _)): name
        case ("href", .asset(_, let href, _)): href
        case ("size", .asset(_, _, let size)): size
        case ("hint", .link(_, _, let hint)), ("hint", .record(_, _, _, let hint)): hint ?? Absent()
        case ("items", .list(let items, _, _)): items
        case ("folded", .list(_, let folded, _)): folded
        case ("left", .list(_, let folded, _)): folded.isEmpty ? Absent() : Digits.grouped(folded.count)
        case ("isEmpty", .list(let items, _, _)): items.isEmpty
        case ("more", .list(_, _, let more)): more == 0 ? Absent() : Digits.grouped(more)
        case ("note", _): note ?? Absent()
        case ("isNumber", .number): true
        case ("isNumber", _): false
        default: nil
        }
    }

    /// The template of the format. Separate templates are faster in large tables than one template for all formats.
    private var template: String {
        switch form {
        case .missing: "value_missing"
        case .text, .number: "value_text"
        case .long: "value_long"
        case .code: "value_code"
        case .time: "value_time"
        case .link: "value_link"
        case .record: "value_record"
        case .asset: "value_asset"
        case .list: "value_list"
        }
    }
}
