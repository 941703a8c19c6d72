/// A way in which bytes are written as text, by a server, a program or Xcode.
public enum TextForm: String, Sendable, Hashable, CaseIterable {
    /// With `+` and `/`, with padding: how JSON carries bytes.
    case base64
    /// With `-` and `_`, without padding: how Skylight writes tokens.
    case base64URL
    /// Base64 as it stands in a URL or a form: `%2B`, `%2F` and `%3D`.
    case percentEncoded
    /// Two digits a byte, without spaces.
    case hex
    /// `<62706c69 73743030>`: how Objective-C and older versions of Xcode print data.
    case dataDump
    /// `{length = 42, bytes = 0x62706c69…}`: how newer versions print data.
    case lengthDump
    /// A member of a request or an answer.
    case json

    /// What the form is called in a sentence.
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

    /// Writes bytes in this form, all of them: the dumps are not cut short as Xcode does it.
    public func text(of bytes: [UInt8]) -> String {
        switch self {
        case .base64: Base64.text(of: bytes)
        case .base64URL: Base64.text(of: bytes, forURLs: true)
        case .percentEncoded: PercentEncoding.text(of: Base64.text(of: bytes))
        case .hex: Hexadecimal.text(of: bytes)
        case .dataDump: "<\(Hexadecimal.text(of: bytes, inGroupsOf: 4))>"
        case .lengthDump: "{length = \(bytes.count), bytes = 0x\(Hexadecimal.text(of: bytes))}"
        case .json: "{\"syncToken\":\"\(Base64.text(of: bytes))\"}"
        }
    }
}
