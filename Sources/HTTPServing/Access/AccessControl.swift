public import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird
internal import Records

/// Who may come in: whether credentials are needed at all, and what proves that somebody administers the server (docs/security.md).
///
/// What the protocol's own credentials allow is not decided here but in the web services.
public struct AccessControl: Sendable {
    /// Whether requests need credentials.
    public enum Mode: String, Sendable, CaseIterable {
        /// Nobody needs any: for a server that listens on one's own machine only.
        case open
        /// The protocol's credentials decide about data; Skylight's own services, the numbers and the console are the administrator's.
        case required
    }

    /// The name that goes with the administrator's password in `Authorization: Basic`.
    public static let administratorName = "admin"

    public let mode: Mode
    public let accounts: Accounts
    /// What proves that somebody may read the data folder; `nil` when nobody is believed for that.
    public let instanceSecret: String?

    /// - Parameter instanceSecret: a random text, made anew at each start.
    public init(_ mode: Mode, accounts: Accounts, instanceSecret: String? = nil) {
        self.mode = mode
        self.accounts = accounts
        self.instanceSecret = instanceSecret
    }

    /// Nobody needs credentials.
    public static func open(_ accounts: Accounts) -> AccessControl {
        AccessControl(.open, accounts: accounts)
    }

    /// Who proves with a request to be the administrator; `nil` when it proves nothing.
    ///
    /// What browsers send by themselves, the cookie and a password that was typed once, counts only for what the server's own pages ask: pages of
    /// other ports of the same machine are of the same site. A change under the cookie also needs the session's secret in ``forgeryHeader``.
    /// - Parameter peer: where the request comes from, to limit how fast passwords are tried: ``ServingRequestContext/peer``.
    /// - Throws: `RecordError` THROTTLED with the time to wait after too many wrong passwords.
    public func administrator(of request: Request, peer: String) async throws -> Administrator? {
        if let authorization = request.headers[.authorization] {
            let parts = authorization.split(separator: " ", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2 else { return nil }
            switch parts[0].lowercased() {
            case "bearer": return isInstanceSecret(parts[1]) ? Administrator(way: .bearer) : nil
            case "basic": return try await hasPassword(parts[1], request, peer) ? Administrator(way: .basic) : nil
            default: return nil
            }
        }
        guard let session = consoleSession(of: request), isOwnPage(request) else { return nil }
        let isReading = [.get, .options].contains(request.method)
        return isReading || bringsSecret(of: session, request) ? Administrator(way: .session(session)) : nil
    }

    /// `http://localhost:8080`: where the request was sent to, as its sender knows it. The host is one that the guards trust.
    public func origin(of request: Request) -> String { request.ownOrigin }

    // MARK: Proofs

    private func isInstanceSecret(_ text: String) -> Bool {
        instanceSecret.map { Self.isEqual(text, $0) } ?? false
    }

    private func hasPassword(_ encoded: String, _ request: Request, _ peer: String) async throws -> Bool {
        guard isOwnPage(request), let data = Data(base64Encoded: encoded) else { return false }
        let parts = data.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, Array(parts[0]) == Array(Self.administratorName.utf8) else { return false }
        switch try await accounts.checkAdministrator(password: String(decoding: parts[1], as: UTF8.self), from: peer) {
        case .accepted: return true
        case .refused, .notSet: return false
        case .tooMany(let seconds):
            throw RecordError(.throttled, "Too many wrong passwords; wait, then give the administrator's", retryAfter: seconds)
        }
    }

    /// Whether a request is no browser's, or comes from one of the server's own pages or its address bar, as far as it tells.
    private func isOwnPage(_ request: Request) -> Bool {
        if let site = HTTPField.Name("Sec-Fetch-Site").flatMap({ request.headers[$0] }) {
            guard site == "same-origin" || site == "none" else { return false }
        } else if let page = request.headers[.referer] {
            // Browsers say where a request comes from over https and on localhost alone. Elsewhere the address of the page is all there is.
            guard let site = page.firstRange(of: "://").map({ page[$0.upperBound...].prefix { !"/?#".contains($0) } }) else { return false }
            guard site.lowercased() == request.head.authority?.lowercased() else { return false }
        }
        return request.headers[.origin].map { $0.lowercased() == origin(of: request).lowercased() } ?? true
    }

    /// Whether two secrets are the same, in a time that does not tell how much of them is.
    static func isEqual(_ left: String, _ right: String) -> Bool {
        Array(left.utf8).isSame(as: Array(right.utf8))
    }
}
