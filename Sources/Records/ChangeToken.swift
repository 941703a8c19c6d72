internal import Text

/// A client's position in a change feed, exactly as the server sent it. Opaque to everyone except the engine that issued it.
public struct ChangeToken: Sendable, Hashable {
    /// The token in requests and answers. Skylight's own are URL-safe base64 without padding, which needs no escaping in URLs, forms and shells.
    public let text: String

    /// A token as a client sent it.
    public init(text: String) {
        self.text = text
    }

    /// A token of our own, from an engine's bytes.
    public init(bytes: [UInt8]) {
        text = Base64.text(of: bytes, forURLs: true)
    }

    /// The bytes that the text stands for; empty if it is not base64, so that no engine of ours accepts it.
    public var bytes: [UInt8] { Base64.bytes(of: text.utf8) ?? [] }
}
