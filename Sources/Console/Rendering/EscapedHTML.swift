internal import Mustache

/// Escapes text for HTML, byte by byte.
///
/// Mustache's own escaping goes by Swift's characters, and a quotation mark with a combining accent behind it is one character that is
/// no quotation mark: user content could so end an attribute. Browsers read scalars, and so does this.
struct EscapedHTML: MustacheContentType {
    /// The name under which templates ask for it.
    static let name = "ESCAPED"

    func escapeText(_ text: String) -> String {
        guard text.utf8.contains(where: { Self.replacement(of: $0) != nil }) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 32)
        for byte in text.utf8 {
            if let replacement = Self.replacement(of: byte) { bytes.append(contentsOf: replacement.utf8) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

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
