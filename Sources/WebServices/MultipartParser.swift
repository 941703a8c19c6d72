internal import Foundation
internal import HTTPTypes
internal import NIOCore
internal import Records

/// Extracts the only file from a `multipart/form-data` body (RFC 7578, on RFC 2046) as a stream.
/// It buffers at most one piece, one possible boundary line, and the headers of one part.
///
/// The file is the part with a file name, or the part named `files`, the name that CloudKit's clients use. Other parts
/// are skipped.
struct MultipartParser {
    /// The maximum total size in bytes of everything except the file.
    static let envelopeLimit = 64 << 10
    /// The maximum size in bytes of the headers of one part.
    static let headerLimit = 8 << 10
    /// The maximum amount of white space after a boundary, in bytes.
    private static let paddingLimit = 64
    private static let lineEnd = Array("\r\n".utf8)

    private enum State: Equatable {
        case preamble, headers, field, file, epilogue
    }

    /// The delimiter that ends a part. The line break before a boundary belongs to the boundary (RFC 2046, 5.1.1).
    private let delimiter: [UInt8]
    private var buffer = ByteBuffer()
    private var state = State.preamble
    /// Bytes at the start of a part that are not content: the line break after the headers. It may also belong to the
    /// next boundary.
    private var leading = 0
    private var envelope = 0
    private var hasFile = false

    /// The number of buffered bytes.
    var held: Int { buffer.readableBytes }

    init(boundary: MultipartBoundary) {
        delimiter = Array("\r\n--".utf8) + boundary.bytes
        // The first boundary may be at the very start of the body, without a line break before it.
        buffer.writeBytes(Self.lineEnd)
    }

    /// Appends the next bytes of the body.
    mutating func take(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        buffer.discardReadBytes()
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next bytes of the file; `nil` if more input is needed.
    /// - Throws: `RecordError` BAD_REQUEST for headers that are invalid or too long, for a second file, and for too
    ///   many bytes beside the file.
    mutating func next() throws -> ByteBuffer? {
        while true {
            switch state {
            case .headers:
                guard try readHeaders() else { return nil }
            case .epilogue:
                try pass(buffer.readableBytes)
                return nil
            case .preamble, .field, .file:
                let (content, isEnd) = findEnd()
                let isFile = state == .file
                let dropped = min(leading, content)
                leading -= dropped
                try pass(dropped)
                let piece = isFile ? buffer.readSlice(length: content - dropped) : nil
                if !isFile { try pass(content - dropped) }
                if let isLast = isEnd { try endPart(isLast: isLast) }
                if let piece, piece.readableBytes > 0 { return piece }
                if isEnd == nil { return nil }
            }
        }
    }

    /// Marks the end of the body.
    /// - Throws: `RecordError` BAD_REQUEST if the body is incomplete or has no file.
    func finish() throws {
        guard state == .epilogue else {
            throw RecordError(
                .badRequest,
                "The multipart/form-data body has no end: the closing line --boundary-- is missing. Send the file again, or send it without multipart"
            )
        }
        guard hasFile else {
            throw RecordError(
                .badRequest,
                "The multipart/form-data body has no file: expected a part with a file name, or with the name 'files'")
        }
    }

    // MARK: Boundaries

    /// The number of bytes that certainly belong to the part, and the boundary that follows
    /// them: `true` for the last one, `false` for another, `nil` if none was found yet.
    private func findEnd() -> (content: Int, isLast: Bool?) {
        buffer.withUnsafeReadableBytes { bytes in
            var place = 0
            while let found = Self.find(delimiter, in: bytes, from: place) {
                switch line(in: bytes, after: found + delimiter.count) {
                case .boundary(let isLast): return (found, isLast)
                case .unknown: return (found, nil)
                case .content: place = found + 1
                }
            }
            // The last bytes may be the start of a boundary.
            var rest = min(delimiter.count - 1, bytes.count - place)
            while rest > 0, !bytes.suffix(rest).elementsEqual(delimiter.prefix(rest)) { rest -= 1 }
            return (bytes.count - rest, nil)
        }
    }

    private enum Line {
        case boundary(isLast: Bool)
        /// A line of content that only starts like a boundary.
        case content
        /// More input is needed to decide.
        case unknown
    }

    /// Classifies a line that starts with a boundary, according to the bytes after it.
    private func line(in bytes: UnsafeRawBufferPointer, after start: Int) -> Line {
        let rest = bytes[start...]
        if rest.starts(with: "--".utf8) { return .boundary(isLast: true) }
        if rest.elementsEqual("-".utf8) { return .unknown }
        let padding = rest.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.count
        if padding > Self.paddingLimit { return .content }
        let end = rest.dropFirst(padding).prefix(2)
        if end.elementsEqual(Self.lineEnd) { return .boundary(isLast: false) }
        return Self.lineEnd.starts(with: end) ? .unknown : .content
    }

    private static func find(_ wanted: [UInt8], in bytes: UnsafeRawBufferPointer, from place: Int) -> Int? {
        guard let start = bytes.baseAddress, let first = wanted.first else { return nil }
        return wanted.withUnsafeBytes { wanted in
            guard let wantedStart = wanted.baseAddress else { return nil }
            var place = place
            while bytes.count - place >= wanted.count,
                let found = memchr(start + place, Int32(first), bytes.count - place - wanted.count + 1)
            {
                place = UnsafeRawPointer(found) - start
                if memcmp(found, wantedStart, wanted.count) == 0 { return place }
                place += 1
            }
            return nil
        }
    }

    private mutating func endPart(isLast: Bool) throws {
        if isLast {
            state = .epilogue
            return
        }
        try pass(delimiter.count)
        let padding = buffer.readableBytesView.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.count
        // Keeps the line break. In a part without headers, the empty line that ends the headers follows it directly.
        try pass(padding)
        leading = 0
        state = .headers
    }

    // MARK: Headers

    /// Reads the headers of a part once they have arrived completely.
    private mutating func readHeaders() throws -> Bool {
        let end = buffer.withUnsafeReadableBytes { Self.find(Self.lineEnd + Self.lineEnd, in: $0, from: 0) }
        guard (end ?? buffer.readableBytes) <= Self.headerLimit else {
            throw RecordError(
                .badRequest,
                "The headers of a part of the multipart/form-data body are longer than \(Self.headerLimit) bytes")
        }
        guard let end, let bytes = buffer.getBytes(at: buffer.readerIndex, length: end) else { return false }
        let headers = try MultipartHeaders(bytes.dropFirst(2))
        try pass(end + 2)
        leading = 2
        guard headers.isFile else {
            state = .field
            return true
        }
        if hasFile {
            throw RecordError(
                .badRequest, "The multipart/form-data body has more than one file; send each file to its own address")
        }
        hasFile = true
        state = .file
        return true
    }

    /// Skips bytes that do not belong to the file, and counts them.
    private mutating func pass(_ count: Int) throws {
        buffer.moveReaderIndex(forwardBy: count)
        envelope += count
        guard envelope <= Self.envelopeLimit else {
            throw RecordError(
                .badRequest,
                "The multipart/form-data body has more than \(Self.envelopeLimit) bytes besides the file; send only the file"
            )
        }
    }
}

// MARK: - Stream of the file

/// Streams the bytes of the only file in a `multipart/form-data` body as they arrive.
struct MultipartFile<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base
    let boundary: MultipartBoundary

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        var parser: MultipartParser

        mutating func next() async throws -> ByteBuffer? {
            while true {
                if let piece = try parser.next() { return piece }
                guard let bytes = try await base.next() else {
                    try parser.finish()
                    return nil
                }
                parser.take(bytes)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), parser: MultipartParser(boundary: boundary))
    }
}

// MARK: - Boundary and headers

/// The boundary between the parts of a body, from its Content-Type header.
struct MultipartBoundary: Equatable {
    /// The maximum length in bytes. RFC 2046 allows 1 to 70.
    private static let limit = 70

    let bytes: [UInt8]

    /// - Returns: `nil` if the body is not `multipart/form-data`.
    /// - Throws: `RecordError` BAD_REQUEST if the boundary is missing or invalid.
    init?(contentType: String?) throws {
        guard let contentType, let header = ParameterizedHeader(contentType),
            header.value.lowercased() == "multipart/form-data"
        else { return nil }
        let boundary = header.parameters["boundary"] ?? ""
        bytes = Array(boundary.utf8)
        guard (1...Self.limit).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else {
            throw RecordError(
                .badRequest,
                "Content-Type is multipart/form-data without a valid boundary: expected 1 to \(Self.limit) letters, digits and '()+_,-./:=? such as "
                    + "multipart/form-data; boundary=abc")
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "'()+_,-./:=? ".utf8.contains(byte)
        }
    }
}

/// The headers of one part.
struct MultipartHeaders {
    /// The part name that CloudKit's clients use for the file.
    private static let fileName = "files"

    let isFile: Bool

    /// - Parameter bytes: the header lines, each with its line break except the last.
    /// - Throws: `RecordError` BAD_REQUEST for a malformed header line, and for a file with a transfer encoding.
    init(_ bytes: ArraySlice<UInt8>) throws {
        var disposition: ParameterizedHeader?
        var encoding = ""
        for line in Self.lines(bytes) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                let shown = String(decoding: line.prefix(80), as: UTF8.self)
                throw RecordError(
                    .badRequest, "The multipart/form-data body has a part with an invalid header line: '\(shown)'")
            }
            let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "content-disposition": disposition = ParameterizedHeader(value)
            case "content-transfer-encoding": encoding = ParameterizedHeader(value)?.value.lowercased() ?? ""
            default: continue
            }
        }
        let parameters = disposition?.parameters ?? [:]
        isFile = parameters["filename"] != nil || parameters["filename*"] != nil || parameters["name"] == Self.fileName
        if isFile, !["", "binary", "8bit", "7bit"].contains(encoding) {
            throw RecordError(
                .badRequest,
                "The file of the multipart/form-data body is in the transfer encoding '\(encoding.prefix(80))'; send its bytes unencoded"
            )
        }
    }
}

extension MultipartHeaders {
    /// The header lines. A line that begins with white space continues the previous one.
    private static func lines(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        bytes.split(separator: UInt8(ascii: "\n")).reduce(into: []) { lines, line in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if let first = line.first, " \t".utf8.contains(first), !lines.isEmpty {
                lines[lines.count - 1] += line
            } else if !line.isEmpty {
                lines.append(Array(line))
            }
        }
    }
}

/// A header such as `form-data; name="files"; filename="a b.txt"`: a value, and parameters whose values may be quoted.
struct ParameterizedHeader {
    let value: String
    /// The parameters, with lower-case names. If a name occurs twice, the first value counts.
    let parameters: [String: String]

    /// - Returns: `nil` if the header is empty or a quotation mark is not closed.
    init?(_ text: String) {
        var parts: [[Unicode.Scalar]] = [[]]
        var isQuoted = false
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, scalar == "\\" {
                isEscaped = true
                continue
            } else if scalar == "\"" {
                isQuoted.toggle()
                continue
            } else if scalar == ";", !isQuoted {
                parts.append([])
                continue
            }
            parts[parts.count - 1].append(scalar)
        }
        guard !isQuoted else { return nil }
        func trimmed(_ scalars: some BidirectionalCollection<Unicode.Scalar>) -> String {
            let isSpace = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" }
            let start = scalars.drop(while: isSpace)
            let end = start.lastIndex { !isSpace($0) }.map { start.index(after: $0) } ?? start.startIndex
            var text = String.UnicodeScalarView()
            text.append(contentsOf: start[..<end])
            return String(text)
        }
        value = trimmed(parts[0])
        let named = parts.dropFirst().compactMap { part -> (String, String)? in
            guard let sign = part.firstIndex(of: "=") else { return nil }
            return (trimmed(part[..<sign]).lowercased(), trimmed(part[(sign + 1)...]))
        }
        parameters = Dictionary(named, uniquingKeysWith: { first, _ in first })
        if value.isEmpty { return nil }
    }
}
