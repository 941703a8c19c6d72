public import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird
internal import Records

/// Which sites' pages may send which requests: those that the server trusts all of them, and those that an API token lists what is asked with
/// that token of its own container and environment, and the files that its answers lead to.
///
/// Who is let in by a token alone may ask for nothing that is the owner's: not to be held to no roles, and no rehearsals.
public struct PageOrigins: Sendable {
    /// What is for the owner of the data, whatever it says. In small letters.
    private static let ownersHeaders: Set<String> = ["x-skylight-access", "x-skylight-rehearse"]
    private static let ownersParameter = "skylightRehearse"

    private let trusted: TrustedSites
    private let accounts: Accounts?

    /// - Parameter accounts: where API tokens are known; `nil` where no token lets a page in.
    public init(trusting trusted: TrustedSites, tokensOf accounts: Accounts? = nil) {
        self.trusted = trusted
        self.accounts = accounts
    }

    /// Whether pages of a site may send a request.
    /// - Parameter origin: as browsers write it in `Origin`.
    public func admits(_ origin: String, for request: Request) -> Bool {
        trusted.trusts(origin: origin) || isListed(origin, for: request)
    }

    private func isListed(_ origin: String, for request: Request) -> Bool {
        guard let accounts else { return false }
        let path = request.uri.path
        // The address of a file is itself what lets somebody in.
        if path.hasPrefix("/assets/") { return accounts.isOriginOfToken(origin) }
        guard path.hasPrefix("/database/") || path.hasPrefix("/device/"), !Self.asksAsOwner(request) else { return false }
        guard let secret = SentQuery(request)["ckAPIToken"]?.value, let token = accounts.apiToken(secret: secret) else { return false }
        // Its container and environment, as `WebServicePath` reads them.
        let parts = path.split(separator: "/").dropFirst(2).prefix(2).map { String($0).removingPercentEncoding }
        guard parts == [token.container.description, token.environment.rawValue] else { return false }
        return token.isLive && !token.allowedOrigins.isEmpty && token.allows(origin: origin)
    }

    /// Whether a request asks for what is the owner's, or asks for leave to.
    private static func asksAsOwner(_ request: Request) -> Bool {
        let asked = (request.headers[.accessControlRequestHeaders] ?? "").split(separator: ",").map { name in
            name.trimmingCharacters(in: .whitespaces).lowercased()
        }
        return asked.contains(where: ownersHeaders.contains) || request.headers.contains { ownersHeaders.contains($0.name.canonicalName) }
            || SentQuery(request)[ownersParameter] != nil
    }
}
