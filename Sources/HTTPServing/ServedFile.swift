public import HTTPTypes
public import Hummingbird
internal import Logging
public import NIOCore
internal import Records

/// A file to be sent to a client, whole or in parts (RFC 9110, 13 and 14).
///
/// The bytes go from the file to the socket without passing through the process wherever the connection allows it, and never faster than
/// the client takes them, so that neither large files nor slow clients cost memory.
public struct ServedFile: Sendable {
    /// Up to this many bytes a copy costs less than what a region of a file takes to be sent.
    private static let smallSize = 64 << 10

    let handle: NIOFileHandle
    let size: Int64
    let tag: String
    let lastModified: Int64
    let headers: HTTPFields
    let owner: any Sendable

    /// - Parameters:
    ///   - handle: the file, open for reading. Whoever holds it closes it; nobody else may read through it meanwhile.
    ///   - size: how many bytes it has. One that turns out shorter ends the connection.
    ///   - etag: the entity tag without its quotes. It stands for these very bytes: another coding of them has another one.
    ///   - lastModified: seconds since 1970.
    ///   - headers: what else is said of the file: type, coding, disposition, caching, and `Vary` where the coding was chosen.
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

    /// The answer to GET: 200 or 206 with the bytes, 304 where the client has them, 412 where it means another file, 416 where it
    /// asks for a part that is not there. Of several parts asked for at once, all of the file is sent.
    public func response(to request: Request, in context: ServingRequestContext) -> Response {
        let conditions = Preconditions(request, tag: tag, lastModified: lastModified)
        switch conditions.outcome {
        case .notModified:
            return notModified()
        case .failed:
            return Refusal(
                .preconditionFailed, .conflict, "The file is not in the state that If-Match or If-Unmodified-Since asks for; fetch it anew"
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
                .rangeNotSatisfiable, .badRequest, "The file has \(size) bytes, and none in the range asked for",
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
        // What is small and at hand goes out with its head in one write.
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

    /// What the client may keep and compare later, and nothing about bytes that are not there.
    private func notModified() -> Response {
        var headers = headers
        for name in [HTTPField.Name.contentType, .contentEncoding, .contentDisposition, .contentLength, .contentLanguage] { headers[name] = nil }
        headers[.eTag] = tag
        headers[.lastModified] = HTTPDate.text(lastModified)
        return Response(status: .notModified, headers: headers)
    }
}

/// A file that has fewer bytes than were promised.
struct FileEndedEarly: Error {
    let size: Int64
    let expected: Int64
}
