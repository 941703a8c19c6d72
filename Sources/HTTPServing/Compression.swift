internal import HTTPTypes
public import Hummingbird
internal import NIOCore

/// Compresses text on its way out for clients that accept gzip.
///
/// Answers that are small, already encoded, or streams of events are left as they are.
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
        guard request.method != .head, Self.acceptsGzip(request) else { return compressed }
        let body = response.body
        compressed.headers[.contentEncoding] = "gzip"
        if let tag = response.headers[.eTag], !tag.hasPrefix("W/") { compressed.headers[.eTag] = "W/" + tag }
        compressed.body = ResponseBody { writer in try await body.write(GzipWriter(writer)) }
        return compressed
    }

    private static func isCompressible(_ response: Response) -> Bool {
        guard response.status == .ok || response.status.kind == .clientError, !response.headers.contains(.contentEncoding),
            response.body.contentLength ?? .max >= smallest, let type = response.headers[.contentType]?.lowercased()
        else { return false }
        if type.hasPrefix("text/event-stream") { return false }
        return ["text/", "application/json", "application/x-ndjson", "application/javascript", "image/svg+xml"].contains { type.hasPrefix($0) }
    }

    /// Whether gzip is named (or everything is) without the weight 0.
    private static func acceptsGzip(_ request: Request) -> Bool {
        let codings = request.headers[values: .acceptEncoding].joined(separator: ",").lowercased().split(separator: ",").map { coding in
            coding.split(separator: ";").map { $0.filter { $0 != " " } }
        }
        let named = codings.first { $0.first == "gzip" } ?? codings.first { $0.first == "*" }
        guard let named else { return false }
        return !named.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)).map { $0 == 0 } ?? true }
    }
}

/// Compresses what is written to it.
private struct GzipWriter: ResponseBodyWriter {
    private var parent: any ResponseBodyWriter
    private let deflater: Deflater

    init(_ parent: any ResponseBodyWriter) throws {
        self.parent = parent
        deflater = try Deflater()
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        let output = try deflater.compress(buffer, isLast: false)
        if output.readableBytes > 0 { try await parent.write(output) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.write(deflater.compress(ByteBuffer(), isLast: true))
        try await parent.finish(trailingHeaders)
    }
}
