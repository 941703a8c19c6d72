public import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird

/// Console sessions: a cookie, and a secret that every form must contain.
extension AccessControl {
    /// The header in which scripts of the console send the secret of their session.
    public static let forgeryHeader = HTTPField.Name.skylightForm.rawName

    /// The session of the request's cookie; `nil` if it has no valid one.
    public func consoleSession(of request: Request) -> ConsoleSession? {
        cookies(cookieName(for: request), of: request).lazy.compactMap { accounts.consoleSession(token: $0) }.first
    }

    /// There may be several cookies of a name. A page on another port may have set one of them.
    private func cookies(_ name: String, of request: Request) -> [String] {
        request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            return parts.count == 2 && parts[0] == name ? parts[1] : nil
        }
    }

    /// The `Set-Cookie` value by which a browser is known when the sign-in at another site leads back here. The session's cookie does not come then.
    public func returnCookie(_ secret: String, for request: Request, seconds: Int) -> String {
        "\(cookieName(for: request))-return=\(secret); Path=/; HttpOnly; SameSite=Lax; Max-Age=\(seconds)\(request.isSecure ? "; Secure" : "")"
    }

    /// The values of ``returnCookie(_:for:seconds:)`` that the request has.
    public func returnSecrets(of request: Request) -> [String] {
        cookies("\(cookieName(for: request))-return", of: request)
    }

    /// The `Set-Cookie` value that starts a session in a browser. The cookie is sent to this
    /// host only, is hidden from scripts, and is not sent with requests from other sites.
    public func cookie(_ session: ConsoleSession, for request: Request) -> String {
        cookie(session.token, for: request, "")
    }

    /// The `Set-Cookie` value that removes the cookie.
    public func endedCookie(for request: Request) -> String {
        cookie("", for: request, "; Max-Age=0")
    }

    /// True if the request has the secret of its session in the header.
    public func bringsSecret(of session: ConsoleSession, _ request: Request) -> Bool {
        request.headers[.skylightForm].map { isSecret($0, of: session) } ?? false
    }

    /// True if the text is the secret of the session.
    public func isSecret(_ text: String, of session: ConsoleSession) -> Bool {
        Self.isEqual(text, session.csrf)
    }

    private func cookie(_ value: String, for request: Request, _ more: String) -> String {
        "\(cookieName(for: request))=\(value); Path=/; HttpOnly; SameSite=Strict\(request.isSecure ? "; Secure" : "")\(more)"
    }

    /// Browsers share cookies between the ports of a host, so the name contains the port. With
    /// the prefix `__Host-`, browsers accept the cookie only over TLS and for this exact host.
    private func cookieName(for request: Request) -> String {
        let port = request.head.authority.flatMap { authority in
            authority.lastIndex(of: ":").map { authority[authority.index(after: $0)...] }.flatMap { Int($0) }
        }
        return "\(request.isSecure ? "__Host-" : "")skylight-\(port ?? (request.isSecure ? 443 : 80))"
    }
}
