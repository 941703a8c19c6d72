internal import Accounts
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// Decides which sites' pages may send which requests. Pages of trusted sites may send any request. Pages of sites that an
/// API token lists may send requests with that token to its own container and environment, and may use the addresses of assets and notifications.
///
/// The origins of a token give no owner rights: such pages cannot request unrestricted access or fault injection.
struct PageOrigins: Sendable {
    /// The headers that are reserved for the owner of the data.
    private static let ownersHeaders = [HTTPField.Name.skylightAccess, .skylightRehearse]
    private static let ownersParameter = "skylightRehearse"

    private let trusted: TrustedSites
    private let accounts: Accounts?

    /// - Parameter accounts: the accounts with the API tokens; `nil` to ignore the origins of tokens.
    init(trusting trusted: TrustedSites, tokensOf accounts: Accounts? = nil) {
        self.trusted = trusted
        self.accounts = accounts
    }

    /// True if pages of the origin may send the request.
    /// - Parameter origin: the value of the `Origin` header.
    func admits(_ origin: String, for request: Request) -> Bool {
        trusted.trusts(origin: origin) || isListed(origin, for: request)
    }

    private func isListed(_ origin: String, for request: Request) -> Bool {
        guard let accounts else { return false }
        let path = request.path
        // The address of a file carries a ticket, and that of the web courier a token, which are credentials of their own.
        if path.hasPrefix("/assets/") || path == "/aps" { return accounts.isOriginOfToken(origin) }
        // The parts of the path are decoded as in `WebServicePath`.
        guard let parts = request.pathParts, parts.count > 3, Self.isOfApps(parts), !Self.asksAsOwner(request) else { return false }
        guard let secret = SentQuery(request)["ckAPIToken"]?.value, let token = accounts.apiToken(secret: secret) else { return false }
        guard parts[2] == token.container.description, Environment(rawValue: String(parts[3])) == token.environment else { return false }
        return token.isLive && token.lists(origin: origin)
    }

    /// True for services that take the credentials of apps: those of the protocol, and key-value stores.
    private static func isOfApps(_ parts: [Substring]) -> Bool {
        switch parts[0] {
        case "database", "device": true
        case "skylight": parts.count > 5 && parts[5] == "keyvalues"
        default: false
        }
    }

    /// True if the request, or the request behind a preflight, asks for owner rights.
    private static func asksAsOwner(_ request: Request) -> Bool {
        let asked = (request.headers[.accessControlRequestHeaders] ?? "").split(separator: ",").map { name in
            name.trimmingCharacters(in: .whitespaces).lowercased()
        }
        return ownersHeaders.contains { asked.contains($0.canonicalName) || request.headers.contains($0) }
            || SentQuery(request)[ownersParameter] != nil
    }
}
