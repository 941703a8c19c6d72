public import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Records

/// Converts errors of handlers to answers, so that outer middleware adds its headers to them as well.
///
/// Errors that are answers themselves are used as such. All others are logged, and the client only learns that the server failed.
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
            // The connection is gone. Hummingbird handles this error.
            throw error
        } catch {
            context.logger.error("A request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            return Refusal(.internalServerError, .internalError, "The server failed; see its log").response(from: request, context: context)
        }
    }
}
