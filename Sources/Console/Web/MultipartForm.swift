internal import JSON

/// The parts of a form that was sent as `multipart/form-data` (RFC 7578), which is how browsers send files.
struct MultipartForm: Sendable {
    struct Part: Sendable {
        let name: String
        /// `nil` for a part that is no file.
        let fileName: String?
        let bytes: [UInt8]
    }

    /// Parts that are read; what comes after is left out.
    static let partLimit = 64

    let parts: [Part]

    /// What separates the parts, from the header Content-Type; `nil` when the form is of another kind.
    static func boundary(in contentType: String?) -> String? {
        guard let contentType else { return nil }
        let pieces = contentType.split(separator: ";").map { $0.trimmingSpaces }
        guard pieces.first?.lowercased() == "multipart/form-data",
            let piece = pieces.dropFirst().first(where: { $0.lowercased().hasPrefix("boundary=") })
        else { return nil }
        let value = piece.dropFirst("boundary=".count)
        let boundary = value.hasPrefix("\"") && value.hasSuffix("\"") && value.utf8.count > 1 ? value.dropFirst().dropLast() : value
        // Longer ones are no boundaries (RFC 2046).
        return (1...70).contains(boundary.utf8.count) ? String(boundary) : nil
    }

    /// Reads what is well formed; the rest is left out.
    init(_ body: [UInt8], boundary: String) {
        let mark = Array("--\(boundary)".utf8)
        let lineEnd = Array("\r\n".utf8)
        var parts: [Part] = []
        var position = Self.index(of: mark, in: body, from: 0).map { $0 + mark.count }
        while let start = position, parts.count < Self.partLimit {
            // Two hyphens behind the mark: the end.
            guard body[start...].starts(with: lineEnd), let end = Self.index(of: lineEnd + mark, in: body, from: start) else { break }
            if let part = Part(body[(start + lineEnd.count)..<max(end, start + lineEnd.count)]) { parts.append(part) }
            position = end + lineEnd.count + mark.count
        }
        self.parts = parts
    }

    /// Where some bytes begin. Each byte of the body is looked at once, however much of it looks like a beginning (Knuth, Morris and Pratt).
    private static func index(of mark: [UInt8], in body: [UInt8], from start: Int) -> Int? {
        // How much of the mark's beginning still fits when the byte behind so many that fitted does not.
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

    /// A quoted parameter; browsers write quotation marks within as `%22`.
    private static func parameter(_ name: String, of header: String) -> String? {
        let bytes = Array(header.utf8)
        guard let range = bytes.firstRange(of: Array("; \(name)=\"".utf8)) ?? bytes.firstRange(of: Array(";\(name)=\"".utf8)),
            let end = bytes[range.upperBound...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(decoding: bytes[range.upperBound..<end], as: UTF8.self).replacingBytes(of: "%22", with: "\"")
    }
}
