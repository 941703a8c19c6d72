/// Why a pasted text is none of the forms that bytes are written in.
public struct UnreadableText: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence for the person who pasted it, without a full stop.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A character that can't stand where it stands.
    init(_ character: UInt8, at index: Int, in text: [UInt8]) {
        // The byte may be one of several that make a character.
        let end = text[(index + 1)...].firstIndex { $0 & 0xC0 != 0x80 } ?? text.count
        let shown = character < 0x20 || character == 0x7F ? "A control character" : "‘\(String(decoding: text[index..<end], as: UTF8.self))’"
        self.init("\(shown) at character \(index + 1) belongs to neither base64 nor hexadecimal text")
    }
}
