internal import HTTPTypes
public import Hummingbird
internal import Records

/// Refuses requests of pages on foreign sites.
///
/// Browsers send `Origin` with every request that may change data, and `Sec-Fetch-Site` even with requests for embedded content. Other
/// clients send neither. A change from another site, or from another port, must have an accepted origin. Links from foreign sites may
/// lead to the console, whose GETs change nothing. They may not lead to the web services, which create a container on first use with
/// any method. Assets may be linked to, and trusted pages may embed them. ``PageOrigins`` decides which origins are accepted.
public struct OriginGuard: RouterMiddleware {
    public typealias Context = ServingRequestContext

    private let origins: PageOrigins

    public init(admitting origins: PageOrigins) {
        self.origins = origins
    }

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        let origins = request.headers[values: .origin]
        guard let origin = origins.first else {
            let isForeign = request.isEmbeddedInForeignPage || request.isWebServiceRequest && request.isCrossSite
            if isForeign && !mayReadAsset(request) || request.isNamelessChange { throw refusal("a page of another site") }
            return try await next(request, context)
        }
        let isReading = request.method == .get
        // Files and sandboxed frames have the origin null. Without CORS headers they cannot see the answers.
        let isAllowed = origin == "null" ? isReading && !request.isCrossSite : self.origins.admits(origin, for: request)
        guard isAllowed, origins.count == 1 else { throw refusal("the origin '\(origin.prefix(200))'") }
        return try await next(request, context)
    }

    /// True if a link to an asset was followed, or if a page of an accepted origin embeds it, for example as
    /// an image. Browsers send no origin for embedded content, only the address of the page in `Referer`.
    private func mayReadAsset(_ request: Request) -> Bool {
        guard request.uri.path.hasPrefix("/assets/"), request.method == .get else { return false }
        if !request.isEmbeddedInForeignPage { return true }
        guard let page = request.headers[.referer], let schemeEnd = page.firstRange(of: "://")?.upperBound else { return false }
        return origins.admits(String(page[..<(page[schemeEnd...].firstIndex(of: "/") ?? page.endIndex)]), for: request)
    }

    private func refusal(_ sender: String) -> Refusal {
        Refusal(
            .forbidden, .accessDenied, "Requests from \(sender) are not allowed; serve the page from localhost, start the server with --allow-origin, or use an API token that lists the origin",
            endsConnection: true)
    }
}

extension Request {
    /// True if a page of another site embeds this content, for example as an image, a script or a frame.
    fileprivate var isEmbeddedInForeignPage: Bool {
        isCrossSite && !(fetchMetadata("Mode") == "navigate" && fetchMetadata("Dest") == "document")
    }

    /// True if the request comes from a page of another site, including by a link.
    fileprivate var isCrossSite: Bool { fetchMetadata("Site") == "cross-site" }

    /// True if a page elsewhere sends a change without an origin. Other ports and subdomains count as elsewhere.
    fileprivate var isNamelessChange: Bool {
        guard ![.get, .options].contains(method), let site = fetchMetadata("Site") else { return false }
        return !["same-origin", "none"].contains(site)
    }

    private func fetchMetadata(_ name: String) -> String? {
        HTTPField.Name("Sec-Fetch-\(name)").flatMap { headers[$0] }
    }
}
