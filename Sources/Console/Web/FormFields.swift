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

    package func all(_ name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }

    private static func decoded(_ text: some Collection<UInt8>) -> String {
        let text = Array(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                if index + 2 < text.count, let high = digit(text[index + 1]), let low = digit(text[index + 2]) {
                    bytes.append(high << 4 | low)
                    index += 2
                } else {
                    bytes.append(text[index])
                }
            default: bytes.append(text[index])
            }
            index += 1
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// The nonempty lines of a form field. Browsers end lines with CR LF. Other line separators may be part of names.
    package var formLines: [String] {
        unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map { String($0) }
    }
}

extension FormFields {
    /// Percent-encodes everything except letters, digits and `-._~`, so that the text is safe anywhere in a URL.
    package static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A path with a query string.
    package static func url(_ path: String, _ parameters: [(name: String, value: String)]) -> String {
        if parameters.isEmpty { return path }
        return path + "?" + parameters.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }
}
