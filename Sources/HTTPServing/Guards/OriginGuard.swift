internal import Accounts
internal import Foundation
internal import HTTPTypes
public import Hummingbird
internal import NIOCore
internal import Records

/// Refuses requests of pages on foreign sites.
///
/// Browsers send `Origin` with every request that may change data, and `Sec-Fetch-Site` even with requests for embedded
/// content. Other clients send neither. A change from another site, or from another port, must have an accepted origin.
/// Links from foreign sites may lead to the console, whose GETs change nothing. They may not lead to the web services,
/// which create a container on first use with any method. Assets may be linked to, and trusted pages may embed them.
/// ``PageOrigins`` decides which origins are accepted.
///
/// A page may read why the web services refuse it. The reason reveals nothing about the data, and shows a developer the
/// remedy.
struct OriginGuard: Sendable {
    private let origins: PageOrigins

    init(admitting origins: PageOrigins) {
        self.origins = origins
    }

    /// - Throws: ``Refusal`` for a request of a page on a foreign site.
    func check(_ request: Request) throws {
        guard let origin = request.headers[.origin] else {
            // Only browsers send this header, and only they can be misused by a foreign site.
            guard let site = request.headers[.secFetchSite] else { return }
            let isCrossSite = site == "cross-site"
            let isForeign = isCrossSite && (request.isEmbedded || request.isWebServiceRequest)
            let isNamelessChange =
                request.method != .get && request.method != .options && site != "same-origin" && site != "none"
            if isForeign && !mayReadAsset(request) || isNamelessChange { throw refusal("a page of another site", [:]) }
            return
        }
        if origins.admits(origin, for: request) { return }
        let isCovered = CrossOrigin.covers(request)
        if origin == "null" {
            // Files and sandboxed frames have this origin. Without CORS headers they cannot read the answers, and their
            // preflights fail, so they cannot set headers.
            if request.method == .get, request.headers[.secFetchSite] != "cross-site" { return }
        } else if request.method == .options, isCovered {
            // The request after a preflight is refused.
            return
        }
        throw refusal("the origin '\(origin.prefix(200))'", isCovered ? [.accessControlAllowOrigin: origin] : [:])
    }

    /// True if a link to an asset was followed, or if a page of an accepted origin embeds it, for example as
    /// an image. Browsers send no origin for embedded content, only the address of the page in `Referer`.
    private func mayReadAsset(_ request: Request) -> Bool {
        guard request.path.hasPrefix("/assets/"), request.method == .get else { return false }
        if !request.isEmbedded { return true }
        guard let page = request.headers[.referer], let schemeEnd = page.firstRange(of: "://")?.upperBound else {
            return false
        }
        return origins.admits(String(page[..<(page[schemeEnd...].firstIndex(of: "/") ?? page.endIndex)]), for: request)
    }

    private func refusal(_ sender: String, _ headers: HTTPFields) -> Refusal {
        Refusal(
            .forbidden, .accessDenied,
            "Requests from \(sender) are not allowed; serve the page from localhost, start the server with --allow-origin, or use an API token that lists the origin",
            headers: headers, endsConnection: true)
    }
}

extension Request {
    /// True if a page embeds this content, for example as an image, a script or a frame.
    fileprivate var isEmbedded: Bool {
        !(headers[.secFetchMode] == "navigate" && headers[.secFetchDest] == "document")
    }
}

// MARK: - Accepted origins

/// Decides which sites' pages may send which requests. Pages of trusted sites may send any request. Pages of sites that
/// an API token lists may send requests with that token to its own container and environment, and may use the addresses
/// of assets and notifications.
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
        trusted.trusts(origin: origin) || isOwnPageOnOthersHost(origin, request) || isListed(origin, for: request)
    }

    /// True for pages that the server itself served for a host that it stands in for, such as the sign-in of users.
    private func isOwnPageOnOthersHost(_ origin: String, _ request: Request) -> Bool {
        request.isSecure && request.head.authority.map(trusted.standIn) ?? false
            && origin.lowercased() == request.ownOrigin.lowercased()
    }

    private func isListed(_ origin: String, for request: Request) -> Bool {
        guard let accounts else { return false }
        let path = request.path
        // The address of a file contains a ticket, and that of the web courier a token. Both are credentials
        // themselves.
        if path.hasPrefix("/assets/") || path == "/aps" { return accounts.isOriginOfToken(origin) }
        // The parts of the path are decoded as in `WebServicePath`.
        guard let parts = request.pathParts, parts.count > 3, Self.isOfApps(parts), !Self.asksAsOwner(request) else {
            return false
        }
        guard let secret = SentQuery(request)["ckAPIToken"]?.value, let token = accounts.apiToken(secret: secret) else {
            return false
        }
        guard parts[2] == token.container.description, Environment(rawValue: String(parts[3])) == token.environment
        else { return false }
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

// MARK: - CORS

/// The headers that let pages in browsers read answers of the web services (Fetch standard, "CORS protocol").
///
/// Pages of accepted origins can read all answers. Other pages can only read the refusal: ``OriginGuard`` refuses their
/// requests before any data is read or changed.
struct CrossOrigin: Sendable {
    let origins: PageOrigins

    private static let exposedHeaders =
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag, Retry-After, Server-Timing, "
        + "X-Apple-CloudKit-Session, X-Apple-CloudKit-Web-Auth-Token, X-Skylight-Rehearsal, X-Skylight-Request, X-Skylight-Size"
    /// The maximum time that a browser caches a preflight, in seconds.
    private static let maximumAge = "600"
    /// The paths of the web courier and of the description of the services.
    private static let otherPaths: Set<Substring> = ["/aps", "/openapi.json"]

    /// True for paths that pages of other origins may call.
    static func covers(_ request: Request) -> Bool { request.isWebServiceRequest || otherPaths.contains(request.path) }

    /// Answers a CORS preflight request. It permits the request even if that will be refused, because otherwise the
    /// page could not read the reason.
    func preflight(_ request: Request) -> Response {
        var response = Response(status: .noContent)
        guard let origin = request.headers[.origin] else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowMethods] =
            request.path.hasPrefix("/assets/") ? "GET, HEAD, POST, PUT, OPTIONS" : "GET, POST, OPTIONS"
        // All requested headers are allowed, because the server ignores unknown ones anyway.
        if let asked = request.headers[.accessControlRequestHeaders] {
            response.headers[.accessControlAllowHeaders] = asked
        }
        response.headers[.accessControlMaxAge] = Self.maximumAge
        return response
    }

    /// Adds the CORS headers to an answer of the web services, even if a guard refused the request.
    func add(to headers: inout HTTPFields, for request: Request) {
        guard Self.covers(request) else { return }
        headers.vary(on: "Origin")
        guard let origin = request.headers[.origin], origins.admits(origin, for: request) else { return }
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlAllowCredentials] = "true"
        headers[.accessControlExposeHeaders] = Self.exposedHeaders
    }
}

// MARK: - The server's own origin

extension Request {
    /// The origin that the request was sent to, such as `http://localhost:8080`; empty if it names no host. The guards
    /// have checked the host.
    public var ownOrigin: String {
        head.authority.map { "\(head.scheme ?? "http")://\($0)" } ?? ""
    }

    /// True if the request came over TLS.
    public var isSecure: Bool { head.scheme == "https" }
}
