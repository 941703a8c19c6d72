internal import HTTPTypes
public import Hummingbird

/// Compresses text on its way out for clients that accept gzip.
///
/// Answers that are small, already encoded, or streams of events are left as they are, and so are answers of which parts can be asked for:
/// a part of the compressed bytes is another one. What is made while it is sent reaches the client in time to be shown, see ``StreamGzip``.
public struct Compression: RouterMiddleware {
    public typealias Context = ServingRequestContext

    /// Answers below this many bytes are not worth it.
    private static let smallest = 1024

    public init() {}

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        guard Self.isCompressible(response) else { return response }
        var compressed = response
        // A cache must know even of the answer that was not compressed.
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
