public import HTTPTypes
public import Hummingbird
internal import Logging
public import NIOCore
internal import Records
internal import Text

/// A file to send to a client, whole or as a range (RFC 9110, 13 and 14).
///
/// If the connection allows it, the bytes go from the file to the socket without a copy in the process. They
/// are sent as fast as the client takes them, so that neither large files nor slow clients cost memory.
public struct ServedFile: Sendable {
    /// Up to this size in bytes, a copy is cheaper than a file region.
    private static let smallSize = 64 << 10

    let handle: NIOFileHandle
    let size: Int64
    let tag: String
    let lastModified: Int64
    let headers: HTTPFields
    let owner: any Sendable

    /// - Parameters:
    ///   - handle: the file, open for reading. The owner closes it; nobody else may read from it meanwhile.
    ///   - size: the size of the file in bytes. If the file turns out shorter, the connection ends.
    ///   - etag: the entity tag without quotes. It identifies these exact bytes; another coding needs another tag.
    ///   - lastModified: seconds since 1970.
    ///   - headers: further headers of the file: type, coding, disposition, caching, and `Vary` if the coding was negotiated.
    ///   - owner: kept alive until the last byte is sent or the client is gone.
    public init(
        handle: NIOFileHandle, size: Int64, etag: String, lastModified: Int64, headers: HTTPFields, holding owner: any Sendable
    ) {
        self.handle = handle
        self.size = size
        tag = "\"\(etag)\""
        self.lastModified = lastModified
        self.headers = headers
        self.owner = owner
    }

    /// The answer to GET: 200 or 206 with the bytes, 304 if the client has them, 412 if a precondition
    /// failed, 416 for a range outside the file. If the request has several ranges, the whole file is sent.
    public func response(to request: Request, in context: ServingRequestContext) -> Response {
        let conditions = Preconditions(request, tag: tag, lastModified: lastModified)
        switch conditions.outcome {
        case .notModified:
            return notModified()
        case .failed:
            return Refusal(
                .preconditionFailed, .conflict, "The file does not match If-Match or If-Unmodified-Since; fetch it again"
            ).response(from: request, context: context)
        case .met:
            break
        }
        let range = conditions.allowsPart ? RequestedRange(request, size: size) : .whole
        switch range {
        case .whole:
            return response(.ok, 0..<size, in: context)
        case .part(let bytes):
            var response = response(.partialContent, bytes, in: context)
            response.headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(size)"
            return response
        case .unsatisfiable:
            return Refusal(
                .rangeNotSatisfiable, .badRequest, "The file has \(size) bytes, and none in the requested range",
                headers: [.contentRange: "bytes */\(size)"]
            ).response(from: request, context: context)
        }
    }

    private func response(_ status: HTTPResponse.Status, _ bytes: Range<Int64>, in context: ServingRequestContext) -> Response {
        var headers = headers
        headers[.eTag] = tag
        headers[.lastModified] = HTTPDate.text(lastModified)
        headers[.acceptRanges] = "bytes"
        return Response(status: status, headers: headers, body: body(bytes, in: context))
    }

    private func body(_ bytes: Range<Int64>, in context: ServingRequestContext) -> ResponseBody {
        if bytes.isEmpty { return ResponseBody() }
        // A small file in the page cache goes out with its head in one write.
        if bytes.count <= Self.smallSize, let buffer = handle.readCached(bytes.count, from: bytes.lowerBound) { return ResponseBody(byteBuffer: buffer) }
        return ResponseBody(contentLength: bytes.count) { [handle, owner, channel = context.channel, logger = context.logger] writer in
            do {
                try await handle.send(bytes, over: channel, to: &writer)
            } catch let error as FileEndedEarly {
                logger.error("A file is shorter than it was when it was opened", metadata: ["size": "\(error.size)", "expected": "\(error.expected)"])
                throw error
            }
            withExtendedLifetime(owner) {}
            try await writer.finish(nil)
        }
    }

    /// Keeps the headers for caching and drops those about the missing content.
    private func notModified() -> Response {
        var headers = headers
        for name in [HTTPField.Name.contentType, .contentEncoding, .contentDisposition, .contentLength, .contentLanguage] { headers[name] = nil }
        headers[.eTag] = tag
        headers[.lastModified] = HTTPDate.text(lastModified)
        return Response(status: .notModified, headers: headers)
    }
}

/// The file has fewer bytes than announced.
struct FileEndedEarly: Error {
    let size: Int64
    let expected: Int64
}
