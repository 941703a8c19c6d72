public import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Records

/// Turns what handlers throw into answers, so that the headers added further out are on errors as well.
///
/// Errors that carry an answer give it. The cause of any other one is logged, and only that it happened is told.
public struct FailureReporter: RouterMiddleware {
    public typealias Context = ServingRequestContext

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError {
            let reason = error.body ?? (error.status == .notFound ? "There is nothing at this address" : error.status.reasonPhrase)
            let refusal = Refusal(
                error.status, error.status == .notFound ? .notFound : .badRequest, reason, headers: error.headers)
            return refusal.response(from: request, context: context)
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context)
        } catch let error where error is HTTPParserError || error is CancellationError || error is ChannelError {
            // The connection itself is at an end; Hummingbird knows what to do.
            throw error
        } catch {
            context.logger.error("A request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            return Refusal(.internalServerError, .internalError, "The server failed; its log says why").response(from: request, context: context)
        }
    }
}
