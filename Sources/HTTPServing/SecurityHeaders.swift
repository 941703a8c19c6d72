internal import HTTPTypes

/// Restricts pages in browsers: only the server's own scripts and styles, no frames, no content sniffing.
public enum SecurityHeaders {
    /// Forbids inline code and content from other origins.
    public static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; font-src 'self'; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private static let fields: HTTPFields = [
        .contentSecurityPolicy: contentSecurityPolicy, .xContentTypeOptions: "nosniff", .xFrameOptions: "DENY", .referrerPolicy: "same-origin",
        .crossOriginOpenerPolicy: "same-origin",
    ]

    /// Adds the headers. Those that a handler set stay unchanged.
    static func add(to headers: inout HTTPFields) {
        for field in fields where !headers.contains(field.name) { headers.append(field) }
    }
}
