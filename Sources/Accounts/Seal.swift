internal import Crypto
internal import Foundation

/// Writes a few values down so that only this server can have written them: bytes, and a keyed checksum behind them. Anybody can read them.
struct Seal: Sendable {
    /// What is sealed. Each has a key of its own, so that one never passes for another.
    enum Purpose: String {
        case webAuthToken = "web auth token"
        case signInTicket = "sign-in ticket"
    }

    private static let checksumCount = 32
    private let key: SymmetricKey

    init(_ secret: [UInt8], for purpose: Purpose) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Array("skylight \(purpose.rawValue)".utf8), outputByteCount: 32)
    }

    func sealed(_ content: [UInt8]) -> [UInt8] {
        content + HMAC<SHA256>.authenticationCode(for: content, using: key)
    }

    /// What was sealed; `nil` when the bytes were not made with the key, or changed since.
    func opened(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= Self.checksumCount else { return nil }
        let content = bytes.dropLast(Self.checksumCount)
        // Takes the same time whichever byte differs.
        guard HMAC<SHA256>.isValidAuthenticationCode(bytes.suffix(Self.checksumCount), authenticating: content, using: key) else { return nil }
        return Array(content)
    }
}

extension Data {
    /// Bytes in base64 as it is written, and in no other way: without line ends, with padding, and with the unused bits at zero.
    init?(strictBase64 text: String) {
        guard let data = Data(base64Encoded: text), data.base64EncodedString().utf8.elementsEqual(text.utf8) else { return nil }
        self = data
    }
}
