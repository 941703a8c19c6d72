package import Records

/// Text with code, links, badges and values in it: a sentence, or what a cell of a table holds.
///
/// In a literal, backticks enclose code. Text that is interpolated is shown as it is.
package struct Inline: ViewModel, ExpressibleByStringInterpolation {
    private(set) var spans: [ValueView] = []

    package init(_ text: String) { spans = [ValueView(.text(text))] }

    package init(_ value: ValueView) { spans = [value] }

    package init(_ links: [Frame.Link]) {
        spans = links.flatMap { [ValueView(.action($0)), ValueView(.text(" "))] }
    }

    package init(stringLiteral literal: String) { append(literal: literal) }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.inline }

    package static func + (first: Inline, second: Inline) -> Inline {
        var both = first
        both.spans += second.spans
        return both
    }

    package static func faint(_ text: Inline) -> Inline { text.styled("faint") }

    package static func code(_ text: String) -> Inline { Inline(ValueView(.code(text))) }

    package static func copyable(_ text: String) -> Inline { Inline(ValueView(.copyable(text))) }

    package static func time(_ time: Timestamp) -> Inline { Inline(ValueView(.time(time))) }

    /// A small mark, such as `has`, `lacks` or another tone.
    package static func badge(_ text: String, _ tone: String = "has", hint: String? = nil) -> Inline {
        Inline(ValueView(.styled(Inline(text), style: "pill \(tone)", hint: hint)))
    }

    package static func link(_ text: String, _ href: String, style: String? = nil, label: String? = nil) -> Inline {
        Inline(ValueView(.action(Frame.Link(text: text, href: href, style: style, label: label))))
    }

    /// Links and buttons in a row, on lines of their own where the column is narrow.
    package static func buttons(_ links: [Frame.Link]) -> Inline {
        let all = Inline(links)
        return links.count > 1 ? all.styled("row") : all
    }

    /// Several of a kind, with commas between them.
    package static func list(_ items: [Inline]) -> Inline {
        items.dropFirst().reduce(items.first ?? "") { "\($0), \($1)" }
    }

    /// Each on a line of its own.
    package static func lines(_ lines: [Inline]) -> Inline {
        lines.reduce("") { $0 + .part(Paragraph($1)) }
    }

    /// What is not there. Cards leave it out.
    package static let missing = Inline(ValueView.missing)

    /// The address of this server: `Visit.server`.
    package static func origin(_ server: String) -> Inline { Inline(ValueView(.origin(server))) }

    package static func part(_ part: any Component) -> Inline { Inline(ValueView(.part(part))) }

    package func styled(_ style: String) -> Inline { Inline(ValueView(.styled(self, style: style, hint: nil))) }

    /// Every other part between backticks is code.
    private mutating func append(literal: String) {
        for (index, text) in literal.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        where !text.isEmpty {
            spans.append(ValueView(index.isMultiple(of: 2) ? .text(String(text)) : .code(String(text))))
        }
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var inline = Inline(stringLiteral: "")

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { inline.append(literal: literal) }

        package mutating func appendInterpolation(_ text: String) { inline.spans.append(ValueView(.text(text))) }

        package mutating func appendInterpolation(_ inline: Inline) { self.inline.spans += inline.spans }

        package mutating func appendInterpolation(_ value: ValueView) { inline.spans.append(value) }

        package mutating func appendInterpolation(strong text: String) {
            inline.spans.append(ValueView(.strong(text)))
        }
    }
}

extension Records.Environment {
    /// The name in the environment's colour.
    package var inline: Inline { Inline(rawValue).styled(rawValue) }
}
