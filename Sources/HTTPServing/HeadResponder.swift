internal import HTTPTypes
public import Hummingbird
internal import NIOCore

/// Answers HEAD like GET without the body, because the routes only know GET.
///
/// The body is not generated, so even endless streams are cheap. Ranges apply to GET only (RFC 9110, 14.2), so HEAD ignores them.
public struct HeadResponder<Routes: HTTPResponder>: HTTPResponder where Routes.Context == ServingRequestContext {
    public typealias Context = ServingRequestContext

    private let routes: Routes

    fileprivate init(_ routes: Routes) {
        self.routes = routes
    }

    public func respond(to request: Request, context: ServingRequestContext) async throws -> Response {
        guard request.method == .head else { return try await routes.respond(to: request, context: context) }
        var (head, context) = (request.head, context)
        head.method = .get
        head.headerFields[.range] = nil
        context.isHead = true
        var response = try await routes.respond(to: Request(head: head, body: request.body), context: context)
        response.body = ResponseBody(contentLength: response.body.contentLength) { writer in try await writer.finish(nil) }
        return response
    }
}

extension Router where Context == ServingRequestContext {
    /// A responder for the router's routes that answers HEAD wherever GET works.
    public func responder() -> HeadResponder<RouterResponder<ServingRequestContext>> {
        HeadResponder(buildResponder())
    }
}
