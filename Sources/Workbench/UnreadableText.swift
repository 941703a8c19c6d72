/// The reason why a pasted text has no known encoding.
public struct UnreadableText: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence for the user, without a full stop.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// An invalid character.
    init(_ character: UInt8, at index: Int, in text: [UInt8]) {
        // The byte may be part of a multibyte character.
        let end = text[(index + 1)...].firstIndex { $0 & 0xC0 != 0x80 } ?? text.count
        let shown = character < 0x20 || character == 0x7F ? "A control character" : "‘\(String(decoding: text[index..<end], as: UTF8.self))’"
        self.init("\(shown) at character \(index + 1) belongs to neither base64 nor hexadecimal text")
    }
}
