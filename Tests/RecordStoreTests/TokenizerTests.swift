import Foundation
import RecordStore
import Testing

@Suite struct TokenizerTests {
    @Test(arguments: [
        ("Hello, hello world!", ["hello", "world"]),
        ("Äpfel ÄPFEL apfel", ["apfel"]),
        ("don't 3.14", ["don", "t", "3", "14"]),
        ("名前はAda", ["名", "前", "は", "ada"]),
        ("", []),
        ("🙃 —", []),
    ])
    func cutsWords(text: String, tokens: [String]) {
        #expect(Tokenizer.tokens(of: text) == tokens)
    }

    /// ASCII words are cut byte by byte. Next to other characters, the result must equal that of folding the whole
    /// text.
    @Test func cutsAsIfItFoldedTheWholeText() {
        let pieces = [
            "a", "Z", "q7", "_", " ", "\r\n", "\u{0}", "'", "é", "e\u{301}", "\u{301}", "Σ", "ΑΣ", "ß", "İ", "ﬁ", "Ａ",
            "名", "は", "\u{1F468}\u{200D}\u{1F469}", "K", "½",
        ]
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let text = "x" + first + second + third + second
                    #expect(Tokenizer.tokens(of: text) == Self.wholeText(text), "\(text.unicodeScalars.map(\.value))")
                }
            }
        }
    }

    private static func wholeText(_ text: String) -> [String] {
        let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
            .precomposedStringWithCanonicalMapping
        var words: [[Unicode.Scalar]] = [[]]
        for scalar in folded.unicodeScalars {
            let isWordPart: Bool =
                switch scalar.properties.generalCategory {
                case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
                    .decimalNumber, .letterNumber,
                    .otherNumber, .nonspacingMark, .spacingMark, .enclosingMark:
                    true
                default: false
                }
            if scalar.properties.isIdeographic || (0x3041...0x30FF).contains(scalar.value) {
                words += [[scalar], []]
            } else if isWordPart {
                words[words.count - 1].append(scalar)
            } else {
                words.append([])
            }
        }
        var seen: Set<[Unicode.Scalar]> = []
        return words.filter { !$0.isEmpty && seen.insert($0).inserted }.map { scalars in
            var view = String.UnicodeScalarView()
            view.append(contentsOf: scalars)
            return String(view)
        }
    }
}
