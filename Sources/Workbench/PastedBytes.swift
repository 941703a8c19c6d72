/// The bytes that a pasted text encodes.
public struct PastedBytes: Sendable, Hashable {
    /// A gap of omitted bytes.
    public struct Gap: Sendable, Hashable {
        /// The number of bytes before the gap.
        public let offset: Int
        /// The number of omitted bytes; `nil` if the text does not contain it.
        public let count: Int?
    }

    /// The encodings, from the outside in. URL-encoded base64 has two.
    public let forms: [TextForm]
    /// The available bytes, without the gap.
    public let bytes: [UInt8]
    /// The gap that Xcode leaves when it truncates long data in the middle; `nil` if the data is complete.
    public let gap: Gap?

    init(_ bytes: [UInt8], _ forms: [TextForm], gap: Gap? = nil) {
        self.bytes = bytes
        self.forms = forms
        self.gap = gap
    }

    /// The kind of content.
    public enum Content: Sendable, Hashable {
        /// A property list, usually a keyed archive.
        case propertyList(PropertyListOutline)
        /// A property list with an error.
        case brokenPropertyList(BinaryPropertyListError)
        /// Readable text.
        case text(String)
        /// Unknown content, such as a change token.
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

    /// The bytes as text; `nil` if they are not readable text.
    private var readableText: String? {
        guard gap == nil, bytes.count >= 4, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return text
    }
}
