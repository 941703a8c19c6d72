internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

/// Answers requests whose method has no route, such as PROPFIND and TRACE. The router itself would answer that the address does not exist.
struct OtherMethods: RouterMiddleware {
    typealias Context = ServingRequestContext

    /// The answer; `nil` if nothing exists at the address.
    let answer: @Sendable (Request, ServingRequestContext) async throws -> Response?

    func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        if context.endpointPath == nil, let response = try await answer(request, context) { return response }
        return try await next(request, context)
    }
}
