internal import Foundation

/// Searches JSON text of fields for a marker without parsing it. The marker starts with a quotation mark, which would
/// be escaped within a string, so it can't match there.
struct TextMark: Sendable {
    private let bytes: [UInt8]
    /// Index of the byte to search first.
    private let rarest: Int

    /// - Parameter letter: the byte of the text that is rarest elsewhere.
    init(_ text: StaticString, rarest letter: Character) {
        let bytes = text.withUTF8Buffer { Array($0) }
        self.bytes = bytes
        rarest = letter.asciiValue.flatMap { bytes.firstIndex(of: $0) } ?? 0
    }

    func stands(in text: ArraySlice<UInt8>) -> Bool {
        text.withUnsafeBytes { text in
            bytes.withUnsafeBytes { mark in
                guard let start = text.baseAddress, let wanted = mark.baseAddress, text.count >= mark.count else { return false }
                var place = rarest
                while let found = memchr(start + place, Int32(mark[rarest]), text.count - (mark.count - rarest) + 1 - place) {
                    place = UnsafeRawPointer(found) - start
                    if memcmp(start + place - rarest, wanted, mark.count) == 0 { return true }
                    place += 1
                }
                return false
            }
        }
    }
}
