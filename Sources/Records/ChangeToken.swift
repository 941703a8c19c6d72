internal import Foundation

/// 'I have everything up to here.' Opaque to everyone but the engine that made it.
public struct ChangeToken: Sendable, Hashable {
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a token as requests write it. What is not base64 still makes a token: the engine will refuse it.
    public init(text: String) {
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        bytes = Data(base64Encoded: base64).map { [UInt8]($0) } ?? []
    }

    /// Base64 in the URL-safe alphabet without padding, so that it survives URLs, forms and shells.
    public var text: String {
        Data(bytes).base64EncodedString()
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
