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

    /// Maximum length examined, in bytes.
    private static let limit = 1024

    let text: String
    /// The correct interpretation first; empty if the text is not a signature in any known encoding.
    let readings: [Reading]
    /// The decoded base64; `nil` if the text is not base64.
    private let bytes: [UInt8]?

    init(_ text: String) {
        self.text = text
        guard text.utf8.count <= Self.limit else {
            (bytes, readings) = (nil, [])
            return
        }
        let bytes = Base64.canonicalBytes(of: text)
        self.bytes = bytes
        if let bytes, let signature = Self.signature(der: bytes) {
            readings = [Reading(signature: signature, form: nil)]
        } else {
            readings = Self.decodings(text, bytes).flatMap { bytes, form in Self.readings(bytes, form) }
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
        let expected = "base64 of an ASN.1 DER sequence of two integers: 70 to 72 bytes, MEQ… or MEU… or MEY…"
        let remedy =
            "Sign with ECDSA on P-256 with SHA-256, and send the signature as ASN.1 DER in base64, on one line: "
            + "openssl dgst -sha256 -sign eckey.pem | base64 -w0."
        let shown = String(text.prefix(200))
        guard let bytes else {
            let reason: String
            if text.utf8.count > Self.limit {
                reason = "it has \(text.utf8.count) bytes"
            } else if let index = text.utf8.enumerated().first(where: { !Self.isDigit($0.element) }) {
                let byte = index.element
                let character =
                    byte > 0x20 && byte < 0x7F
                    ? "'\(Unicode.Scalar(byte))'" : "the byte 0x\(Hexadecimal.text(of: [byte]))"
                reason = "\(character) at position \(index.offset + 1) is not base64"
            } else {
                reason = "its end was cut off, or its padding with = is wrong"
            }
            return SignatureProblem(
                .encoding, "The signature is not base64: \(reason).", expected: expected, received: shown,
                remedy: remedy)
        }
        let start = Hexadecimal.text(of: bytes.prefix(4))
        let guess =
            switch bytes.count {
            case 0: "it is empty"
            case 20, 28, 32, 48: "it has \(bytes.count) bytes, the size of a hash or an HMAC"
            case 256, 384, 512: "it has \(bytes.count) bytes, the size of an RSA signature"
            case 64: "it has 64 bytes, but they are not r and s: one of them is out of range"
            case 96, 102...104: "it has \(bytes.count) bytes, the size of a P-384 signature"
            case 68...74 where bytes[0] == 0x30:
                "it has \(bytes.count) bytes that begin like one, \(start)…, but its lengths or numbers are wrong"
            default: "it has \(bytes.count) bytes that begin with \(start)"
            }
        return SignatureProblem(
            .form, "The signature is base64, but not an ECDSA signature: \(guess).", expected: expected,
            received: shown, remedy: remedy)
    }

    // MARK: Readings

    private static func signature(der: [UInt8]) -> P256.Signing.ECDSASignature? {
        // Bytes that are not a DER signature are examined in other ways.
        try? P256.Signing.ECDSASignature(derRepresentation: der)
    }

    private static func readings(_ bytes: [UInt8], _ form: String?) -> [Reading] {
        func reading(_ signature: P256.Signing.ECDSASignature?, _ own: String?) -> [Reading] {
            let forms = [own, form].compactMap(\.self)
            guard let signature, !forms.isEmpty else { return [] }
            return [Reading(signature: signature, form: forms.joined(separator: ", "))]
        }
        if bytes.count == 64 {
            // Any 64 bytes can be parsed, so the range of both numbers is checked first.
            guard isNumber(bytes[..<32]), isNumber(bytes[32...]) else { return [] }
            let swapped = Array(bytes[32...] + bytes[..<32])
            // 64 bytes always parse as r and s. Verification is tried next.
            return reading(
                try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
                "as the 64 bytes of r and s and not as ASN.1 DER")
                + reading(
                    try? P256.Signing.ECDSASignature(rawRepresentation: swapped),
                    "as the 64 bytes of s and r and not as ASN.1 DER")
        }
        if let signature = signature(der: bytes) { return reading(signature, nil) }
        // Bytes after the sequence, such as a line end that was encoded too.
        if bytes.count > 2, bytes[0] == 0x30, bytes[1] < 0x80, bytes.count > Int(bytes[1]) + 2 {
            let end = Int(bytes[1]) + 2
            return reading(
                signature(der: Array(bytes[..<end])), "with \(bytes.count - end) more bytes behind the ASN.1 DER")
        }
        return []
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
        var decodings: [([UInt8], String?)] = []
        if let base64 {
            decodings.append((base64, nil))
            let inner = String(decoding: base64, as: UTF8.self).trimmingWhiteSpace
            if let bytes = Data(base64Encoded: inner) { decodings.append((Array(bytes), "in base64 twice")) }
            if let bytes = Hexadecimal.bytes(of: inner.utf8), !bytes.isEmpty {
                decodings.append((bytes, "in base64 of hexadecimal digits"))
            }
        }
        if let bytes = Hexadecimal.bytes(of: text.utf8) {
            decodings.append((bytes, "in hexadecimal digits and not in base64"))
        }
        let isURLForm = text.utf8.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        if isURLForm, let bytes = padded(standard) {
            decodings.append((bytes, "in base64 for URLs, with - and _ for + and /"))
        }
        if !isURLForm, base64 == nil, let bytes = padded(text) {
            decodings.append((bytes, "in base64 without its padding or with other padding"))
        }
        if let decoded = PercentEncoding.decoded(text), decoded.utf8.count != text.utf8.count,
            let bytes = padded(decoded)
        {
            decodings.append((bytes, "percent-encoded, as in a URL"))
        }
        if text.utf8.contains(where: { $0 == 0x20 }), let bytes = padded(text.replacing(" ", with: "+")) {
            decodings.append((bytes, "with spaces where + was"))
        }
        let bare = String(text.unicodeScalars.filter { isDigit(UInt8(truncatingIfNeeded: $0.value)) && $0.isASCII })
        if bare.utf8.count != text.utf8.count, !isURLForm, let bytes = padded(bare) {
            decodings.append((bytes, "in base64 with quotation marks, spaces or line ends in it"))
        }
        return decodings
    }

    private static func padded(_ text: String) -> [UInt8]? {
        Base64.bytes(of: text.utf8.prefix { $0 != UInt8(ascii: "=") })
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}

// MARK: - Date

/// Checks the date of a signed request: its format and its distance from the server's time.
struct DateDiagnosis {
    private let date: String
    private let now: Date

    init(_ date: String, now: Date) {
        self.date = date
        self.now = now
    }

    /// `nil` if the date is correct.
    var problem: SignatureProblem? {
        let moment = now.timeIntervalSince1970
        let right = RequestSignature.date(of: Int64(moment.rounded(.down)))
        guard let signed = RequestSignature.moment(of: date) else {
            return SignatureProblem(
                .date, "The date is not of the form yyyy-MM-ddTHH:mm:ssZ: \(flaw).", expected: "such as \(right)",
                received: String(date.prefix(100)),
                remedy:
                    "Write the date in UTC, to the second, as in \(right): date -u +%Y-%m-%dT%H:%M:%SZ. Use the same text in the message."
            )
        }
        let distance = moment - Double(signed)
        guard abs(distance) > Double(RequestSignature.window) else { return nil }
        let way = distance > 0 ? "behind" : "ahead of"
        return SignatureProblem(
            .clock,
            "The date is \(Self.text(abs(distance))) \(way) this server's clock; \(RequestSignature.window / 60) minutes are allowed.",
            expected: "\(right), within \(RequestSignature.window / 60) minutes", received: date,
            remedy: remedy(abs(distance)))
    }

    private func remedy(_ distance: Double) -> String {
        let toHalfHours = abs(distance - (distance / 1800).rounded() * 1800)
        if distance < 15 * 3600, toHalfHours < 60 {
            return "It looks like local time with a Z at the end: write the date in UTC, date -u +%Y-%m-%dT%H:%M:%SZ."
        }
        return "Create a new date and signature for each request, and check the clocks of both machines."
    }

    /// Describes the error in the format.
    private var flaw: String {
        let bytes = Array(date.utf8)
        let digits = bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if digits, bytes.count == 10 || bytes.count == 13 {
            return "this is a number of \(bytes.count == 10 ? "seconds" : "milliseconds") since 1970"
        }
        if bytes.count > 25, bytes.first.map({ $0 >= UInt8(ascii: "A") }) == true {
            return "this is the form of the HTTP header Date"
        }
        if bytes.count > 20, bytes[19] == UInt8(ascii: "."), bytes.last == UInt8(ascii: "Z") {
            return "it has fractions of a second"
        }
        if bytes.count > 19, bytes[19] == UInt8(ascii: "+") || bytes[19] == UInt8(ascii: "-") {
            return "it has the offset of a time zone in place of Z"
        }
        if bytes.count == 19 { return "the Z is missing" }
        if bytes.count == 20, bytes[10] == 0x20 { return "there is a space instead of the T" }
        if bytes.count == 16 || bytes.count == 15 { return "it is written without - and :" }
        return bytes.count == 20
            ? "there is no such time, or a character is wrong" : "it has \(bytes.count) bytes, and should have 20"
    }

    /// `11 minutes`, `2 hours 5 minutes`, `3 days`.
    private static func text(_ seconds: Double) -> String {
        func count(_ number: Int, _ unit: String) -> String { "\(number) \(unit)\(number == 1 ? "" : "s")" }
        let minutes = Int((min(seconds, 1e12) / 60).rounded(.down))
        if minutes >= 2 * 1440 { return count(minutes / 1440, "day") }
        if minutes < 60 { return count(minutes, "minute") }
        let rest = minutes % 60
        return count(minutes / 60, "hour") + (rest == 0 ? "" : " \(count(rest, "minute"))")
    }
}
