internal import Text

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
        return path + "?" + parameters.map { "\(PercentEncoding.encoded($0.name))=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
    }
}
