internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Lets pages of trusted sites, and of origins listed in API tokens, call the web services from a browser (Fetch standard, "CORS protocol").
struct CrossOrigin: Sendable {
    let origins: PageOrigins

    private static let exposedHeaders =
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag, Retry-After, Server-Timing, "
        + "X-Apple-CloudKit-Session, X-Apple-CloudKit-Web-Auth-Token, X-Skylight-Rehearsal, X-Skylight-Request, X-Skylight-Size"
    /// The maximum time that a browser caches a preflight, in seconds.
    private static let maximumAge = "600"

    /// Answers a CORS preflight request.
    /// - Parameter methods: the methods that the path supports.
    func preflight(_ request: Request, allowing methods: String = "GET, POST, OPTIONS") -> Response {
        var response = allowing(request, Response(status: .noContent))
        guard response.headers.contains(.accessControlAllowOrigin) else { return response }
        response.headers[.accessControlAllowMethods] = methods
        // All requested headers are allowed, because the server ignores unknown ones anyway.
        if let asked = request.headers[.accessControlRequestHeaders] { response.headers[.accessControlAllowHeaders] = asked }
        response.headers[.accessControlMaxAge] = Self.maximumAge
        return response
    }

    /// Adds the CORS headers if the request's origin is trusted.
    func allowing(_ request: Request, _ response: Response) -> Response {
        var response = response
        response.headers.vary(on: "Origin")
        guard let origin = request.headers[.origin], origins.admits(origin, for: request) else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowCredentials] = "true"
        response.headers[.accessControlExposeHeaders] = Self.exposedHeaders
        return response
    }
}
