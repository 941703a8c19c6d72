public import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird
internal import Records

/// Access control: the need for credentials, and the proofs of administrator access (docs/security.md).
///
/// The web services check the protocol's own credentials.
public struct AccessControl: Sendable {
    /// The need for credentials.
    public enum Mode: String, Sendable, CaseIterable {
        /// No credentials are required. For a server that only listens on the local machine.
        case open
        /// The protocol's credentials give access to data. Skylight's own services, the metrics and the console require the administrator.
        case required
    }

    /// The user name of the administrator in `Authorization: Basic`.
    public static let administratorName = "admin"

    public let mode: Mode
    public let accounts: Accounts
    /// The secret that proves read access to the data folder; `nil` to accept none.
    public let instanceSecret: String?

    /// - Parameter instanceSecret: a random text, created at each start.
    public init(_ mode: Mode, accounts: Accounts, instanceSecret: String? = nil) {
        self.mode = mode
        self.accounts = accounts
        self.instanceSecret = instanceSecret
    }

    /// Access control that requires no credentials.
    public static func open(_ accounts: Accounts) -> AccessControl {
        AccessControl(.open, accounts: accounts)
    }

    /// The administrator who sent the request; `nil` without a valid proof.
    ///
    /// Browsers send the cookie and a remembered password on their own, and pages on other ports of the machine belong to the same site. So
    /// both count only for requests of the server's own pages. A change with the cookie also needs the session's secret in ``forgeryHeader``.
    /// - Parameter peer: the address of the client, ``ServingRequestContext/peer``. It limits the rate of password attempts.
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

    /// The origin that the client used, such as `http://localhost:8080`. The guards have checked the host.
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
            throw RecordError(.throttled, "Too many wrong passwords; wait, then send the right one", retryAfter: seconds)
        }
    }

    /// True if the request, as far as its headers tell, comes from no browser, from one of the server's own pages, or from the address bar.
    private func isOwnPage(_ request: Request) -> Bool {
        if let site = request.headers[.secFetchSite] {
            guard site == "same-origin" || site == "none" else { return false }
        } else if let page = request.headers[.referer] {
            // Browsers send Sec-Fetch-Site only over https and on localhost. Otherwise only the Referer tells the page.
            guard let site = page.firstRange(of: "://").map({ page[$0.upperBound...].prefix { !"/?#".contains($0) } }) else { return false }
            guard site.lowercased() == request.head.authority?.lowercased() else { return false }
        }
        return request.headers[.origin].map { $0.lowercased() == origin(of: request).lowercased() } ?? true
    }

    /// Compares two secrets in constant time.
    static func isEqual(_ left: String, _ right: String) -> Bool {
        Array(left.utf8).isSame(as: Array(right.utf8))
    }
}
