internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// Shows an error page for errors outside of any place. Leaves web service requests alone.
struct ErrorPages: RouterMiddleware {
    typealias Context = ServingRequestContext

    let renderer: PageRenderer

    func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as MissingPage {
            return try response(ErrorView(missing: error.reason))
        } catch let error as RecordError where !request.isWebServiceRequest {
            return try response(ErrorView(error))
        } catch let error as HTTPError where error.status == .notFound && !request.isWebServiceRequest {
            return try response(ErrorView(missing: "There is no page at this address. It may be mistyped, or the link may be old."))
        }
    }

    private func response(_ page: ErrorView) throws -> Response {
        try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}
