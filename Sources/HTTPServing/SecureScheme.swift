public import Hummingbird

/// Sets the scheme of requests that came over TLS to `https`, so that addresses made from them are correct.
public struct SecureScheme: RouterMiddleware {
    public typealias Context = ServingRequestContext

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        var head = request.head
        head.scheme = "https"
        return try await next(Request(head: head, body: request.body), context)
    }
}
