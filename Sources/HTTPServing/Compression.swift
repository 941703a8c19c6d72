internal import HTTPTypes
public import Hummingbird

/// Compresses text answers for clients that accept gzip.
///
/// Leaves answers unchanged if they are small, already encoded, event streams, or support ranges, because a
/// range of the compressed bytes has other content. Streamed answers are flushed in time, see ``StreamGzip``.
public struct Compression: RouterMiddleware {
    public typealias Context = ServingRequestContext

    /// The minimum size in bytes of answers to compress.
    private static let smallest = 1024

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        guard Self.isCompressible(response) else { return response }
        var compressed = response
        // Caches must know that the answer depends on Accept-Encoding, even if it is not compressed.
        compressed.headers[.vary] = [response.headers[.vary], "Accept-Encoding"].compactMap(\.self).joined(separator: ", ")
        guard AcceptEncoding(request).prefersGzip else { return compressed }
        let body = response.body
        compressed.headers[.contentEncoding] = "gzip"
        if let tag = response.headers[.eTag], !tag.hasPrefix("W/") { compressed.headers[.eTag] = "W/" + tag }
        compressed.body =
            body.contentLength == nil
            ? ResponseBody { writer in try await StreamGzip.write(body, to: &writer) }
            : ResponseBody { writer in try await body.write(GzipWriter(writer)) }
        return compressed
    }

    private static func isCompressible(_ response: Response) -> Bool {
        guard response.status == .ok || response.status.kind == .clientError, !response.headers.contains(.contentEncoding),
            !response.headers.contains(.acceptRanges), !response.headers.contains(.contentRange),
            response.body.contentLength ?? .max >= smallest, let type = response.headers[.contentType]?.lowercased()
        else { return false }
        if type.hasPrefix("text/event-stream") { return false }
        return ["text/", "application/json", "application/x-ndjson", "application/javascript", "image/svg+xml"].contains { type.hasPrefix($0) }
    }
}
