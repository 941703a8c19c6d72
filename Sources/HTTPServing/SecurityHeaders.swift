internal import HTTPTypes
public import Hummingbird

/// Restricts pages in browsers: only the server's own scripts and styles, no frames, no content sniffing.
///
/// Headers that a handler set stay unchanged.
public struct SecurityHeaders: RouterMiddleware {
    public typealias Context = ServingRequestContext

    /// Forbids inline code and content from other origins.
    public static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; font-src 'self'; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private static let fields: [(name: HTTPField.Name, value: String)] = [
        ("Content-Security-Policy", contentSecurityPolicy),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        for field in Self.fields where !response.headers.contains(field.name) { response.headers[field.name] = field.value }
        return response
    }
}
