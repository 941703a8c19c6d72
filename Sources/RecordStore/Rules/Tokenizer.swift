internal import Foundation
internal import JSON

/// Cuts a text into the words that CONTAINS_ALL_TOKENS and CONTAINS_ANY_TOKENS compare.
///
/// A word is a run of letters, digits and marks; case and accents are folded away. Chinese characters and Japanese kana,
/// which are written without spaces, are words of their own.
public enum Tokenizer {
    /// The distinct words in the order of their first appearance.
    public static func tokens(of text: String) -> [String] {
        let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
            .precomposedStringWithCanonicalMapping
        var tokens: [String] = []
        var seen: Set<Name> = []
        var word = String.UnicodeScalarView()
        func finish() {
            let token = String(word)
            if !token.isEmpty, seen.insert(Name(token)).inserted { tokens.append(token) }
            word = String.UnicodeScalarView()
        }
        for scalar in folded.unicodeScalars {
            if isIdeograph(scalar) {
                finish()
                word.append(scalar)
                finish()
            } else if isWordPart(scalar) {
                word.append(scalar)
            } else {
                finish()
            }
        }
        finish()
        return tokens
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
