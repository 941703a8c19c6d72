public import HTTPTypes
public import Hummingbird
internal import Logging
public import NIOCore
internal import Records

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
    ///   - headers: further headers of the file: type, coding, disposition, caching, and `Vary` if the coding was
    ///     negotiated.
    ///   - owner: kept alive until the last byte is sent or the client is gone.
    public init(
        handle: NIOFileHandle, size: Int64, etag: String, lastModified: Int64, headers: HTTPFields,
        holding owner: any Sendable
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
                .preconditionFailed, .conflict,
                "The file does not match If-Match or If-Unmodified-Since; fetch it again"
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

    private func response(_ status: HTTPResponse.Status, _ bytes: Range<Int64>, in context: ServingRequestContext)
        -> Response
    {
        var headers = headers
        headers[.eTag] = tag
        headers[.lastModified] = HTTPDate.text(lastModified)
        headers[.acceptRanges] = "bytes"
        return Response(status: status, headers: headers, body: body(bytes, in: context))
    }

    private func body(_ bytes: Range<Int64>, in context: ServingRequestContext) -> ResponseBody {
        if bytes.isEmpty { return ResponseBody() }
        // A small file in the page cache goes out with its head in one write.
        if bytes.count <= Self.smallSize, let buffer = handle.readCached(bytes.count, from: bytes.lowerBound) {
            return ResponseBody(byteBuffer: buffer)
        }
        return ResponseBody(contentLength: bytes.count) {
            [handle, owner, channel = context.channel, logger = context.logger] writer in
            do {
                try await handle.send(bytes, over: channel, to: &writer)
            } catch let error as FileEndedEarly {
                logger.error(
                    "A file is shorter than it was when it was opened",
                    metadata: ["size": "\(error.size)", "expected": "\(error.expected)"])
                throw error
            }
            withExtendedLifetime(owner) {}
            try await writer.finish(nil)
        }
    }

    /// Keeps the headers for caching and drops those about the missing content.
    private func notModified() -> Response {
        var headers = headers
        for name in [
            HTTPField.Name.contentType, .contentEncoding, .contentDisposition, .contentLength, .contentLanguage,
        ] { headers[name] = nil }
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

// MARK: - Ranges

/// The byte range of a file request (RFC 9110, 14.1.2).
enum RequestedRange: Equatable {
    /// The whole file: the request has no range, one that must be ignored, or several.
    case whole
    /// A non-empty range within the file.
    case part(Range<Int64>)
    /// A range outside the file.
    case unsatisfiable

    init(_ request: Request, size: Int64) {
        // Ranges apply to GET only (14.2).
        guard request.method == .get, case let values = request.headers[values: .range], values.count == 1,
            let value = values.first,
            let parts = Self.parse(value, size: size)
        else {
            self = .whole
            return
        }
        let satisfiable = parts.compactMap(\.self)
        switch satisfiable.count {
        case 0: self = .unsatisfiable
        case 1 where satisfiable[0].isEmpty: self = .whole
        case 1: self = .part(satisfiable[0])
        // Several ranges would need a multipart answer, which few clients read. The whole file is allowed too.
        default: self = .whole
        }
    }

    /// - Returns: the byte ranges, `nil` for a range beyond the end; `nil` overall if the value is malformed or has
    ///   another unit.
    private static func parse(_ value: String, size: Int64) -> [Range<Int64>?]? {
        let halves = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        // Empty list elements are skipped (5.6.1).
        let parts = halves[1].split(separator: ",").map(\.trimmingSpaces).filter { !$0.isEmpty }
        guard !parts.isEmpty else { return nil }
        var ranges: [Range<Int64>?] = []
        for part in parts {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = number(ends[0]), let last = number(ends[1]) else { return nil }
            switch (first, last) {
            case (nil, nil):
                return nil
            case (nil, let length?):
                // The last bytes. For an empty file the range is empty but satisfiable.
                ranges.append(length == 0 ? nil : max(0, size - length)..<size)
            case (let first?, let last):
                if let last, last < first { return nil }
                ranges.append(first >= size ? nil : first..<min(last ?? .max, size - 1) + 1)
            }
        }
        return ranges
    }

    /// - Returns: `.some(nil)` for an empty text, `nil` for an invalid number. A number that is too large becomes the
    ///   maximum.
    private static func number(_ text: Substring) -> Int64?? {
        if text.isEmpty { return .some(nil) }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}

// MARK: - Conditional headers

/// The conditional headers of a file request (RFC 9110, 13).
struct Preconditions {
    enum Outcome {
        case met
        /// The client already has the current file.
        case notModified
        /// The client means another version of the file.
        case failed
    }

    private let request: Request
    /// The strong entity tag, in quotes.
    private let tag: String
    private let lastModified: Int64

    init(_ request: Request, tag: String, lastModified: Int64) {
        self.request = request
        self.tag = tag
        self.lastModified = lastModified
    }

    /// Evaluated in the order of 13.2.2: entity tags take precedence over dates.
    var outcome: Outcome {
        if let tags = tags(.ifMatch) {
            if !tags.contains(where: { $0 == "*" || $0 == tag }) { return .failed }
        } else if let date = date(.ifUnmodifiedSince), lastModified > date {
            return .failed
        }
        if let tags = tags(.ifNoneMatch) {
            // Weak tags suffice, because the client compares a complete copy.
            let isHeld = tags.contains { $0 == "*" || $0 == tag || $0 == "W/" + tag }
            return isHeld ? .notModified : .met
        }
        if let date = date(.ifModifiedSince), lastModified <= date { return .notModified }
        return .met
    }

    /// True if a range may be sent, because the client has other ranges of the same file (13.1.5).
    var allowsPart: Bool {
        let values = request.headers[values: .ifRange]
        guard let value = values.first else { return true }
        guard values.count == 1 else { return false }
        // Ranges are combined byte by byte, so a weak tag never matches, and a date must be equal.
        return value.hasPrefix("\"") ? value == tag : HTTPDate.seconds(value) == lastModified
    }

    /// True if the client names the entity tag of this form as the one of which it already has a part: in `If-Range`
    /// or, like some download managers, in `If-Match`.
    var continuesDownload: Bool {
        let values = request.headers[values: .ifRange]
        guard values.isEmpty else { return values.count == 1 && values.first == tag }
        return tags(.ifMatch)?.contains { $0 == tag } ?? false
    }

    private func date(_ name: HTTPField.Name) -> Int64? {
        let values = request.headers[values: name]
        return values.count == 1 ? values.first.flatMap(HTTPDate.seconds) : nil
    }

    /// The entity tags of a list. A quoted tag may contain commas.
    private func tags(_ name: HTTPField.Name) -> [Substring]? {
        let values = request.headers[values: name]
        guard !values.isEmpty else { return nil }
        var tags: [Substring] = []
        for value in values {
            var isQuoted = false
            for part in value.split(whereSeparator: { character in
                if character == "\"" { isQuoted.toggle() }
                return !isQuoted && (character == "," || character == " " || character == "\t")
            }) {
                tags.append(part)
            }
        }
        return tags
    }
}
