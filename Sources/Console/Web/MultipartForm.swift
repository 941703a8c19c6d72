internal import Text

/// The parts of a `multipart/form-data` form (RFC 7578), the format in which browsers upload files.
package struct MultipartForm: Sendable {
    package struct Part: Sendable {
        package let name: String
        /// `nil` for a part that is not a file.
        package let fileName: String?
        package let bytes: [UInt8]
    }

    /// The maximum number of parts. Further parts are ignored.
    static let partLimit = 64

    package let parts: [Part]

    /// The boundary from the header Content-Type; `nil` for other kinds of forms.
    package static func boundary(in contentType: String?) -> String? {
        guard let contentType else { return nil }
        let pieces = contentType.split(separator: ";").map { $0.trimmingSpaces }
        guard pieces.first?.lowercased() == "multipart/form-data",
            let piece = pieces.dropFirst().first(where: { $0.lowercased().hasPrefix("boundary=") })
        else { return nil }
        let value = piece.dropFirst("boundary=".count)
        let boundary = value.hasPrefix("\"") && value.hasSuffix("\"") && value.utf8.count > 1 ? value.dropFirst().dropLast() : value
        // RFC 2046 limits boundaries to 70 bytes.
        return (1...70).contains(boundary.utf8.count) ? String(boundary) : nil
    }

    /// Parses the well-formed parts and ignores the rest.
    package init(_ body: [UInt8], boundary: String) {
        let mark = Array("--\(boundary)".utf8)
        let lineEnd = Array("\r\n".utf8)
        var parts: [Part] = []
        var position = Self.index(of: mark, in: body, from: 0).map { $0 + mark.count }
        while let start = position, parts.count < Self.partLimit {
            // The last boundary ends with two hyphens.
            guard body[start...].starts(with: lineEnd), let end = Self.index(of: lineEnd + mark, in: body, from: start) else { break }
            if let part = Part(body[(start + lineEnd.count)..<max(end, start + lineEnd.count)]) { parts.append(part) }
            position = end + lineEnd.count + mark.count
        }
        self.parts = parts
    }

    /// The first index of some bytes. Runs in linear time for any input (Knuth-Morris-Pratt algorithm).
    private static func index(of mark: [UInt8], in body: [UInt8], from start: Int) -> Int? {
        // The failure function: the length of the longest proper prefix that is also a suffix, for each prefix of the mark.
        var shorter = [0]
        var fitting = 0
        for byte in mark.dropFirst() {
            while fitting > 0, mark[fitting] != byte { fitting = shorter[fitting - 1] }
            if mark[fitting] == byte { fitting += 1 }
            shorter.append(fitting)
        }
        fitting = 0
        var position = start
        while position < body.count {
            let byte = body[position]
            while fitting > 0, mark[fitting] != byte { fitting = shorter[fitting - 1] }
            if mark[fitting] == byte { fitting += 1 }
            position += 1
            if fitting == mark.count { return position - fitting }
        }
        return nil
    }
}

extension MultipartForm.Part {
    /// - Parameter text: headers, an empty line, content.
    fileprivate init?(_ text: ArraySlice<UInt8>) {
        let bytes = Array(text)
        var headers: [String] = []
        var position = 0
        while true {
            guard let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            var line = bytes[position..<end]
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            position = end + 1
            if line.isEmpty { break }
            headers.append(String(decoding: line, as: UTF8.self))
        }
        guard let disposition = headers.first(where: { $0.lowercased().hasPrefix("content-disposition:") }),
            let name = Self.parameter("name", of: disposition)
        else { return nil }
        self.name = name
        fileName = Self.parameter("filename", of: disposition)
        self.bytes = Array(bytes[position...])
    }

    /// A quoted parameter. Browsers encode quotation marks in it as `%22`.
    private static func parameter(_ name: String, of header: String) -> String? {
        let bytes = Array(header.utf8)
        guard let range = bytes.firstRange(of: Array("; \(name)=\"".utf8)) ?? bytes.firstRange(of: Array(";\(name)=\"".utf8)),
            let end = bytes[range.upperBound...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(decoding: bytes[range.upperBound..<end], as: UTF8.self).replacingBytes(of: "%22", with: "\"")
    }
}
