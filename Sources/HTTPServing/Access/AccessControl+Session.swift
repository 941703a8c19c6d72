public import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird

/// The session of somebody who signed in to the console: a cookie, and a secret that goes with every form.
extension AccessControl {
    /// The header in which a script of the console's pages sends the secret of its session.
    public static let forgeryHeader = "X-Skylight-Form"

    /// The session that the request's cookie opens; `nil` when it has none, or one that has ended.
    public func consoleSession(of request: Request) -> ConsoleSession? {
        let name = cookieName(for: request)
        // Two of one name: a page of another port may have set one of them.
        for header in request.headers[values: .cookie] {
            for pair in header.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                guard parts.count == 2, parts[0] == name, let session = accounts.consoleSession(token: parts[1]) else { continue }
                return session
            }
        }
        return nil
    }

    /// The value of `Set-Cookie` that gives a browser a session: for this server only, not for scripts, and not for what pages of other sites send.
    public func cookie(_ session: ConsoleSession, for request: Request) -> String {
        cookie(session.token, for: request, "")
    }

    /// The value of `Set-Cookie` that takes it away again.
    public func endedCookie(for request: Request) -> String {
        cookie("", for: request, "; Max-Age=0")
    }

    /// Whether a request carries the secret of its session in the header.
    public func bringsSecret(of session: ConsoleSession, _ request: Request) -> Bool {
        HTTPField.Name(Self.forgeryHeader).flatMap { request.headers[$0] }.map { isSecret($0, of: session) } ?? false
    }

    /// Whether a text is the secret of a session.
    public func isSecret(_ text: String, of session: ConsoleSession) -> Bool {
        Self.isEqual(text, session.csrf)
    }

    private func cookie(_ value: String, for request: Request, _ more: String) -> String {
        "\(cookieName(for: request))=\(value); Path=/; HttpOnly; SameSite=Strict\(request.isSecure ? "; Secure" : "")\(more)"
    }

    /// Browsers share cookies between the ports of a host, so the port is in the name. With the prefix they take the cookie only over TLS and for
    /// this very host.
    private func cookieName(for request: Request) -> String {
        let port = request.head.authority.flatMap { authority in
            authority.lastIndex(of: ":").map { authority[authority.index(after: $0)...] }.flatMap { Int($0) }
        }
        return "\(request.isSecure ? "__Host-" : "")skylight-\(port ?? (request.isSecure ? 443 : 80))"
    }
}
