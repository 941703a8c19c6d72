internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

/// The fields of a query string or a submitted form, in their original order.
package struct FormFields: Sendable {
    package private(set) var pairs: [(name: String, value: String)]

    package init(_ pairs: [(name: String, value: String)] = []) {
        self.pairs = pairs.filter { $0.name != FormSecret.fieldName }
    }

    /// Parses `application/x-www-form-urlencoded` text. Replaces invalid UTF-8 and never fails.
    /// Drops the ``FormSecret``, which was checked before and must not get into an address.
    package init(encoded text: some Collection<UInt8>) {
        pairs = Self.pairs(text).filter { $0.name != FormSecret.fieldName }
    }

    /// The ``FormSecret`` in URL-encoded text.
    static func secret(encoded text: some Collection<UInt8>) -> String? {
        pairs(text).first { $0.name == FormSecret.fieldName }?.value
    }

    private static func pairs(_ text: some Collection<UInt8>) -> [(name: String, value: String)] {
        text.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    /// The first value with a name.
    package subscript(name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    /// The first value with a name; `nil` if it is empty.
    package func text(_ name: String) -> String? {
        self[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A whole number, which an address may say to be any: one beyond the range is the nearest in it.
    /// - Returns: `nil` without the field, and for a text that is no whole number of the type.
    package func number<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) -> Number? {
        self[name]?.number(in: range)
    }

    /// The other fields.
    func without(_ name: String) -> FormFields { FormFields(pairs.filter { $0.name != name }) }

    package func all(_ name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }

    private static func decoded(_ text: some Collection<UInt8>) -> String {
        String(decoding: PercentEncoding.bytes(of: text, plusIsSpace: true).bytes, as: UTF8.self)
    }
}

extension String {
    /// As ``FormFields/number(_:in:)``.
    package func number<Number: FixedWidthInteger>(in range: ClosedRange<Number>) -> Number? {
        Number(self).map { min(max($0, range.lowerBound), range.upperBound) }
    }

    /// The nonempty lines of a form field. Browsers end lines with CR LF. Other line separators may be part of names.
    package var formLines: [String] {
        unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map { String($0) }
    }
}

extension FormFields {
    /// A path with a query string.
    package static func url(_ path: String, _ parameters: [(name: String, value: String)]) -> String {
        if parameters.isEmpty { return path }
        return path + "?"
            + parameters.map { "\(PercentEncoding.encoded($0.name))=\(PercentEncoding.encoded($0.value))" }.joined(
                separator: "&")
    }
}

extension Request {
    /// The parameters of the query string.
    package var queryFields: FormFields {
        FormFields(encoded: (uri.query ?? "").utf8)
    }
}

// MARK: - Forms of requests

/// What a form carries, which bounds its body. No form has a limit by default: one that carries a record and has the
/// limit of one that does not loses what somebody typed.
package struct FormLimit: Sendable {
    /// The largest body of the form, as it is sent.
    package let bytes: Int

    /// A few names, such as those of a user and a container.
    package static let names = FormLimit(bytes: 64 << 10)
    /// Ticks, choices and short texts. Of records, names alone: 200 with zones, each of the greatest length.
    package static let choices = FormLimit(bytes: 1 << 20)
    /// A file, and a few short texts beside it.
    package static let file = FormLimit(bytes: Console.largestForm)

    /// The fields of a record of the largest size, so many times.
    package static func record(times: Int) -> FormLimit { texts(of: times * BatchModifier.recordSizeLimit) }

    /// Texts that have so many bytes before percent-encoding, which triples them at most. A line end counts as two, as
    /// in JSON.
    package static func texts(of size: Int) -> FormLimit { FormLimit(bytes: 3 * size + choices.bytes) }
}

extension Request {
    /// The fields of the submitted form, URL-encoded or multipart.
    /// - Throws: the errors of `bodyBytes`, and `RecordError` TRY_AGAIN_LATER for a large form if the server is
    ///   overloaded.
    package func form(_ limit: FormLimit) async throws -> FormFields {
        let bytes = try await bodyBytes(limit: limit.bytes)
        let contentType = headers[.contentType]
        return try await WorkPool.prompt.run(on: bytes.count) { FormFields(bytes, contentType: contentType) }
    }
}

extension FormFields {
    /// Parses a URL-encoded or multipart form. Replaces invalid UTF-8.
    fileprivate init(_ bytes: [UInt8], contentType: String?) {
        guard let boundary = MultipartForm.boundary(in: contentType) else {
            self.init(encoded: bytes)
            return
        }
        self.init(
            MultipartForm(bytes, boundary: boundary).parts.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })
    }
}

// MARK: - Multipart forms

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
        let boundary =
            value.hasPrefix("\"") && value.hasSuffix("\"") && value.utf8.count > 1
            ? value.dropFirst().dropLast() : value
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
            guard body[start...].starts(with: lineEnd), let end = Self.index(of: lineEnd + mark, in: body, from: start)
            else { break }
            if let part = Part(body[(start + lineEnd.count)..<max(end, start + lineEnd.count)]) { parts.append(part) }
            position = end + lineEnd.count + mark.count
        }
        self.parts = parts
    }

    /// The first index of some bytes. Runs in linear time for any input (Knuth-Morris-Pratt algorithm).
    private static func index(of mark: [UInt8], in body: [UInt8], from start: Int) -> Int? {
        // The failure function: the length of the longest proper prefix that is also a suffix, for each prefix of the
        // mark.
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
        guard
            let range = bytes.firstRange(of: Array("; \(name)=\"".utf8))
                ?? bytes.firstRange(of: Array(";\(name)=\"".utf8)),
            let end = bytes[range.upperBound...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(decoding: bytes[range.upperBound..<end], as: UTF8.self).replacingBytes(of: "%22", with: "\"")
    }
}
