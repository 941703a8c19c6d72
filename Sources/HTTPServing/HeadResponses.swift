internal import HTTPTypes
public import Hummingbird
internal import NIOCore

/// Sends answers to HEAD without their bodies, whoever made them: a client would take the body for the next answer.
public struct HeadResponses: RouterMiddleware {
    public typealias Context = ServingRequestContext

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        guard request.method == .head else { return response }
        let body = response.body
        // The body is still written, to nowhere: what is to be done after it (such as ending the connection) hangs on that.
        response.body = ResponseBody(contentLength: body.contentLength) { writer in try await body.write(HeadWriter(parent: writer)) }
        return response
    }
}

/// Drops what is written to it.
private struct HeadWriter: ResponseBodyWriter {
    let parent: any ResponseBodyWriter

    mutating func write(_ buffer: ByteBuffer) async throws {}

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}
