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
        let page = SessionEndedView(
            signIn: SignInPath.address(
                next: isLooking ? request.head.path : SignInPath.path(ofPage: request.headers[.referer])))
        return try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}

// MARK: - Refusal

/// The answer to a form or a script that has no session or an expired one.
struct SessionEndedView: Page {
    static let template = "turned_away"
    static let tab = Tab.home

    let title = "Sign in"
    let status = HTTPResponse.Status.unauthorized
    /// The page has no script of its own.
    let script: String? = nil
    let signIn: String
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

// MARK: - Secret of forms

/// The secret that a page of the console sends with every form and script request of its session. It protects against
/// request forgery: pages on other ports of the same machine belong to the same site, so the browser sends the session
/// cookie for them too.
///
/// A hidden field of every POST form holds it. The head of the page holds it for scripts.
enum FormSecret {
    /// The name of the hidden field. Pages do not see it among their form fields.
    static let fieldName = "form-secret"

    /// The markup that ``PageRenderer`` adds after the tag of every POST form.
    static let field =
        "{{#\(templateName)}}<input type=\"hidden\" name=\"\(fieldName)\" value=\"{{.}}\">{{/\(templateName)}}"
    /// The name of the secret in templates.
    static let templateName = "formSecret"

    private static let opening = Array("<form".utf8)

    /// Adds the field after the tag of every POST form of a template.
    static func addingField(to template: [UInt8]) -> [UInt8] {
        var written: [UInt8] = []
        var rest = template[...]
        // Searches byte by byte, because a search for a part of a collection is not compiled for bytes.
        while let start = rest.indices.first(where: { rest[$0] == opening[0] && rest[$0...].starts(with: opening) }),
            let end = endOfTag(rest[start...])
        {
            let tag = rest[start...end]
            written += rest[rest.startIndex...end]
            if tag.contains(Array("method=\"post\"".utf8)) { written += Array(field.utf8) }
            rest = rest[(end + 1)...]
        }
        return written + rest
    }

    /// The end of the tag at the start of the text. Skips Mustache expressions in braces.
    private static func endOfTag(_ text: ArraySlice<UInt8>) -> Int? {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ">") where depth == 0: return index
            default: break
            }
        }
        return nil
    }

    /// Checks that the request carries the secret of its session, in the header or in the form. Reads the form and
    /// leaves it readable for the route.
    /// - Throws: `RecordError` ACCESS_DENIED if the secret is missing or belongs to another session.
    static func check(_ request: inout Request, of session: ConsoleSession, by access: AccessControl) async throws {
        if access.bringsSecret(of: session, request) { return }
        let bytes = try await request.bodyBytes(limit: Console.largestForm)
        let contentType = request.headers[.contentType]
        let secret = try await WorkPool.prompt.run(on: bytes.count) { value(in: bytes, contentType) }
        guard let secret, access.isSecret(secret, of: session) else {
            throw RecordError(
                .accessDenied,
                "The form is not from this session. Nothing was changed. The page may be older than your last sign-in: load it again"
            )
        }
        request.replaceBody(with: bytes)
    }

    private static func value(in bytes: [UInt8], _ contentType: String?) -> String? {
        guard let form = MultipartForm(bytes, contentType: contentType) else {
            return FormFields.secret(encoded: bytes)
        }
        return form.parts.first { $0.name == fieldName }?.text
    }
}
