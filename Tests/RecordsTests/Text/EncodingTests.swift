import Foundation
import Records
import Testing

/// Encodings against Foundation or a slow reference, with random bytes. Malformed text never traps.
@Suite struct EncodingTests {
    private static func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }

    /// Text that looks like an encoding: mostly its digits, with other bytes between.
    private static func almost(_ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return (0..<Int.random(in: 0...24)).map { _ in
            Int.random(in: 0..<12) == 0 ? .random(in: 0...255) : digits[Int.random(in: 0..<digits.count)]
        }
    }

    @Test func hexadecimalReturns() {
        for count in 0..<300 {
            let bytes = Self.random(count)
            let text = Hexadecimal.text(of: bytes)
            #expect(text == bytes.map { String(format: "%02x", $0) }.joined())
            #expect(Hexadecimal.bytes(of: text.utf8) == bytes && Hexadecimal.bytes(of: text.uppercased().utf8) == bytes)
        }
        #expect(Hexadecimal.text(of: [0, 1, 0xAB, 0xFF, 16], inGroupsOf: 2) == "0001 abff 10")
        #expect(Hexadecimal.text(of: [] as [UInt8], inGroupsOf: 1).isEmpty)
    }

    @Test func hexadecimalRefusesTheRest() {
        for text in ["0", "0g", "000", " 00", "+1", "0x", "é"] { #expect(Hexadecimal.bytes(of: text.utf8) == nil) }
        for _ in 0..<2000 {
            let text = Self.almost("0123456789abcdefABCDEF")
            let isRight =
                text.count % 2 == 0 && text.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }
            #expect((Hexadecimal.bytes(of: text) != nil) == isRight)
        }
    }

    @Test func base64AgreesWithFoundation() {
        for count in 0..<300 {
            let bytes = Self.random(count)
            let standard = Data(bytes).base64EncodedString()
            let forURLs = standard.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64.text(of: bytes) == standard && Base64.text(of: bytes, forURLs: true) == forURLs)
            for text in [standard, forURLs] { #expect(Base64.bytes(of: text.utf8) == bytes) }
            #expect(
                Base64.canonicalBytes(of: standard) == bytes
                    && Base64.canonicalBytes(of: forURLs, forURLs: true) == bytes)
        }
    }

    @Test func base64RefusesTheRest() {
        for text in ["A", "A===", "AAAA=", "AAA==", "=", "A=AA", "AA=A", "AA A", "AA\n", "é", "AAAAA"] {
            #expect(Base64.bytes(of: text.utf8) == nil, "\(text)")
        }
        for text in ["AA", "AA=", "AA==", "AAA", "AAA="] {
            #expect(Base64.bytes(of: text.utf8)?.isEmpty == false, "\(text)")
        }
        for text in ["AB==", "AA=", "AA", "AAB=", "-_A="] { #expect(Base64.canonicalBytes(of: text) == nil, "\(text)") }
        for text in ["AB", "AA==", "+/A"] { #expect(Base64.canonicalBytes(of: text, forURLs: true) == nil, "\(text)") }
        for _ in 0..<2000 {
            let text = Self.almost("ABCxyz019+/")
            let isRight = text.count % 4 != 1 && text.allSatisfy { Base64.value(of: $0) != nil }
            if !text.contains(UInt8(ascii: "=")) { #expect((Base64.bytes(of: text) != nil) == isRight) }
        }
    }

    @Test func percentEncodingReturns() {
        for _ in 0..<500 {
            let text = String(decoding: Self.random(.random(in: 0...40)), as: UTF8.self)
            let encoded = PercentEncoding.encoded(text)
            let allowed = CharacterSet(
                charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
            #expect(encoded == text.addingPercentEncoding(withAllowedCharacters: allowed))
            #expect(PercentEncoding.decoded(encoded)?.utf8.elementsEqual(text.utf8) == true)
        }
        #expect(PercentEncoding.encoded("a/b ä?", keeping: "/?") == "a/b%20%C3%A4?")
    }

    @Test(
        "Percent-decoding",
        arguments: [
            ("a", "a", "a", true), ("%41%2b%2B", "A++", "A++", true), ("a+b", "a+b", "a b", true),
            ("%", nil, "%", false), ("%4", nil, "%4", false),
            ("%4g%", nil, "%4g%", false), ("%+1", nil, "% 1", false), ("%%41", nil, "%A", false),
            ("%C3%A4", "ä", "ä", true), ("%C3", nil, "\u{FFFD}", true),
            ("%2541", "%41", "%41", true), ("", "", "", true),
        ] as [(String, String?, String, Bool)])
    func percentDecoding(text: String, strictly: String?, ofForm: String, isWellFormed: Bool) {
        #expect(PercentEncoding.decoded(text) == strictly)
        let decoded = PercentEncoding.bytes(of: text.utf8, plusIsSpace: true)
        #expect(String(decoding: decoded.bytes, as: UTF8.self) == ofForm && decoded.isWellFormed == isWellFormed)
    }

    @Test func malformedPercentEncodingNeverTraps() {
        for _ in 0..<5000 {
            let text = Self.almost("%%%0aF+")
            let (bytes, isWellFormed) = PercentEncoding.bytes(of: text)
            #expect(
                isWellFormed
                    ? bytes.count == text.count - 2 * text.count(where: { $0 == UInt8(ascii: "%") })
                    : bytes.contains(UInt8(ascii: "%")))
            // Slices have other indices.
            #expect(PercentEncoding.bytes(of: ([1, 2, 3] + text).dropFirst(3)).bytes == bytes)
        }
    }

    @Test func leadingZeros() {
        #expect(
            String(7, digits: 3) == "007" && String(1234, digits: 3) == "1234" && String(-7, digits: 3) == "-007"
                && String(0, digits: 0) == "0")
        #expect(
            String(UInt64.max, digits: 16, radix: 16) == "ffffffffffffffff"
                && String(10 as UInt8, digits: 2, radix: 16, uppercase: true) == "0A")
        #expect(String(Int64.min, digits: 1) == "-9223372036854775808")
    }

    /// The values of the authors' tables (draft-eastlake-fnv).
    @Test(
        arguments: [("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8)]
            as [(String, UInt64)])
    func hashes(text: String, value: UInt64) {
        #expect(FNV1a(text.utf8).value == value)
        #expect(FNV1a(text.utf8).text == Hexadecimal.text(of: withUnsafeBytes(of: value.bigEndian) { Array($0) }))
    }

    @Test func hashedTextsAreSeparate() {
        func hash(_ texts: String...) -> String {
            var hash = FNV1a()
            for text in texts { hash.add(text: text) }
            return hash.text
        }
        #expect(Set([hash("ab", "c"), hash("a", "bc"), hash("abc"), hash("abc", "")]).count == 4)
    }

    @Test(
        "Quoting and escaping by bytes",
        arguments: [
            ("plain", "plain", "'plain'", "\"plain\"", "plain"),
            ("it's", "'it'\\''s'", "'it'\\''s'", "\"it's\"", "it&#39;s"), ("", "''", "''", "\"\"", ""),
            ("\"\u{301}", "'\"\u{301}'", "'\"\u{301}'", "\"\"\"\u{301}\"", "&quot;\u{301}"),
            ("<&>", "'<&>'", "'<&>'", "\"<&>\"", "&lt;&amp;&gt;"),
        ])
    func quoting(text: String, word: String, shell: String, csv: String, html: String) {
        func same(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
        #expect(
            same(text.shellWord, word) && same(text.shellQuoted, shell) && same(text.csvQuoted, csv)
                && same(text.htmlEscaped, html))
    }

    @Test(arguments: [
        ("", ""), (" \t", ""), (" a b\t", "a b"), ("a", "a"), (" \u{301}a ", "\u{301}a"), ("\u{A0}a\n", "\u{A0}a\n"),
    ])
    func trimming(text: String, trimmed: String) {
        #expect(text.trimmingSpaces.utf8.elementsEqual(trimmed.utf8) && text[...].trimmingSpaces == text.trimmingSpaces)
        #expect("\u{2003}\r\n\(text)\n\u{A0}".trimmingWhiteSpace == text.trimmingWhiteSpace)
        #expect("\r\na b\u{A0}\n".trimmingWhiteSpace == "a b")
    }
}

/// Text is rewritten byte by byte, because its consumers read bytes.
@Suite("Writing bytes") struct WritingBytesTests {
    @Test(
        "A mark is found whatever joins with it",
        arguments: [
            ("", ""), ("a", "a"), ("a\"b", "a''b"), ("\"\u{301}", "''\u{301}"), ("\u{600}\"", "\u{600}''"),
            ("\r\n", "\rN"), ("é\n", "éN"),
        ])
    func marks(text: String, written: String) {
        let result = text.writingBytes { $0 == UInt8(ascii: "\"") ? "''" : $0 == UInt8(ascii: "\n") ? "N" : nil }
        #expect(Array(result.utf8) == Array(written.utf8))
    }

    @Test(
        "A text within another is found whatever joins with its end",
        arguments: [
            ("token=abc", "token=hidden"), ("abc\u{301} abc", "hidden\u{301} hidden"), ("ab", "ab"), ("", ""),
            ("\u{600}abc", "\u{600}hidden"),
        ])
    func runs(text: String, written: String) {
        #expect(Array(text.replacingBytes(of: "abc", with: "hidden").utf8) == Array(written.utf8))
        #expect(text.replacingBytes(of: "", with: "x") == text)
    }
}
