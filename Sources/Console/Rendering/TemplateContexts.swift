/// Finds out where in HTML each variable of a template stands, so that its text is written as that place allows.
///
/// No template says how to escape: that could be forgotten.
struct TemplateContexts {
    /// The template with a content type before each variable that another one precedes.
    static func adding(to template: [UInt8]) -> [UInt8] {
        var contexts = TemplateContexts(template)
        contexts.read()
        return contexts.written
    }

    private enum Place {
        case text
        case tag
        /// The value of an attribute.
        case attribute(shows: Bool)
    }

    /// Attributes whose values people read.
    private static let shown: Set<String> = ["title", "aria-label", "alt", "placeholder", "label"]
    /// Elements that hold text alone, and drawings, in which an element of HTML would end the drawing.
    private static let plain: Set<String> = ["title", "option", "svg"]

    private let template: [UInt8]
    private var position = 0
    private var written: [UInt8] = []
    private var place = Place.text
    /// The open elements of ``plain``, and textareas.
    private var open: [String] = []
    /// The content type at this point, and those of the sections around it. `nil` at the start of a block, which any template may place.
    private var current: EscapedHTML? = .marked
    private var outer: [EscapedHTML?] = []

    private init(_ template: [UInt8]) {
        self.template = template
        written.reserveCapacity(template.count + 256)
    }

    private mutating func read() {
        while position < template.count {
            if has("{{") { readExpression() } else { readHTML() }
        }
    }

    private mutating func readExpression() {
        let end = template[position...].indices.first { template[$0...].starts(with: "}}".utf8) }.map { $0 + 2 } ?? template.count
        switch position + 2 < template.count ? template[position + 2] : 0 {
        case UInt8(ascii: "#"), UInt8(ascii: "^"): outer.append(current)
        case UInt8(ascii: "$"), UInt8(ascii: "<"):
            outer.append(current)
            current = nil
        case UInt8(ascii: "/"): current = outer.popLast() ?? nil
        case UInt8(ascii: ">"), UInt8(ascii: "!"), UInt8(ascii: "%"), UInt8(ascii: "="): break
        default:
            if current != needed {
                current = needed
                written += Array(needed.pragma.utf8)
            }
        }
        write(to: end)
    }

    private var needed: EscapedHTML {
        switch place {
        case .text: open.isEmpty ? .marked : open.contains("textarea") ? .exact : .plain
        case .tag, .attribute(shows: false): .exact
        case .attribute(shows: true): .plain
        }
    }

    private mutating func readHTML() {
        let byte = template[position]
        switch place {
        case .text where byte == UInt8(ascii: "<") && !has("<!"):
            let isClosing = has("</")
            let name = word(after: position + (isClosing ? 2 : 1))
            if Self.plain.contains(name) || name == "textarea" {
                if isClosing { _ = open.lastIndex(of: name).map { open.remove(at: $0) } } else { open.append(name) }
            }
            place = .tag
        case .tag where byte == UInt8(ascii: ">"): place = .text
        case .tag where byte == UInt8(ascii: "\""): place = .attribute(shows: Self.shown.contains(attributeName()))
        case .attribute where byte == UInt8(ascii: "\""): place = .tag
        default: break
        }
        write(to: position + 1)
    }

    /// The name before `="`.
    private func attributeName() -> String {
        let letters = template[..<max(0, position - 1)].reversed().prefix(while: Self.isOfName)
        return String(decoding: letters.reversed(), as: UTF8.self)
    }

    private func word(after start: Int) -> String {
        String(decoding: template[min(start, template.count)...].prefix(while: Self.isOfName), as: UTF8.self)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private func has(_ text: String) -> Bool { template[position...].starts(with: text.utf8) }

    private mutating func write(to end: Int) {
        written += template[position..<end]
        position = end
    }
}
