import Accounts
import Crypto
import Foundation

/// Signs requests like clients with a server-to-server key, without the server's code.
struct Signer: Sendable {
    let key = P256.Signing.PrivateKey()
    var keyID = ""

    var publicKeyPEM: String { key.publicKey.pemRepresentation }

    /// The three headers.
    /// - Parameters:
    ///   - target: path and query exactly as in the request.
    ///   - date: the date of the signature.
    func headers(_ target: String, body: String = "", at date: Date = Date()) throws -> [String] {
        try headers(target, bytes: Array(body.utf8), at: date)
    }

    func headers(_ target: String, bytes: [UInt8], at date: Date = Date()) throws -> [String] {
        let formatter = ISO8601DateFormatter()
        let time = formatter.string(from: date)
        let hash = Data(SHA256.hash(data: bytes)).base64EncodedString()
        let signature = try key.signature(for: Data("\(time):\(hash):\(target)".utf8)).derRepresentation
            .base64EncodedString()
        return [
            "X-Apple-CloudKit-Request-KeyID: \(keyID)", "X-Apple-CloudKit-Request-ISO8601Date: \(time)",
            "X-Apple-CloudKit-Request-SignatureV1: \(signature)",
        ]
    }
}
