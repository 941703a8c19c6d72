internal import HTTPTypes
public import Hummingbird
internal import Records

/// Refuses what pages of foreign sites send.
///
/// Browsers name the sending site in `Origin` on every request that could change something, and in `Sec-Fetch-Site` even on the ones that
/// pages make by embedding something. Clients that are no browsers send neither. A change that a browser says is another site's, be it another
/// port's, needs the origin that tells which. Links from foreign sites may be followed to the
/// console, whose GETs make nothing; the web services make a container at its first use, whatever the method, and nobody links to them.
/// Assets are there to be linked to, and pages of trusted sites may show them. Which sites those are, ``PageOrigins`` says.
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
        // Files and sandboxed frames have the origin null; what they read without CORS headers they can't see.
        let isAllowed = origin == "null" ? isReading && !request.isCrossSite : self.origins.admits(origin, for: request)
        guard isAllowed, origins.count == 1 else { throw refusal("the origin '\(origin.prefix(200))'") }
        return try await next(request, context)
    }

    /// Whether a link to an asset was followed, or a page of a trusted site shows it as an image, say. Of what pages load so the browser tells
    /// no origin, but the address of the page, in `Referer`.
    private func mayReadAsset(_ request: Request) -> Bool {
        guard request.uri.path.hasPrefix("/assets/"), request.method == .get else { return false }
        if !request.isEmbeddedInForeignPage { return true }
        guard let page = request.headers[.referer], let schemeEnd = page.firstRange(of: "://")?.upperBound else { return false }
        return origins.admits(String(page[..<(page[schemeEnd...].firstIndex(of: "/") ?? page.endIndex)]), for: request)
    }

    private func refusal(_ sender: String) -> Refusal {
        Refusal(
            .forbidden, .accessDenied, "Requests from \(sender) are not allowed; serve the page from localhost, allow its origin, or use an API token that lists it",
            endsConnection: true)
    }
}

extension Request {
    /// Whether a browser says that a page of another site loads this as a part of itself: as an image, a script, a frame.
    fileprivate var isEmbeddedInForeignPage: Bool {
        isCrossSite && !(fetchMetadata("Mode") == "navigate" && fetchMetadata("Dest") == "document")
    }

    /// Whether a browser says that a page of another site is behind this, be it by a link.
    fileprivate var isCrossSite: Bool { fetchMetadata("Site") == "cross-site" }

    /// Whether a browser says that a page elsewhere changes something, and nothing says where. Other ports and neighbouring names are elsewhere too.
    fileprivate var isNamelessChange: Bool {
        guard ![.get, .options].contains(method), let site = fetchMetadata("Site") else { return false }
        return !["same-origin", "none"].contains(site)
    }

    private func fetchMetadata(_ name: String) -> String? {
        HTTPField.Name("Sec-Fetch-\(name)").flatMap { headers[$0] }
    }
}
