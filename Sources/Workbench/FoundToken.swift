public import JSON
public import Records

/// A token in a larger text or archive.
public struct FoundToken: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case changeToken
        /// The continuation marker of a query. It looks like a change token, but is not one.
        case continuationMarker
    }

    public let kind: Kind
    /// The path of the token: `zones[0].syncToken`, `root.ChangeToken`.
    public let path: String
    /// The original text of the token; base64 for a token from an archive.
    public let text: String
    /// `nil` if the text has no known encoding.
    public let bytes: [UInt8]?
    /// The zone name beside the token, if there is one.
    public let zoneName: Name?

    init(_ kind: Kind = .changeToken, path: String, text: String, bytes: [UInt8]?, zoneName: Name? = nil) {
        self.kind = kind
        self.path = path
        self.text = text
        self.bytes = bytes
        self.zoneName = zoneName
    }

    /// The change token; `nil` for a marker, and for a text without a known encoding.
    public var token: ChangeToken? { kind == .changeToken ? bytes.map { ChangeToken(bytes: $0) } : nil }
}
