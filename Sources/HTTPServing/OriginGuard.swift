internal import HTTPTypes
internal import Hummingbird
internal import Records

/// Refuses requests of pages on foreign sites.
///
/// Browsers send `Origin` with every request that may change data, and `Sec-Fetch-Site` even with requests for embedded content. Other
/// clients send neither. A change from another site, or from another port, must have an accepted origin. Links from foreign sites may
/// lead to the console, whose GETs change nothing. They may not lead to the web services, which create a container on first use with
/// any method. Assets may be linked to, and trusted pages may embed them. ``PageOrigins`` decides which origins are accepted.
///
/// A page may read why the web services refuse it. That tells it nothing of the data, and a developer at once what to do.
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
            let isNamelessChange = request.method != .get && request.method != .options && site != "same-origin" && site != "none"
            if isForeign && !mayReadAsset(request) || isNamelessChange { throw refusal("a page of another site", [:]) }
            return
        }
        if origins.admits(origin, for: request) { return }
        let isCovered = CrossOrigin.covers(request)
        if origin == "null" {
            // Files and sandboxed frames. Without CORS headers they cannot see the answers, and their preflights fail, so that they send no headers.
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
        guard let page = request.headers[.referer], let schemeEnd = page.firstRange(of: "://")?.upperBound else { return false }
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
