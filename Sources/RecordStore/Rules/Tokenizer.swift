internal import Foundation
internal import JSON

/// Splits a text into the words that CONTAINS_ALL_TOKENS and CONTAINS_ANY_TOKENS compare.
///
/// A word is a run of letters, digits and marks. Case and accents are ignored. Chinese characters and Japanese kana,
/// which are written without spaces, are words of their own.
public enum Tokenizer {
    /// The distinct words in order of first appearance.
    public static func tokens(of text: String) -> [String] {
        var words = Words()
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            var isASCII = true
            for index in bytes.indices {
                let byte = bytes[index]
                if byte >= 0x80 {
                    isASCII = false
                } else if !isWordPart(byte), index + 1 == bytes.count || bytes[index + 1] < 0x80 {
                    // The boundary characters don't combine with others, so both sides can be folded separately.
                    words.add(bytes[start..<index], isASCII)
                    (start, isASCII) = (index + 1, true)
                }
            }
            words.add(bytes[start...], isASCII)
        }
        return words.all
    }

    private struct Words {
        var all: [String] = []
        private var seen: Set<Name> = []

        mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ isASCII: Bool) {
            if bytes.isEmpty { return }
            if isASCII {
                // Between two characters that are not part of a word, an ASCII run is one word. Each of its
                // characters folds to one lowercase character.
                add(String(unsafeUninitializedCapacity: bytes.count) { buffer in
                    for (index, byte) in bytes.enumerated() { buffer[index] = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
                    return bytes.count
                })
            } else {
                addFolded(String(decoding: bytes, as: UTF8.self))
            }
        }

        private mutating func add(_ word: String) {
            if !word.isEmpty, seen.insert(Name(word)).inserted { all.append(word) }
        }

        private mutating func addFolded(_ text: String) {
            let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
                .precomposedStringWithCanonicalMapping
            var word = String.UnicodeScalarView()
            func finish(_ word: inout String.UnicodeScalarView, _ words: inout Self) {
                words.add(String(word))
                word = String.UnicodeScalarView()
            }
            for scalar in folded.unicodeScalars {
                if isIdeograph(scalar) {
                    finish(&word, &self)
                    add(String(scalar))
                } else if isWordPart(scalar) {
                    word.append(scalar)
                } else {
                    finish(&word, &self)
                }
            }
            finish(&word, &self)
        }
    }

    /// True for ASCII letters and digits.
    private static func isWordPart(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber, .letterNumber,
            .otherNumber, .nonspacingMark, .spacingMark, .enclosingMark:
            true
        default: false
        }
    }

    private static func isIdeograph(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIdeographic || (0x3041...0x30FF).contains(scalar.value)
    }
}
