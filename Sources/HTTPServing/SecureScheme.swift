public import Hummingbird

/// Says of requests that came over TLS that they did, so that addresses that are made from them begin with `https`.
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
