internal import Mustache
internal import Text

/// Escapes text for HTML, byte by byte.
///
/// Mustache's own escaping works on Swift characters. A quotation mark with a combining accent is a single character that differs
/// from a quotation mark, so user content could end an attribute. Browsers work on Unicode scalars, so this type escapes bytes.
struct EscapedHTML: MustacheContentType {
    /// The name of the content type in templates.
    static let name = "ESCAPED"

    func escapeText(_ text: String) -> String { text.htmlEscaped }
}
