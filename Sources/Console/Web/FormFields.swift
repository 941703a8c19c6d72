internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
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

    /// A name and a password, of somebody whom the server does not know yet.
    package static let signIn = FormLimit(bytes: 16 << 10)
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
    func form(_ limit: FormLimit) async throws -> FormFields {
        let bytes = try await bodyBytes(limit: limit.bytes)
        let contentType = headers[.contentType]
        return try await WorkPool.prompt.run(on: bytes.count) { FormFields(bytes, contentType: contentType) }
    }
}

extension FormFields {
    /// Parses a URL-encoded or multipart form. Replaces invalid UTF-8.
    fileprivate init(_ bytes: [UInt8], contentType: String?) {
        guard let form = MultipartForm(bytes, contentType: contentType) else {
            self.init(encoded: bytes)
            return
        }
        self.init(form.parts.map { ($0.name, $0.text) })
    }
}

// MARK: - Multipart forms

/// The parts of a `multipart/form-data` form, the format in which browsers upload files.
package struct MultipartForm: Sendable {
    package struct Part: Sendable {
        package let name: String
        /// `nil` for a part that is not a file.
        package let fileName: String?
        package let bytes: [UInt8]

        /// Replaces invalid UTF-8.
        package var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// The maximum number of parts. Further parts are ignored.
    private static let partLimit = 64
    /// The number of bytes that are parsed, and kept twice, at a time.
    private static let pieceLength = 64 << 10

    package private(set) var parts: [Part] = []

    /// The parts that are not files.
    package var fields: FormFields { FormFields(parts.filter { $0.fileName == nil }.map { ($0.name, $0.text) }) }

    /// Parses the well-formed parts and ignores the rest.
    /// - Returns: `nil` for other kinds of forms.
    package init?(_ body: [UInt8], contentType: String?) {
        guard let boundary = try? MultipartBoundary(contentType: contentType) else { return nil }
        try? read(body, boundary)
    }

    private mutating func read(_ body: [UInt8], _ boundary: MultipartBoundary) throws {
        var parser = MultipartParser(boundary: boundary)
        var rest = body[...]
        var headers: MultipartHeaders?
        var bytes: [UInt8] = []
        // Counts the parts without a name too, which take as much work.
        var count = 0
        while count < Self.partLimit {
            switch try parser.next() {
            case .part(let next)?: (headers, bytes) = (next, [])
            case .content(let piece)?: bytes += piece.readableBytesView
            case .end?:
                count += 1
                guard let headers, let name = headers.name else { continue }
                parts.append(Part(name: name, fileName: headers.fileName, bytes: bytes))
            case nil:
                if rest.isEmpty { return }
                parser.take(ByteBuffer(bytes: rest.prefix(Self.pieceLength)))
                rest = rest.dropFirst(Self.pieceLength)
            }
        }
    }
}
