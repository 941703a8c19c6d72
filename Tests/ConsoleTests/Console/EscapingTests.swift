import Foundation
import Records
import TestSupport
import Testing

@testable import Console
@testable import RecordPages

/// Text for consumers that read bytes: a special character keeps its meaning for them, even if a combining character
/// follows.
@Suite struct EscapingTests {
    /// Characters that combine with the previous or the next one into one of Swift's characters.
    private static let joining: [Unicode.Scalar] = [
        "\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{600}", "\u{903}", "\u{1F3FD}", "\n", "\r",
    ]
    private static let marks: [Unicode.Scalar] = [
        "'", "\"", "\\", "<", ">", "&", "`", "$", "(", ")", ";", "|", "%", ",", "=", "+", "/", "?", "#", " ", "*", "~",
        "!", "{", "-", "a", "é", "\u{A0}",
    ]

    /// Texts of special characters, with and without combining ones.
    private static let texts: [String] = {
        var random = SeededRandom(seed: 13)
        let short = marks.flatMap { mark in joining.flatMap { [[mark, $0], [$0, mark], [mark, $0, mark]] } }
        let long = (0..<300).map { _ in
            (0..<Int.random(in: 1...12, using: &random)).compactMap { _ in
                (marks + joining).randomElement(using: &random)
            }
        }
        return (short + long).map { scalars in String(String.UnicodeScalarView(scalars)) }
    }()

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test func aShellReadsEachWordAsItWas() throws {
        #expect(try bytes(Shell.printed(Self.texts.map(\.shellQuoted))) == bytes(Self.texts))
        #expect(try bytes(Shell.printed(Self.texts.map(\.shellWord))) == bytes(Self.texts))
        #expect(["plain-1.0_a", "", "~", "a b"].map(\.shellWord) == ["plain-1.0_a", "''", "'~'", "'a b'"])
    }

    @Test func noBytesOfHTMLAreLeftInText() {
        let mark = /<i data-u="[0-9A-F]+">|<\/i>/.matchingSemantics(.unicodeScalar)
        for (type, text) in EscapedHTML.allCases.flatMap({ type in Self.texts.map { (type, $0) } }) {
            let escaped = type.escapeText(text).replacing(mark, with: "")
            #expect(
                !escaped.utf8.contains {
                    [UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'")].contains($0)
                })
            if type != .plain { #expect(Array(Self.unescapedHTML(escaped).utf8) == Array(text.utf8)) }
        }
    }

    @Test func literalsOfSwiftAndJSONEndWhereTheyShould() throws {
        for text in Self.texts {
            let literal = Array(CodeWriter.quoted(text).utf8)
            #expect(literal.first == UInt8(ascii: "\"") && Self.ends(of: literal) == [literal.count - 1])
            #expect(!literal.contains(UInt8(ascii: "\n")) && !literal.contains(UInt8(ascii: "\r")))
            let json = RecordJSON.laidOut(.array([.string(text)]))
            #expect(try JSONReader.value(of: json) == .array([.string(text)]))
        }
    }

    @Test func listsAndAddressesKeepTheirParts() {
        for text in Self.texts where !text.utf8.contains(where: { $0 < 0x20 }) {
            let parts = FilterValueReader.parts(QueryForm.listText([text, "b"]))
            #expect(bytes(parts) == bytes([text, "b"]), "\(text.debugDescription)")
        }
        for text in Self.texts {
            let query = FormFields.url("", [("name", text), ("second", "2")]).utf8.dropFirst()
            #expect(query.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(bytes(FormFields(encoded: query).pairs.map(\.value)) == bytes([text, "2"]))
        }
    }

    @Test func theNameOfASentFileEndsAtItsQuotationMark() throws {
        for name in ["\u{301}rows.csv", "rows\u{301}.csv", "a\"\u{301}b.csv"] {
            let sent = String(name.unicodeScalars.map { $0 == "\"" ? "%22" : String($0) }.joined())
            let head = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(sent)\"\r\n\r\n"
            let form = MultipartForm(
                Array((head + "a\r\n--x--\r\n").utf8), contentType: "multipart/form-data; boundary=x")
            #expect(bytes((form?.parts ?? []).compactMap(\.fileName)) == bytes([name]))
        }
    }

    @Test func aFormEndsAtItsSixtyFourthPartWithOrWithoutName() {
        for head in ["Content-Disposition: form-data; name=\"a\"", "X: a"] {
            let parts = String(repeating: "--x\r\n\(head)\r\n\r\n1\r\n", count: 64)
            let last = "--x\r\nContent-Disposition: form-data; name=\"last\"\r\n\r\n1\r\n--x--\r\n"
            let form = MultipartForm(Array((parts + last).utf8), contentType: "multipart/form-data; boundary=x")
            #expect(form?.fields["last"] == nil)
        }
    }

    /// A zone or type name from another user must not inject code into copied commands.
    @Test(arguments: [
        "it's", "a'\u{301}; touch pwned; '\u{301}", "$(touch pwned)", "`touch pwned`", "a\u{301}'\u{200D}|sh", "-x",
        "Household",
    ])
    func commandsToCopyHoldNamesAsWords(name: String) async throws {
        try await EditStage.run { stage in
            let check = try await stage.page("check?zone=\(PercentEncoding.encoded(name))")
            let command = try #require(check.firstMatch(of: /(?s)<code>(skylight check .*?)<\/code>/)).output.1
            #expect(try bytes(Shell.words(of: Self.unescapedHTML(command)).suffix(2)) == bytes(["--zone", name]))
            let importing = try await stage.page("importing?type=\(PercentEncoding.encoded(name))")
            let line = try #require(
                importing.firstMatch(of: /(?s)<code data-copy-source>(skylight import FILE .*?)<\/code>/)
            ).output.1
            #expect(try bytes(Shell.words(of: Self.unescapedHTML(line)).suffix(2)) == bytes(["--type", name]))
        }
    }

    // MARK: Readers

    /// The positions of unescaped quotation marks after the first byte of a literal.
    private static func ends(of literal: [UInt8]) -> [Int] {
        var (ends, index) = ([Int](), 1)
        while index < literal.count {
            if literal[index] == UInt8(ascii: "\\") {
                index += 2
            } else {
                if literal[index] == UInt8(ascii: "\"") { ends.append(index) }
                index += 1
            }
        }
        return ends
    }

    private static func unescapedHTML(_ text: some StringProtocol) -> String {
        // A copy of the text is without the marks of what nobody could see.
        let text = String(text).replacing(/<i data-u="[0-9A-F]+">|<\/i>/.matchingSemantics(.unicodeScalar), with: "")
        return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(String(text)) {
            $0.replacingBytes(of: $1.0, with: $1.1)
        }
    }
}
