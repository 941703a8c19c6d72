internal import HTTPTypes
internal import Records

/// The boundary between the parts of a body, from its Content-Type header.
struct MultipartBoundary: Equatable {
    /// The maximum length in bytes. RFC 2046 allows 1 to 70.
    private static let limit = 70

    let bytes: [UInt8]

    /// - Returns: `nil` if the body is not `multipart/form-data`.
    /// - Throws: `RecordError` BAD_REQUEST if the boundary is missing or invalid.
    init?(contentType: String?) throws {
        guard let contentType, let header = ParameterizedHeader(contentType), header.value.lowercased() == "multipart/form-data" else { return nil }
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
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
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
                throw RecordError(.badRequest, "The multipart/form-data body has a part with an invalid header line: '\(shown)'")
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
                .badRequest, "The file of the multipart/form-data body is in the transfer encoding '\(encoding.prefix(80))'; send its bytes unencoded")
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
