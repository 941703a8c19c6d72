internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// Stands before every page where access is required: lets the administrator through, and leads everybody else to the sign-in.
///
/// The administrator is who signed in, or who gives the password or the secret of the data folder with the request as scripts do. What is changed
/// under a session must bring its ``FormSecret``.
struct ConsoleGate: RouterMiddleware {
    typealias Context = ServingRequestContext

    let access: AccessControl
    let renderer: PageRenderer

    func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        // What the web services have no route for comes by here too.
        guard access.mode == .required, !request.isWebServiceRequest else { return try await next(request, context) }
        if request.headers.contains(.authorization) {
            guard try await access.administrator(of: request, peer: context.peer) != nil else { return try turnAway(request) }
            return try await next(request, context)
        }
        guard let session = access.consoleSession(of: request) else { return try turnAway(request) }
        var request = request
        if request.method != .get { try await FormSecret.check(&request, of: session, by: access) }
        return try await SignedIn.$session.withValue(session) { [request] in try await next(request, context) }
    }

    /// Who looks at a page is led to the sign-in and back. Scripts would take that page for an answer, and what a form brought would be lost without
    /// a word.
    private func turnAway(_ request: Request) throws -> Response {
        let isLooking = request.method == .get
        let mode = HTTPField.Name("Sec-Fetch-Mode").flatMap { request.headers[$0] } ?? "navigate"
        if isLooking, mode == "navigate", !request.headers.contains(.authorization) {
            return .redirect(to: SignInPath.address(next: request.head.path))
        }
        let page = TurnedAwayView(signIn: SignInPath.address(next: isLooking ? request.head.path : SignInPath.path(ofPage: request.headers[.referer])))
        return try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}
