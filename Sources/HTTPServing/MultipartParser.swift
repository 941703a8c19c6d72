internal import Foundation
package import NIOCore
internal import Records

/// Takes a `multipart/form-data` body (RFC 7578, on RFC 2046) apart as it arrives.
/// It buffers at most one piece, one possible boundary line, and the headers of one part.
package struct MultipartParser {
    package enum Element {
        case part(MultipartHeaders)
        /// The next bytes of the part.
        case content(ByteBuffer)
        /// All bytes of the part have come.
        case end
    }

    /// The maximum size in bytes of the headers of one part.
    static let headerLimit = 8 << 10
    /// The maximum amount of white space after a boundary, in bytes.
    private static let paddingLimit = 64
    private static let lineEnd = Array("\r\n".utf8)

    private enum State: Equatable {
        case preamble, headers, content, epilogue
    }

    /// The delimiter that ends a part. The line break before a boundary belongs to the boundary (RFC 2046, 5.1.1).
    private let delimiter: [UInt8]
    private var buffer = ByteBuffer()
    private var state = State.preamble
    /// Bytes at the start of a part that are not content: the line break after the headers. It may also belong to the
    /// next boundary.
    private var leading = 0
    /// The number of bytes so far that are not the content of a part.
    package private(set) var overhead = 0

    /// The number of buffered bytes.
    var held: Int { buffer.readableBytes }

    package init(boundary: MultipartBoundary) {
        delimiter = Array("\r\n--".utf8) + boundary.bytes
        // The first boundary may be at the very start of the body, without a line break before it.
        buffer.writeBytes(Self.lineEnd)
    }

    /// Appends the next bytes of the body.
    package mutating func take(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        buffer.discardReadBytes()
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next element; `nil` if more input is needed.
    /// - Throws: `RecordError` BAD_REQUEST for headers that are invalid or too long.
    package mutating func next() throws -> Element? {
        while true {
            switch state {
            case .headers:
                return try readHeaders().map { .part($0) }
            case .epilogue:
                pass(buffer.readableBytes)
                return nil
            case .preamble, .content:
                let (content, isLast) = findEnd()
                let isPart = state == .content
                let skipped = isPart ? min(leading, content) : content
                pass(skipped)
                if isPart { leading -= skipped }
                if content > skipped, let bytes = buffer.readSlice(length: content - skipped) { return .content(bytes) }
                guard let isLast else { return nil }
                passBoundary(isLast: isLast)
                if isPart { return .end }
            }
        }
    }

    /// Marks the end of the body.
    /// - Throws: `RecordError` BAD_REQUEST if the body is incomplete.
    package func finish() throws {
        guard state == .epilogue else {
            throw RecordError(
                .badRequest,
                "The multipart/form-data body has no end: the closing line --boundary-- is missing. Send the file again, or send it without multipart"
            )
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

    private mutating func passBoundary(isLast: Bool) {
        if isLast {
            state = .epilogue
            return
        }
        pass(delimiter.count)
        let padding = buffer.readableBytesView.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.count
        // Keeps the line break. In a part without headers, the empty line that ends the headers follows it directly.
        pass(padding)
        state = .headers
    }

    // MARK: Headers

    /// The headers of a part; `nil` until they have arrived completely.
    private mutating func readHeaders() throws -> MultipartHeaders? {
        let end = buffer.withUnsafeReadableBytes { Self.find(Self.lineEnd + Self.lineEnd, in: $0, from: 0) }
        guard (end ?? buffer.readableBytes) <= Self.headerLimit else {
            throw RecordError(
                .badRequest,
                "The headers of a part of the multipart/form-data body are longer than \(Self.headerLimit) bytes")
        }
        guard let end, let bytes = buffer.getBytes(at: buffer.readerIndex, length: end) else { return nil }
        let headers = try MultipartHeaders(bytes.dropFirst(2))
        pass(end + 2)
        leading = 2
        state = .content
        return headers
    }

    /// Skips bytes that are not the content of a part, and counts them.
    private mutating func pass(_ count: Int) {
        buffer.moveReaderIndex(forwardBy: count)
        overhead += count
    }
}

// MARK: - Boundary and headers

/// The boundary between the parts of a body, from its Content-Type header.
package struct MultipartBoundary {
    /// The maximum length in bytes. RFC 2046 allows 1 to 70.
    private static let limit = 70

    let bytes: [UInt8]

    /// - Returns: `nil` if the body is not `multipart/form-data`.
    /// - Throws: `RecordError` BAD_REQUEST if the boundary is missing or invalid.
    package init?(contentType: String?) throws {
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
package struct MultipartHeaders {
    /// The parameters of Content-Disposition, with lower-case names.
    package let disposition: [String: String]
    /// The Content-Transfer-Encoding in lower case; empty if there is none.
    package let transferEncoding: String

    package var name: String? { text("name") }
    /// `nil` for a part that is not a file.
    package var fileName: String? { text("filename") }

    /// - Parameter bytes: the header lines, each with its line break except the last.
    /// - Throws: `RecordError` BAD_REQUEST for a malformed header line.
    fileprivate init(_ bytes: ArraySlice<UInt8>) throws {
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
        self.disposition = disposition?.parameters ?? [:]
        transferEncoding = encoding
    }

    /// Browsers encode quotation marks as `%22`.
    private func text(_ parameter: String) -> String? {
        disposition[parameter]?.replacingBytes(of: "%22", with: "\"")
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
private struct ParameterizedHeader {
    private typealias Text = [(scalar: Unicode.Scalar, isQuoted: Bool)]

    let value: String
    /// The parameters, with lower-case names. If a name occurs twice, the first value counts.
    let parameters: [String: String]

    /// - Returns: `nil` if the header is empty or a quotation mark is not closed.
    init?(_ text: String) {
        var parts: [Text] = [[]]
        var isQuoted = false
        var isEscaped = false
        // The quotation marks after this place.
        var marks = text.unicodeScalars.count { $0 == "\"" }
        for (index, scalar) in zip(text.unicodeScalars.indices, text.unicodeScalars) {
            if scalar == "\"" { marks -= 1 }
            if isEscaped {
                isEscaped = false
                let next = text.unicodeScalars[index...].dropFirst().first { $0 != " " && $0 != "\t" }
                if scalar == "\"", next.map({ $0 == ";" && marks.isMultiple(of: 2) }) ?? true {
                    // The name ends in a backslash, which browsers do not escape, and the quotation mark closes it.
                    parts[parts.count - 1].append(("\\", true))
                    isQuoted = false
                    continue
                }
                // Browsers do not escape a backslash.
                if scalar != "\"", scalar != "\\" { parts[parts.count - 1].append(("\\", true)) }
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
            parts[parts.count - 1].append((scalar, isQuoted))
        }
        guard !isQuoted else { return nil }
        value = Self.trimmed(parts[0][...])
        let named = parts.dropFirst().compactMap { part -> (String, String)? in
            guard let sign = part.firstIndex(where: { $0.scalar == "=" }) else { return nil }
            return (Self.trimmed(part[..<sign]).lowercased(), Self.trimmed(part[(sign + 1)...]))
        }
        parameters = Dictionary(named, uniquingKeysWith: { first, _ in first })
        if value.isEmpty { return nil }
    }

    /// Without the white space around it that is not quoted.
    private static func trimmed(_ text: Text.SubSequence) -> String {
        let isText = { (element: Text.Element) in element.isQuoted || element.scalar != " " && element.scalar != "\t" }
        guard let start = text.firstIndex(where: isText), let end = text.lastIndex(where: isText) else { return "" }
        var view = String.UnicodeScalarView()
        view.append(contentsOf: text[start...end].lazy.map(\.scalar))
        return String(view)
    }
}
