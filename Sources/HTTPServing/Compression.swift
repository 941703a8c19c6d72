internal import HTTPTypes
internal import Hummingbird

/// Compresses text answers for clients that accept gzip.
///
/// Leaves answers unchanged if they are small, already encoded, event streams, or support ranges, because a
/// range of the compressed bytes has other content. Streamed answers are flushed in time, see ``StreamGzip``.
enum Compression {
    /// The minimum size in bytes of answers to compress.
    private static let smallest = 1024

    static func apply(to response: inout Response, for request: Request) {
        guard isCompressible(response) else { return }
        // Caches must know that the answer depends on Accept-Encoding, even if it is not compressed.
        response.headers.vary(on: "Accept-Encoding")
        guard request.headers.contains(.acceptEncoding), AcceptEncoding(request).prefersGzip else { return }
        let body = response.body
        response.headers[.contentEncoding] = "gzip"
        if let tag = response.headers[.eTag], !tag.hasPrefix("W/") { response.headers[.eTag] = "W/" + tag }
        response.body =
            body.contentLength == nil
            ? ResponseBody { writer in try await StreamGzip.write(body, to: &writer) }
            : ResponseBody { writer in try await body.write(GzipWriter(writer)) }
    }

    private static func isCompressible(_ response: Response) -> Bool {
        guard response.body.contentLength ?? .max >= smallest, response.status == .ok || response.status.kind == .clientError,
            !response.headers.contains(.contentEncoding), !response.headers.contains(.acceptRanges), !response.headers.contains(.contentRange),
            let type = response.headers[.contentType]
        else { return false }
        // Handlers write their types in lower case.
        return !type.hasPrefix("text/event-stream") && types.contains { type.hasPrefix($0) }
    }

    private static let types = ["text/", "application/json", "application/x-ndjson", "application/javascript", "image/svg+xml"]
}

extension HTTPFields {
    /// Adds a header name to `Vary`.
    mutating func vary(on name: String) {
        if let others = self[.vary] { self[.vary] = others + ", " + name } else { append(HTTPField(name: .vary, value: name)) }
    }
}
