internal import Crypto
internal import Foundation
internal import Records

/// The value of `X-Apple-CloudKit-Request-SignatureV1`: the base64 of a signature in ASN.1 DER, or what clients send
/// instead.
struct SignatureText {
    /// A possible interpretation of the text as a signature.
    struct Reading {
        let signature: P256.Signing.ECDSASignature
        /// Description of an incorrect encoding; `nil` if it is correct.
        let form: String?
    }

    /// Writes a signature in the correct form.
    static let command = "openssl dgst -sha256 -sign eckey.pem | base64 -w0"

    /// Maximum length examined, in bytes.
    private static let limit = 1024

    private let text: String
    /// The decoded base64; `nil` if the text is not base64.
    private let bytes: [UInt8]?
    /// The correct interpretation first; empty if the text is not a signature in any known encoding.
    let readings: [Reading]

    init(_ text: String) {
        self.text = text
        let isShort = text.utf8.count <= Self.limit
        let bytes = isShort ? Base64.canonicalBytes(of: text) : nil
        self.bytes = bytes
        if let signature = bytes.flatMap(Self.signature) {
            readings = [Reading(signature: signature, form: nil)]
        } else {
            readings = isShort ? Self.decodings(text, bytes).flatMap(Self.readings) : []
        }
    }

    /// The signature, if it is encoded correctly.
    var signature: P256.Signing.ECDSASignature? {
        readings.first.flatMap { $0.form == nil ? $0.signature : nil }
    }

    /// The correct header value for a signature.
    static func text(of signature: P256.Signing.ECDSASignature) -> String {
        signature.derRepresentation.base64EncodedString()
    }

    /// Describes a text that is not a signature in any known encoding.
    var problem: SignatureProblem {
        SignatureProblem(
            bytes == nil ? .encoding : .form,
            bytes.map { "The signature is base64, but not an ECDSA signature: \(Self.guess($0))." }
                ?? "The signature is not base64: \(flaw).",
            expected: "base64 of an ASN.1 DER sequence of two integers: 70 to 72 bytes, MEQ… or MEU… or MEY…",
            received: String(text.prefix(200)),
            remedy:
                "Sign with ECDSA on P-256 with SHA-256, and send the signature as ASN.1 DER in base64, on one line: "
                + "\(Self.command).")
    }

    /// Why the text is not base64.
    private var flaw: String {
        if text.utf8.count > Self.limit { return "it has \(text.utf8.count) bytes" }
        guard let (index, byte) = text.utf8.enumerated().first(where: { !Self.isDigit($0.element) }) else {
            return "its end was cut off, or its padding with = is wrong"
        }
        let isVisible = byte > 0x20 && byte < 0x7F
        let character = isVisible ? "'\(Unicode.Scalar(byte))'" : "the byte 0x\(Hexadecimal.text(of: [byte]))"
        return "\(character) at position \(index + 1) is not base64"
    }

    /// Says why bytes are not a signature, such as their length.
    private static func guess(_ bytes: [UInt8]) -> String {
        let (count, start) = (bytes.count, Hexadecimal.text(of: bytes.prefix(4)))
        return switch count {
        case 0: "it is empty"
        case 20, 28, 32, 48: "it has \(count) bytes, the size of a hash or an HMAC"
        case 256, 384, 512: "it has \(count) bytes, the size of an RSA signature"
        case 64: "it has 64 bytes, but they are not r and s: one of them is out of range"
        case 96, 102...104: "it has \(count) bytes, the size of a P-384 signature"
        case 68...74 where bytes[0] == 0x30:
            "it has \(count) bytes that begin like one, \(start)…, but its lengths or numbers are wrong"
        default: "it has \(count) bytes that begin with \(start)"
        }
    }

    // MARK: Readings

    private static func signature(der: [UInt8]) -> P256.Signing.ECDSASignature? {
        // Bytes that are not a DER signature are examined in other ways.
        try? P256.Signing.ECDSASignature(derRepresentation: der)
    }

    /// The signatures that bytes may be.
    /// - Parameter form: description of the encoding of the bytes; `nil` if it is correct.
    private static func readings(_ bytes: [UInt8], _ form: String?) -> [Reading] {
        var found: [(P256.Signing.ECDSASignature?, String?)] = [(signature(der: bytes), nil)]
        if bytes.count == 64 {
            // Any 64 bytes can be parsed, so the range of both numbers is checked first.
            let (first, second) = (bytes[..<32], bytes[32...])
            guard isNumber(first), isNumber(second) else { return [] }
            found = [(first + second, "r and s"), (second + first, "s and r")].map { raw, order in
                // 64 bytes always parse as r and s. Verification is tried next.
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
                return (signature, "as the 64 bytes of \(order) and not as ASN.1 DER")
            }
        } else if found[0].0 == nil, bytes.count > 2, bytes[0] == 0x30, bytes[1] < 0x80 {
            // Bytes after the sequence, such as a line end that was encoded too.
            let end = Int(bytes[1]) + 2
            let more = "with \(bytes.count - end) more bytes behind the ASN.1 DER"
            found = [(signature(der: Array(bytes.prefix(end))), more)]
        }
        return found.compactMap { signature, own in
            let forms = [own, form].compactMap(\.self)
            guard let signature, !forms.isEmpty else { return nil }
            return Reading(signature: signature, form: forms.joined(separator: ", "))
        }
    }

    /// True if 32 bytes are a valid signature number: not zero, and less than the order of the curve's group.
    private static func isNumber(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.contains { $0 != 0 } && bytes.lexicographicallyPrecedes(order)
    }

    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// Possible decodings of the text, with a description of each encoding.
    private static func decodings(_ text: String, _ base64: [UInt8]?) -> [([UInt8], String?)] {
        let inner = base64.map { String(decoding: $0, as: UTF8.self).trimmingWhiteSpace }
        let decoded = PercentEncoding.decoded(text) ?? text
        let digits = String(decoding: text.utf8.filter(isDigit), as: UTF8.self)
        let isForURLs = text.utf8.contains { "-_".utf8.contains($0) }
        let length = text.utf8.count
        func bytes(_ text: String, if isTried: Bool) -> [UInt8]? {
            isTried ? Base64.bytes(of: text.utf8.prefix { $0 != UInt8(ascii: "=") }) : nil
        }
        let known: [([UInt8]?, String?)] = [
            (base64, nil),
            (inner.flatMap { Data(base64Encoded: $0) }.map { Array($0) }, "in base64 twice"),
            (inner.flatMap { Hexadecimal.bytes(of: $0.utf8) }, "in base64 of hexadecimal digits"),
            (Hexadecimal.bytes(of: text.utf8), "in hexadecimal digits and not in base64"),
            (bytes(text, if: isForURLs), "in base64 for URLs, with - and _ for + and /"),
            (bytes(text, if: !isForURLs && base64 == nil), "in base64 without its padding or with other padding"),
            (bytes(decoded, if: decoded.utf8.count != length), "percent-encoded, as in a URL"),
            (bytes(text.replacing(" ", with: "+"), if: text.utf8.contains(0x20)), "with spaces where + was"),
            (
                bytes(digits, if: digits.utf8.count != length && !isForURLs),
                "in base64 with quotation marks, spaces or line ends in it"
            ),
        ]
        return known.compactMap { bytes, form in bytes.map { ($0, form) } }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "=") || Base64.value(of: byte) != nil && !"-_".utf8.contains(byte)
    }
}
