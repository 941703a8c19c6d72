internal import Mustache

/// Escapes text for a place in HTML, byte by byte. ``TemplateContexts`` finds the places.
///
/// Mustache's own escaping works on Swift characters. A quotation mark with a combining accent is a single character that differs
/// from a quotation mark, so user content could end an attribute. Browsers work on Unicode scalars, so this type escapes bytes.
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
