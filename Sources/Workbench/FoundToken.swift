public import JSON

/// A token in a larger text or archive.
public struct FoundToken: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case changeToken
        /// What continues a query. It looks like a change token and is none.
        case continuationMarker
    }

    public let kind: Kind
    /// Where it stands: `zones[0].syncToken`, `root.ChangeToken`.
    public let path: String
    /// As it stands there; base64 of what an archive holds.
    public let text: String
    /// `nil` where the text is of no known form.
    public let bytes: [UInt8]?
    /// The zone that stands beside it, where one does.
    public let zoneName: Name?

    init(_ kind: Kind = .changeToken, path: String, text: String, bytes: [UInt8]?, zoneName: Name? = nil) {
        self.kind = kind
        self.path = path
        self.text = text
        self.bytes = bytes
        self.zoneName = zoneName
    }
}
