/// The fields of a query string or of a sent form, in the order in which they were written.
struct FormFields: Sendable {
    private(set) var pairs: [(name: String, value: String)]

    init(_ pairs: [(name: String, value: String)] = []) {
        self.pairs = pairs.filter { $0.name != FormSecret.fieldName }
    }

    /// Reads `application/x-www-form-urlencoded` text. What is not UTF-8 is replaced, nothing is refused. The ``FormSecret`` is left out: it was
    /// looked at before, and must not get into an address.
    init(encoded text: some Collection<UInt8>) {
        pairs = Self.pairs(text).filter { $0.name != FormSecret.fieldName }
    }

    /// The ``FormSecret`` in encoded text.
    static func secret(encoded text: some Collection<UInt8>) -> String? {
        pairs(text).first { $0.name == FormSecret.fieldName }?.value
    }

    private static func pairs(_ text: some Collection<UInt8>) -> [(name: String, value: String)] {
        text.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    /// The first value of a name.
    subscript(name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    /// The first value of a name, `nil` when it is empty too.
    func text(_ name: String) -> String? {
        self[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func all(_ name: String) -> [String] {
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
    /// The lines of a form's field that have something in them. Browsers end them with CR LF; other marks that end lines belong to names.
    var formLines: [String] {
        unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map { String($0) }
    }
}

extension FormFields {
    /// Text that is safe anywhere in a URL: all but letters, digits and `-._~` is percent-encoded.
    static func encoded(_ text: String) -> String {
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
    static func url(_ path: String, _ parameters: [(name: String, value: String)]) -> String {
        if parameters.isEmpty { return path }
        return path + "?" + parameters.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }
}
