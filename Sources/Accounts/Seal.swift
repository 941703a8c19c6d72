internal import Crypto

/// Appends a keyed checksum (HMAC) to bytes, so that only this server can have created them. The bytes are readable
/// by anyone.
struct Seal: Sendable {
    /// The kind of content. Each purpose has its own key, so that one can't be used as another.
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

    /// The sealed content; `nil` if the checksum is wrong.
    func opened(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= Self.checksumCount else { return nil }
        let content = bytes.dropLast(Self.checksumCount)
        // Takes constant time, whichever byte differs.
        guard HMAC<SHA256>.isValidAuthenticationCode(bytes.suffix(Self.checksumCount), authenticating: content, using: key) else { return nil }
        return Array(content)
    }
}
