/// Bytes that a pasted text spells out.
public struct PastedBytes: Sendable, Hashable {
    /// Where bytes are missing that the text only mentions.
    public struct Gap: Sendable, Hashable {
        /// Bytes before it.
        public let offset: Int
        /// How many there are; `nil` where the text doesn't say.
        public let count: Int?
    }

    /// How they were written, from the outside in: URL-encoded base64 has two forms.
    public let forms: [TextForm]
    /// Those that were there, in one piece.
    public let bytes: [UInt8]
    /// Xcode cuts long data in the middle; what is cut can't be had from the text.
    public let gap: Gap?

    init(_ bytes: [UInt8], _ forms: [TextForm], gap: Gap? = nil) {
        self.bytes = bytes
        self.forms = forms
        self.gap = gap
    }

    /// What the bytes are.
    public enum Content: Sendable, Hashable {
        /// A property list, most often an archive of a keyed archiver.
        case propertyList(PropertyListOutline)
        /// Begins as a property list and does not go on as one.
        case brokenPropertyList(BinaryPropertyListError)
        /// Readable text.
        case text(String)
        /// Nothing that can be known from the bytes alone, as it is with change tokens.
        case opaque
    }

    public var content: Content {
        if BinaryPropertyList.isOne(bytes) {
            if gap != nil { return .brokenPropertyList(BinaryPropertyListError("the text leaves out bytes of it", at: gap?.offset ?? 0)) }
            do throws(BinaryPropertyListError) {
                return .propertyList(PropertyListOutline(of: try BinaryPropertyList(bytes)))
            } catch {
                return .brokenPropertyList(error)
            }
        }
        return readableText.map { .text($0) } ?? .opaque
    }

    /// The bytes as text, if it is one that people read.
    private var readableText: String? {
        guard gap == nil, bytes.count >= 4, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return text
    }
}
