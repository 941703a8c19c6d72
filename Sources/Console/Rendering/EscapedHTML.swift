internal import JSON
internal import Mustache

/// Escapes text for HTML, byte by byte.
///
/// Mustache's own escaping works on Swift characters. A quotation mark with a combining accent is a single character that differs
/// from a quotation mark, so user content could end an attribute. Browsers work on Unicode scalars, so this type escapes bytes.
struct EscapedHTML: MustacheContentType {
    /// The name of the content type in templates.
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
