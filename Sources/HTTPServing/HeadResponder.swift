internal import HTTPTypes
public import Hummingbird
internal import NIOCore

/// Answers HEAD as GET is answered, without the body: the routes behind it know GET alone.
///
/// Nothing is written, so a stream that would never end costs no more than its beginning. Parts are of the answers to GET alone (RFC 9110, 14.2), so
/// HEAD asks for none.
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
    /// What answers requests by the router's routes: HEAD wherever there is GET.
    public func responder() -> HeadResponder<RouterResponder<ServingRequestContext>> {
        HeadResponder(buildResponder())
    }
}
