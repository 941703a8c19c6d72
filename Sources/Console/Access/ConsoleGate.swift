internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The check before every page of a console that requires credentials. It lets the administrator through and redirects
/// other clients to the sign-in page.
///
/// A client is the administrator if it has a console session, or if it sends the password or the secret of the data
/// folder with the request, as scripts do. A request that changes data in a session must carry the session's
/// ``FormSecret``.
struct ConsoleGate: Sendable {
    let access: AccessControl
    let renderer: PageRenderer

    func handle(
        _ request: Request, _ context: ServingRequestContext, _ next: (Request) async throws -> Response
    ) async throws -> Response {
        if request.headers.contains(.authorization) {
            guard try await access.administrator(of: request, peer: context.peer) != nil else {
                return try turnAway(request)
            }
            return try await next(request)
        }
        guard let session = access.consoleSession(of: request) else { return try turnAway(request) }
        var request = request
        if request.method != .get { try await FormSecret.check(&request, of: session, by: access) }
        return try await SignedIn.$session.withValue(session) { [request] in try await next(request) }
    }

    /// Redirects browser navigation to the sign-in page, with the way back. Other requests get an error: a script
    /// would read the sign-in page as the answer, and a redirect would silently drop the fields of a form.
    private func turnAway(_ request: Request) throws -> Response {
        let isLooking = request.method == .get
        let mode = request.headers[.secFetchMode] ?? "navigate"
        if isLooking, mode == "navigate", !request.headers.contains(.authorization) {
            return .redirect(to: SignInPath.address(next: request.head.path))
        }
        let signIn = SignInPath.address(
            next: isLooking ? request.head.path : SignInPath.path(ofPage: request.headers[.referer]))
        return try renderer.response(
            AlonePage(
                title: "Sign in", "You are not signed in", status: .unauthorized, isOfConsole: true,
                [
                    Paragraph(
                        "You have no session, or it has ended. Nothing was changed. Sign in, go back to the page, and send the form again."
                    ), Paragraph.actions([.go("Sign in", signIn)]),
                ]))
    }
}

// MARK: - Session

/// The session of the client that requested the page, for the duration of the request.
package enum SignedIn {
    /// `nil` if the console requires no sign-in.
    @TaskLocal static var session: ConsoleSession?

    /// The credentials option of the curl commands on a page. With this option, curl asks for the administrator's
    /// password.
    package static var curlOption: String { session == nil ? "" : "-u \(AccessControl.administratorName) " }
}
