internal import Crypto
internal import Foundation
internal import Records
internal import Text

/// Parses the text of a public key.
enum PublicKeyText {
    private static let limit = 16_384
    private static let howTo =
        "create a key pair with 'openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem' and register the output of 'openssl ec -in eckey.pem -pubout'"

    /// - Throws: `RecordError` BAD_REQUEST with a description of the text if it is not a public P-256 key in PEM.
    static func key(_ text: String) throws -> P256.Signing.PublicKey {
        let text = text.replacing("\r\n", with: "\n").trimmingWhiteSpace
        guard !text.isEmpty else { throw RecordError(.badRequest, "The key is empty: \(howTo)") }
        guard text.utf8.count <= limit else { throw RecordError(.badRequest, "The key is longer than \(limit) bytes, so it is not a P-256 key: \(howTo)") }
        guard let label = label(of: text) else {
            throw RecordError(.badRequest, "The key is not PEM: it doesn't contain '-----BEGIN PUBLIC KEY-----' and its end; \(howTo)")
        }
        if label.hasSuffix("PRIVATE KEY") {
            throw RecordError(
                .badRequest,
                "This is the private key; keep it secret. Register the public key, which 'openssl ec -in eckey.pem -pubout' prints")
        }
        switch label {
        case "PUBLIC KEY": break
        case "EC PARAMETERS":
            throw RecordError(
                .badRequest, "This is the name of a curve, not a key: remove 'BEGIN EC PARAMETERS', and register the output of 'openssl ec -in eckey.pem -pubout'")
        case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE":
            throw RecordError(.badRequest, "This is a certificate: register only its key, which 'openssl x509 -in certificate.pem -pubkey -noout' prints")
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
            throw RecordError(.badRequest, "This is a certificate request: register only its key, which 'openssl req -in request.pem -pubkey -noout' prints")
        case "RSA PUBLIC KEY": throw RecordError(.badRequest, "This is an RSA key, and requests are signed with P-256: \(howTo)")
        default: throw RecordError(.badRequest, "'BEGIN \(label.prefix(40))' is not a public key: \(howTo)")
        }
        // The cause of a failure is determined below, with a better message.
        if let key = try? P256.Signing.PublicKey(pemRepresentation: block(of: text, label)) { return key }
        throw RecordError(.badRequest, "\(reason(text, label)): \(howTo)")
    }

    /// The label after the first `BEGIN` that has a matching end.
    private static func label(of text: String) -> String? {
        guard let start = text.range(of: "-----BEGIN "), let end = text[start.upperBound...].range(of: "-----") else { return nil }
        let label = String(text[start.upperBound..<end.lowerBound])
        // A private key may follow the curve's parameters.
        if label == "EC PARAMETERS", text.contains("PRIVATE KEY-----") { return "EC PRIVATE KEY" }
        return text.contains("-----END \(label)-----") ? label : nil
    }

    /// The PEM block without surrounding text.
    private static func block(of text: String, _ label: String) -> String {
        guard let start = text.range(of: "-----BEGIN \(label)-----"), let end = text.range(of: "-----END \(label)-----") else { return text }
        return start.lowerBound < end.upperBound ? String(text[start.lowerBound..<end.upperBound]) : text
    }

    /// The reason why a `PUBLIC KEY` block is not a P-256 key.
    private static func reason(_ text: String, _ label: String) -> String {
        let block = block(of: text, label)
        // Trying other curves shows which curve the key uses.
        if (try? P384.Signing.PublicKey(pemRepresentation: block)) != nil { return "This key uses the curve P-384, but requests are signed with P-256" }
        if (try? P521.Signing.PublicKey(pemRepresentation: block)) != nil { return "This key uses the curve P-521, but requests are signed with P-256" }
        let lines = block.split(separator: "\n").dropFirst().dropLast().joined()
        guard let data = Data(base64Encoded: lines.replacing(" ", with: "")) else { return "The content of the PEM is not base64" }
        for (bytes, name) in names where contains(Array(data), bytes) {
            return "This key is \(name), and requests are signed with P-256"
        }
        return "The PEM has no public key of the curve P-256 (prime256v1)"
    }

    /// Object identifiers of other kinds of keys.
    private static let names: [([UInt8], String)] = [
        ([0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01], "an RSA key"),
        ([0x06, 0x03, 0x2B, 0x65, 0x70], "an Ed25519 key"),
        ([0x06, 0x03, 0x2B, 0x65, 0x71], "an Ed448 key"),
        ([0x06, 0x03, 0x2B, 0x65, 0x6E], "an X25519 key"),
        ([0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A], "of the curve secp256k1"),
        ([0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x01], "a DSA key"),
    ]

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }
}
