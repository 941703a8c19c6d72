internal import Mustache
internal import Records

/// Escapes text for a place in HTML, byte by byte. ``TemplateContexts`` finds the places.
///
/// Mustache's own escaping works on Swift characters. A quotation mark with a combining accent is a single character
/// that differs from a quotation mark, so user content could end an attribute. Browsers work on Unicode scalars, so
/// this type escapes bytes.
enum EscapedHTML: String, MustacheContentType, CaseIterable {
    /// Text between elements: ``MarkedText/html(_:)``.
    case marked
    /// Text where no element may be, and attributes that people read: ``MarkedText/plainHTML(_:)``.
    case plain
    /// Inputs, and attributes that programs read: ``MarkedText/exactHTML(_:)``.
    case exact

    /// The mustache pragma that sets this content type for the rest of a template.
    var pragma: String { "{{% CONTENT_TYPE: \(rawValue)}}" }

    func escapeText(_ text: String) -> String {
        switch self {
        case .marked: MarkedText.html(text)
        case .plain: MarkedText.plainHTML(text)
        case .exact: MarkedText.exactHTML(text)
        }
    }
}

// MARK: - Invisible characters

/// Text of users as the pages show it: what nobody could see in it is marked, so that two names that look alike can be
/// told apart.
///
/// Marked are control characters, marks of writing direction, what has no width, and blanks that look like the space
/// bar's. They stay unmarked where they are part of what is seen: joiners within an emoji or between letters of scripts
/// that use them, tags of a flag, and the wide blank between ideographs.
enum MarkedText {
    /// HTML in which an element holds each such character, and its attribute `data-u` the number, which the stylesheet
    /// shows. A copy of the text has the characters alone. The element isolates its direction from the rest. A NUL is
    /// an empty element: HTML has none.
    static func html(_ text: String) -> String {
        written(text) { "<i data-u=\"\($0.number)\">\($0 == "\0" ? "" : String(Character($0)))</i>" }
    }

    /// HTML with the numbers alone, as `⟨U+202E⟩`, where no element may be: in titles, tips, choices and drawings.
    static func plainHTML(_ text: String) -> String { written(text) { "⟨U+\($0.number)⟩" } }

    /// HTML with the characters themselves, for inputs and attributes that a program reads. NUL is U+FFFD, as browsers
    /// read it there.
    static func exactHTML(_ text: String) -> String {
        text.utf8.contains(0) ? text.htmlEscaped.writingBytes { $0 == 0 ? "\u{FFFD}" : nil } : text.htmlEscaped
    }

    private static func written(_ text: String, mark: (Unicode.Scalar) -> String) -> String {
        guard text.utf8.contains(where: mayBegin) else { return text.htmlEscaped }
        let scalars = Array(text.unicodeScalars)
        guard scalars.indices.contains(where: { isMarked($0, in: scalars) }) else { return text.htmlEscaped }
        var html = ""
        var plain = String.UnicodeScalarView()
        for index in scalars.indices {
            guard isMarked(index, in: scalars) else {
                plain.append(scalars[index])
                continue
            }
            html += String(plain).htmlEscaped + mark(scalars[index])
            plain = String.UnicodeScalarView()
        }
        return html + String(plain).htmlEscaped
    }

    /// True for the first byte of each marked character. Most texts have none of them.
    private static func mayBegin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x0A, 0x0D: false
        case 0..<0x20, 0x7F, 0xC2, 0xCD, 0xD8, 0xE1...0xE3, 0xEF, 0xF0, 0xF3: true
        default: false
        }
    }

    private static func isMarked(_ index: Int, in scalars: [Unicode.Scalar]) -> Bool {
        let scalar = scalars[index]
        let before = index > 0 ? scalars[index - 1] : nil
        let after = index + 1 < scalars.count ? scalars[index + 1] : nil
        switch scalar {
        case "\t", "\n", "\r", " ": return false
        case "!"..."~": return false
        case "\u{200C}", "\u{200D}":
            guard let before, let after else { return true }
            if scalar == "\u{200D}", before.isInEmoji, after.properties.isEmoji { return false }
            return !(before.joinsLetters && after.joinsLetters)
        case "\u{FE00}"..."\u{FE0F}", "\u{E0100}"..."\u{E01EF}":
            return !(before.map { $0.properties.isEmoji || $0.properties.isIdeographic } ?? false)
        case "\u{E0020}"..."\u{E007F}":
            return !(before.map { $0 == "\u{1F3F4}" || ("\u{E0020}"..."\u{E007E}").contains($0) } ?? false)
        case "\u{3000}": return !(before?.isWide ?? false || after?.isWide ?? false)
        case "\u{2800}", "\u{FFF9}"..."\u{FFFB}": return true
        default: break
        }
        if scalar.properties.isDefaultIgnorableCodePoint { return true }
        return switch scalar.properties.generalCategory {
        case .control, .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// `202E`.
    fileprivate var number: String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    /// True for an emoji, and for what may come between it and a joiner.
    fileprivate var isInEmoji: Bool {
        value > 0xFF && properties.isEmoji || self == "\u{FE0F}" || properties.isEmojiModifier
    }

    /// True for letters and marks of scripts in which a joiner changes what is seen: Arabic, Syriac, Mongolian, and
    /// those of India and its neighbours.
    fileprivate var joinsLetters: Bool {
        (0x600...0x1CFF).contains(value)
            && (properties.isAlphabetic || properties.canonicalCombiningClass != .notReordered)
    }

    fileprivate var isWide: Bool {
        properties.isIdeographic || (0x3001...0x30FF).contains(value) || (0xFF01...0xFF60).contains(value)
            || (0xAC00...0xD7A3).contains(value)
    }
}

// MARK: - Places in templates

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
    /// The content type at this point, and those of the sections around it. `nil` at the start of a block, which any
    /// template may place.
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
        let end =
            template[position...].indices.first { template[$0...].starts(with: "}}".utf8) }.map { $0 + 2 }
            ?? template.count
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
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private func has(_ text: String) -> Bool { template[position...].starts(with: text.utf8) }

    private mutating func write(to end: Int) {
        written += template[position..<end]
        position = end
    }
}
