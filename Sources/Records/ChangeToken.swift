internal import Text

/// A client's position in a change feed. Opaque to everyone except the engine that issued it.
public struct ChangeToken: Sendable, Hashable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a token from a request. Invalid base64 also produces a token, which the engine will reject.
    public init(text: String) {
        bytes = Base64.bytes(of: text.utf8) ?? []
    }

    /// URL-safe base64 without padding, which needs no escaping in URLs, forms and shells.
    public var text: String { Base64.text(of: bytes, forURLs: true) }
}
