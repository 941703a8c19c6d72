internal import Crypto
internal import Foundation
internal import Text

/// A way of signing a request: the parts of the message, their layout, and the hash.
struct SignedForm {
    /// The way in which the three parts form a message.
    struct Layout: Hashable {
        /// 0 is the date, 1 the body hash, 2 the target.
        var order = [0, 1, 2]
        var separator = ":"
        var start = ""
        var end = ""
    }

    /// The form of the message that was signed.
    enum Digest: Hashable {
        case sha256, sha1, sha384, sha512, sha256Twice, hexadecimal, base64
    }

    /// One deviation from the correct form.
    enum Change: Hashable {
        case date(String)
        case bodyHash(String)
        case target(String)
        case layout(Layout)
        case digest(Digest)
        /// Another registered key, by index.
        case key(Int)

        var kind: SignatureProblem.Kind {
            switch self {
            case .date: .signedDate
            case .bodyHash: .body
            case .target: .target
            case .layout, .digest: .form
            case .key: .key
            }
        }
    }

    var date: String
    var bodyHash: String
    var target: String
    var layout = Layout()
    var digest = Digest.sha256
    var key: Int?

    func changed(by change: Change) -> SignedForm {
        var form = self
        switch change {
        case .date(let date): form.date = date
        case .bodyHash(let hash): form.bodyHash = hash
        case .target(let target): form.target = target
        case .layout(let layout): form.layout = layout
        case .digest(let digest): form.digest = digest
        case .key(let key): form.key = key
        }
        return form
    }

    var message: String {
        let parts = [date, bodyHash, target]
        return layout.start + layout.order.map { parts[$0] }.joined(separator: layout.separator) + layout.end
    }

    /// True if the signature matches this form.
    func isSigned(_ signature: P256.Signing.ECDSASignature, by key: P256.Signing.PublicKey) -> Bool {
        let message = Array(self.message.utf8)
        return switch digest {
        case .sha256: key.isValidSignature(signature, for: message)
        case .sha1: key.isValidSignature(signature, for: Insecure.SHA1.hash(data: message))
        case .sha384: key.isValidSignature(signature, for: SHA384.hash(data: message))
        case .sha512: key.isValidSignature(signature, for: SHA512.hash(data: message))
        case .sha256Twice: key.isValidSignature(signature, for: Array(SHA256.hash(data: message)))
        case .hexadecimal: key.isValidSignature(signature, for: Array(Hexadecimal.text(of: SHA256.hash(data: message)).utf8))
        case .base64: key.isValidSignature(signature, for: Array(Data(SHA256.hash(data: message)).base64EncodedString().utf8))
        }
    }
}
