internal import JSON

/// A pasted text with the tokens in it, and what it is. The pages, the search box and the command line recognise tokens by it.
public struct PastedValue: Sendable {
    public let text: String
    public let reading: PastedReading
    /// The content of a single value's bytes.
    public let content: PastedBytes.Content?
    /// What a single value is; `nil` for JSON, an archive, and a text that is nothing known.
    public let kind: PastedKind?
    /// The tokens in the text. The path of one that is the whole text is empty.
    public let tokens: [FoundToken]
    /// True if the text is a credential or holds one, so it must not be repeated, and no address may hold it.
    public let holdsCredential: Bool

    public var isEmpty: Bool { reading == .empty }

    /// True if the tokens are from an archive, the storage format of apps that use CloudKit.framework.
    public var isArchive: Bool {
        if case .propertyList? = content { true } else { false }
    }

    public init(_ text: String) {
        self.text = text
        let pasted = PastedText(text)
        let reading = pasted.reading
        self.reading = reading
        var (content, kind, tokens) = (PastedBytes.Content?.none, PastedKind?.none, [FoundToken]())
        switch reading {
        case .empty: break
        case .unreadable: kind = pasted.kind
        case .json(let found, _): tokens = found
        case .bytes(let bytes):
            content = bytes.content
            switch content {
            case .propertyList(let outline): tokens = outline.tokens
            case .brokenPropertyList: break
            case .text, .opaque, nil:
                kind = bytes.gap == nil ? pasted.kind ?? PastedKind(bytes: bytes.bytes) : nil
                if let kind, kind.isToken || kind.isMarker {
                    tokens = [FoundToken(kind.isToken ? .changeToken : .continuationMarker, path: "", text: TextForm.base64URL.text(of: bytes.bytes), bytes: bytes.bytes)]
                }
            }
        }
        (self.content, self.kind, self.tokens) = (content, kind, tokens)
        holdsCredential = kind?.credential != nil || Self.holdsCredential(text)
    }

    /// The credential without its wrappers; `nil` for anything else.
    public var credentialText: String? { kind?.credential == nil ? nil : WrappedText(Array(text.utf8)).value }

    /// Names beside credentials of no kind of their own, in lower case.
    private static let otherNames: Set = ["x-apple-webauth-token", "authorization", "cookie", "set-cookie"]
    /// The schemes of the header Authorization, which precede its credential, in lower case.
    private static let schemes = ["bearer ", "basic "].map { Array($0.utf8) }
    /// The minimum length of a credential. A shorter text beside its name is a remark.
    private static let credentialLength = 16

    /// True if a credential stands beside its name, or a private key is anywhere in the text.
    private static func holdsCredential(_ text: String) -> Bool {
        if text.contains("PRIVATE KEY-----") { return true }
        let bytes = Array(text.utf8)
        func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        func isBetween(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: " ") }
        func isEnd(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "&") }
        for sign in bytes.indices where bytes[sign] == UInt8(ascii: "=") || bytes[sign] == UInt8(ascii: ":") {
            var end = sign
            while end > 0, isBetween(bytes[end - 1]) { end -= 1 }
            var start = end
            while start > 0, end - start < 40, isWord(bytes[start - 1]) { start -= 1 }
            let name = String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
            guard PastedKind.named(name)?.credential != nil || otherNames.contains(name) else { continue }
            var rest = bytes[(sign + 1)...].drop(while: isBetween)
            for scheme in schemes where rest.prefix(scheme.count).map({ $0 | 0x20 }) == scheme { rest = rest.dropFirst(scheme.count) }
            // The first cookie of a line may be a short one.
            let isCookies = name.hasSuffix("cookie")
            let values = rest.prefix { isCookies ? $0 != UInt8(ascii: "\n") : !isEnd($0) }.split(whereSeparator: isEnd)
            if values.contains(where: { $0.count >= credentialLength }) { return true }
        }
        return false
    }
}
