internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// Shows an error page for errors outside of any place.
struct ErrorPages: Sendable {
    let renderer: PageRenderer

    func handle(_ next: () async throws -> Response) async throws -> Response {
        do {
            return try await next()
        } catch let error as MissingPage {
            return try response(ErrorView(missing: error.reason))
        } catch let error as RecordError {
            return try response(ErrorView(error))
        } catch let error as HTTPError where error.status == .notFound {
            return try response(ErrorView(missing: "There is no page at this address. It may be mistyped, or the link may be old."))
        }
    }

    private func response(_ page: ErrorView) throws -> Response {
        try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}
