internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Lets pages of trusted sites, and those that API tokens list, call the web services from the browser (Fetch standard, "CORS protocol").
struct CrossOrigin: Sendable {
    let origins: PageOrigins

    private static let exposedHeaders =
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag, Retry-After, Server-Timing, "
        + "X-Apple-CloudKit-Session, X-Apple-CloudKit-Web-Auth-Token, X-Skylight-Rehearsal, X-Skylight-Request, X-Skylight-Size"
    /// Seconds a browser may remember a preflight.
    private static let maximumAge = "600"

    /// Answers the question that browsers ask before a request.
    /// - Parameter methods: what is answered at the path.
    func preflight(_ request: Request, allowing methods: String = "GET, POST, OPTIONS") -> Response {
        var response = allowing(request, Response(status: .noContent))
        guard response.headers.contains(.accessControlAllowOrigin) else { return response }
        response.headers[.accessControlAllowMethods] = methods
        // What a client may send is not for a list: unknown headers are ignored anyway.
        if let asked = request.headers[.accessControlRequestHeaders] { response.headers[.accessControlAllowHeaders] = asked }
        response.headers[.accessControlMaxAge] = Self.maximumAge
        return response
    }

    /// An answer that the page that asked may read, if its site is one of them.
    func allowing(_ request: Request, _ response: Response) -> Response {
        var response = response
        response.headers[.vary] = [response.headers[.vary], "Origin"].compactMap(\.self).joined(separator: ", ")
        guard let origin = request.headers[.origin], origins.admits(origin, for: request) else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] = Self.exposedHeaders
        return response
    }
}
