internal import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Records

/// Converts errors of handlers to answers.
///
/// Errors that are answers themselves are used as such. All others are logged, and the client only learns that the server failed.
enum FailureReport {
    /// - Throws: the error if the connection is gone. Hummingbird handles it.
    static func answer(to error: any Error, of request: Request, _ context: ServingRequestContext) throws -> Response {
        switch error {
        case let error as HTTPError:
            let reason = error.body ?? (error.status == .notFound ? "There is nothing at this address" : error.status.reasonPhrase)
            let code: ServerErrorCode = error.status == .notFound ? .notFound : .badRequest
            return Refusal(error.status, code, reason, headers: error.headers).response(from: request, context: context)
        case let error as any HTTPResponseError: return try error.response(from: request, context: context)
        case is HTTPParserError, is CancellationError, is ChannelError: throw error
        default:
            context.logger.error("A request failed", metadata: ["path": "\(request.path)", "error": "\(error)"])
            return Refusal(.internalServerError, .internalError, "The server failed; see its log").response(from: request, context: context)
        }
    }
}
