internal import Foundation

/// A client's position in a change feed. Opaque to everyone except the engine that issued it.
public struct ChangeToken: Sendable, Hashable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a token from a request. Invalid base64 also produces a token, which the engine will reject.
    public init(text: String) {
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        bytes = Data(base64Encoded: base64).map { [UInt8]($0) } ?? []
    }

    /// URL-safe base64 without padding, which needs no escaping in URLs, forms and shells.
    public var text: String {
        Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
