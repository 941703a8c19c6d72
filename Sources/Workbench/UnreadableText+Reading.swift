internal import Text

// Decoding that names the first character in the way.

extension Hexadecimal {
    /// - Parameter text: text without white space.
    /// - Throws: `UnreadableText` unless the text is an even number of hexadecimal digits.
    static func read(_ text: some Sequence<UInt8>) throws(UnreadableText) -> [UInt8] {
        let text = Array(text)
        if let bytes = bytes(of: text) { return bytes }
        if let index = text.firstIndex(where: { value(of: $0) == nil }) { throw UnreadableText(text[index], at: index, in: text) }
        throw UnreadableText("Hexadecimal text has two digits for each byte; these are \(text.count)")
    }
}

extension Base64 {
    /// Reads either alphabet, with or without padding.
    /// - Parameter text: text without white space.
    /// - Throws: `UnreadableText` with the invalid character.
    static func read(_ text: [UInt8]) throws(UnreadableText) -> (bytes: [UInt8], form: TextForm) {
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(digits.count)
        guard padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            throw UnreadableText("There is text after the padding ‘=’ at character \(digits.count + 1). Paste one value only")
        }
        if let index = digits.firstIndex(where: { value(of: $0) == nil }) { throw UnreadableText(text[index], at: index, in: text) }
        guard let bytes = bytes(of: digits) else {
            throw UnreadableText("Base64 can't have \(digits.count) characters: one is missing, or there is one too many")
        }
        let hasPlus = digits.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
        let hasHyphen = digits.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        if hasPlus, hasHyphen { throw UnreadableText("It mixes the two alphabets of base64, ‘+/’ and ‘-_’") }
        let isForURLs = hasHyphen || (!hasPlus && padding.isEmpty && digits.count % 4 != 0)
        return (bytes, isForURLs ? .base64URL : .base64)
    }
}
