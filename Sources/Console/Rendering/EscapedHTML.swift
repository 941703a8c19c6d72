internal import JSON
internal import Mustache

/// Escapes text for HTML, byte by byte.
///
/// Mustache's own escaping goes by Swift's characters, and a quotation mark with a combining accent behind it is one character that is
/// no quotation mark: user content could so end an attribute. Browsers read scalars, and so does this.
struct EscapedHTML: MustacheContentType {
    /// The name under which templates ask for it.
    static let name = "ESCAPED"

    func escapeText(_ text: String) -> String { text.writingBytes(Self.replacement) }

    private static func replacement(of byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "\""): "&quot;"
        case UInt8(ascii: "'"): "&#39;"
        default: nil
        }
    }
}
