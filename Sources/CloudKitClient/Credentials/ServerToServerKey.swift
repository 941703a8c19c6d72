internal import Crypto
public import Foundation

/// A server-to-server key: a private ECDSA key on the curve P-256, and the id that CloudKit gave its public half.
///
/// Such a key reaches the public database of one container and environment.
public struct ServerToServerKey: Sendable, CustomStringConvertible, CustomReflectable {
    public let keyID: String
    private let key: P256.Signing.PrivateKey

    public var description: String { "the server-to-server key \(keyID)" }
    public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }

    /// - Parameters:
    ///   - keyID: as the page Tokens & Keys of CloudKit's console shows it.
    ///   - pem: the key in PEM, as `openssl ecparam -name prime256v1 -genkey` and PKCS#8 tools write it. Other blocks before and after it are skipped.
    /// - Throws: ``UnusableKey``, which does not contain the text.
    public init(keyID: String, pem: String) throws(UnusableKey) {
        let keyID = keyID.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !keyID.isEmpty, keyID.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw UnusableKey("The key id is empty, or is none") }
        self.keyID = keyID
        let pem = pem.replacingOccurrences(of: "\r\n", with: "\n")
        if pem.contains("-----BEGIN ENCRYPTED PRIVATE KEY") || pem.contains("Proc-Type: 4,ENCRYPTED") {
            throw UnusableKey("The key is locked with a password; write it without one: openssl ec -in locked.pem -out key.pem")
        }
        guard let block = ["EC PRIVATE KEY", "PRIVATE KEY"].lazy.compactMap({ Self.block($0, in: pem) }).first else {
            let isPublic = pem.contains("-----BEGIN PUBLIC KEY")
            throw UnusableKey(isPublic ? "This is the public half; the private key signs" : "There is no private key in PEM")
        }
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: block)
        } catch {
            throw UnusableKey("The private key is damaged, or is not on the curve P-256 (prime256v1)")
        }
    }

    private static func block(_ label: String, in pem: String) -> String? {
        guard let start = pem.range(of: "-----BEGIN \(label)-----"),
            let end = pem.range(of: "-----END \(label)-----", range: start.upperBound..<pem.endIndex)
        else { return nil }
        return String(pem[start.lowerBound..<end.upperBound]) + "\n"
    }

    /// Signs a request.
    /// - Parameters:
    ///   - target: path and query exactly as they are sent.
    ///   - body: empty for a request without a body.
    ///   - date: the time of the request. CloudKit accepts ten minutes more or less.
    /// - Throws: an error of the cryptography library.
    public func signature(target: String, body: [UInt8], at date: Date) throws -> RequestSigning {
        let text = SigningText(date: date.formatted(Date.ISO8601FormatStyle()), body: body, target: target)
        let signature = try key.signature(for: Array(text.description.utf8))
        return RequestSigning(keyID: keyID, text: text, signature: signature.derRepresentation.base64EncodedString())
    }
}

/// The reason why a text is no server-to-server key.
public struct UnusableKey: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The text that a signature covers: `{date}:{base64 of the SHA-256 of the body}:{path with its query}`.
///
/// Every mistake in it gets the same answer from CloudKit, AUTHENTICATION_FAILED. Show it where signing fails.
public struct SigningText: Sendable, Hashable, CustomStringConvertible {
    /// `yyyy-MM-ddTHH:mm:ssZ`
    public let date: String
    public let bodyHash: String
    public let target: String

    init(date: String, body: [UInt8], target: String) {
        self.date = date
        bodyHash = Data(SHA256.hash(data: body)).base64EncodedString()
        self.target = target
    }

    /// Exactly the signed text.
    public var description: String { "\(date):\(bodyHash):\(target)" }
}

/// A signature and its request headers.
public struct RequestSigning: Sendable, Hashable {
    public let keyID: String
    public let text: SigningText
    /// ASN.1 DER in base64.
    public let signature: String

    public var headers: [(name: String, value: String)] {
        [
            ("X-Apple-CloudKit-Request-KeyID", keyID), ("X-Apple-CloudKit-Request-ISO8601Date", text.date),
            ("X-Apple-CloudKit-Request-SignatureV1", signature),
        ]
    }
}
