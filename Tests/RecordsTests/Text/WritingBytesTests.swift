import Records
import Testing

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
