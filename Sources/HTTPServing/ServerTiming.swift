internal import HTTPTypes
public import Hummingbird

/// Reports the server's processing time in `Server-Timing`, in milliseconds. Browsers show it in their network view.
public struct ServerTiming: RouterMiddleware {
    public typealias Context = ServingRequestContext

    private static let fieldName = HTTPField.Name("Server-Timing")

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        guard let name = Self.fieldName else { return response }
        let microseconds = (ContinuousClock.now - context.started) / .microseconds(1)
        response.headers[name] = "total;dur=\((microseconds / 10).rounded() / 100)"
        return response
    }
}
