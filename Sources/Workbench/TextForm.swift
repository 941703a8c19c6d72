internal import Text

/// A text encoding of bytes, as used by a server, a program or Xcode.
public enum TextForm: String, Sendable, Hashable, CaseIterable {
    /// Base64 with `+`, `/` and padding, as in JSON.
    case base64
    /// Base64 with `-` and `_`, without padding, as in Skylight's tokens.
    case base64URL
    /// Percent-encoded base64 from a URL or a form, with `%2B`, `%2F` and `%3D`.
    case percentEncoded
    /// Two hexadecimal digits per byte, without spaces.
    case hex
    /// `<62706c69 73743030>`: the format of Objective-C and older versions of Xcode.
    case dataDump
    /// `{length = 42, bytes = 0x62706c69…}`: the format of newer versions.
    case lengthDump
    /// A JSON member of a request or an answer.
    case json

    /// The name of the encoding for use in a sentence.
    public var title: String {
        switch self {
        case .base64: "base64"
        case .base64URL: "base64 for URLs"
        case .percentEncoded: "URL-encoded text"
        case .hex: "hexadecimal digits"
        case .dataDump: "Xcode's dump <…>"
        case .lengthDump: "Xcode's dump {length, bytes}"
        case .json: "JSON"
        }
    }

    /// Encodes all bytes. Unlike Xcode, it never truncates dumps.
    public func text(of bytes: [UInt8]) -> String {
        switch self {
        case .base64: Base64.text(of: bytes)
        case .base64URL: Base64.text(of: bytes, forURLs: true)
        case .percentEncoded: PercentEncoding.encoded(Base64.text(of: bytes))
        case .hex: Hexadecimal.text(of: bytes)
        case .dataDump: "<\(Hexadecimal.text(of: bytes, inGroupsOf: 4))>"
        case .lengthDump: "{length = \(bytes.count), bytes = 0x\(Hexadecimal.text(of: bytes))}"
        case .json: "{\"syncToken\":\"\(Base64.text(of: bytes))\"}"
        }
    }
}
