import Records
import Testing

@testable import Console

/// Texts of users on pages: what nobody could see is marked, and what is copied stays as it was.
@Suite struct MarkedTextTests {
    @Test(arguments: [
        ("a\0b", "a<i data-u=\"0000\"></i>b", "a⟨U+0000⟩b"), ("\u{7}", "<i data-u=\"0007\">\u{7}</i>", "⟨U+0007⟩"),
        ("a\u{202E}b<", "a<i data-u=\"202E\">\u{202E}</i>b&lt;", "a⟨U+202E⟩b&lt;"),
        ("a\u{200B}", "a<i data-u=\"200B\">\u{200B}</i>", "a⟨U+200B⟩"),
        ("a\u{A0}b", "a<i data-u=\"00A0\">\u{A0}</i>b", "a⟨U+00A0⟩b"),
        ("a\u{2003}b", "a<i data-u=\"2003\">\u{2003}</i>b", "a⟨U+2003⟩b"),
        ("\u{AD}", "<i data-u=\"00AD\">\u{AD}</i>", "⟨U+00AD⟩"),
        ("a\u{85}", "a<i data-u=\"0085\">\u{85}</i>", "a⟨U+0085⟩"),
        ("a\u{FE0F}", "a<i data-u=\"FE0F\">\u{FE0F}</i>", "a⟨U+FE0F⟩"),
        ("a\u{200D}b", "a<i data-u=\"200D\">\u{200D}</i>b", "a⟨U+200D⟩b"),
        ("\u{3164}", "<i data-u=\"3164\">\u{3164}</i>", "⟨U+3164⟩"),
        ("a\u{E0041}", "a<i data-u=\"E0041\">\u{E0041}</i>", "a⟨U+E0041⟩"),
        ("\u{2028}", "<i data-u=\"2028\">\u{2028}</i>", "⟨U+2028⟩"),
        ("\u{FEFF}a", "<i data-u=\"FEFF\">\u{FEFF}</i>a", "⟨U+FEFF⟩a"),
        ("<b>\u{202E}\"", "&lt;b&gt;<i data-u=\"202E\">\u{202E}</i>&quot;", "&lt;b&gt;⟨U+202E⟩&quot;"),
    ])
    func whatNobodySeesIsMarked(text: String, html: String, plain: String) {
        #expect(MarkedText.html(text) == html)
        #expect(MarkedText.plainHTML(text) == plain)
    }

    @Test(arguments: [
        "", "plain", "a\tb\r\nc", "ü é\u{301} “x” – …", "👩‍💻👨🏽‍💻", "❤️ 1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "می‌خواهم", "क्‍ष", "東京　大阪", "한국어", "العربية",
        "𠮷",
    ])
    func whatIsSeenIsNot(text: String) {
        #expect(MarkedText.html(text) == text && MarkedText.plainHTML(text) == text)
    }

    @Test func inputsHoldTextsAsTheyAre() {
        #expect(MarkedText.exactHTML("\u{202E}a\u{A0}\"") == "\u{202E}a\u{A0}&quot;")
        #expect(MarkedText.exactHTML("a\0") == "a\u{FFFD}")
    }

    /// Each variable is written as its place in HTML allows.
    @Test(arguments: [
        ("<p>{{a}}</p>", "<p>{{a}}</p>"), ("<a href=\"{{a}}\">{{b}}</a>", "<a href=\"{E}{{a}}\">{M}{{b}}</a>"),
        (
            "<a title=\"{{a}}\" href=\"{{b}}\" aria-label=\"x {{c}}\">",
            "<a title=\"{P}{{a}}\" href=\"{E}{{b}}\" aria-label=\"x {P}{{c}}\">"
        ),
        ("<option value=\"{{a}}\">{{b}}</option>{{c}}", "<option value=\"{E}{{a}}\">{P}{{b}}</option>{M}{{c}}"),
        ("<title>{{a}}</title>", "<title>{P}{{a}}</title>"),
        ("<textarea name=\"x\">{{a}}</textarea>{{b}}", "<textarea name=\"x\">{E}{{a}}</textarea>{M}{{b}}"),
        (
            "<svg><svg><text>{{a}}</text></svg>{{b}}</svg>{{c}}",
            "<svg><svg><text>{P}{{a}}</text></svg>{{b}}</svg>{M}{{c}}"
        ),
        // A section begins with the type around it, and leaves it.
        ("{{#s}}<a href=\"{{a}}\">{{/s}}{{b}}", "{{#s}}<a href=\"{E}{{a}}\">{{/s}}{{b}}"),
        (
            "<input{{#s}} value=\"{{a}}\"{{/s}} placeholder=\"{{b}}\">",
            "<input{{#s}} value=\"{E}{{a}}\"{{/s}} placeholder=\"{P}{{b}}\">"
        ),
        // A block is placed by another template.
        ("{{<layout}}{{$main}}{{a}}{{b}}{{/main}}{{/layout}}", "{{<layout}}{{$main}}{M}{{a}}{{b}}{{/main}}{{/layout}}"),
        ("<!doctype html>{{>part}}{{! a < b }}{{a}}", "<!doctype html>{{>part}}{{! a < b }}{{a}}"),
    ])
    func variablesAreWrittenAsTheirPlaceAllows(template: String, expected: String) {
        var written = String(decoding: TemplateContexts.adding(to: Array(template.utf8)), as: UTF8.self)
        for (letter, type) in [("{M}", EscapedHTML.marked), ("{P}", .plain), ("{E}", .exact)] {
            written = written.replacingBytes(of: type.pragma, with: letter)
        }
        #expect(written == expected)
    }

    @Test func aRecordWithInvisibleCharactersIsDistinguished() async throws {
        try await EditStage.run { stage in
            let long = String(repeating: "long text ", count: 20_000)
            try await stage.save("a\u{202E}b", ["title": .string("x\0y\u{7}z"), "long": .string(long)])
            let page = try await stage.page("record?zone=Notes&name=a%E2%80%AEb")
            #expect(!page.utf8.contains(0) && page.contains("<i data-u=\"0007\">\u{7}</i>z"))
            #expect(page.contains("a<i data-u=\"202E\">\u{202E}</i>b") && page.contains("x<i data-u=\"0000\"></i>y"))
            #expect(page.contains("<title>") && page.contains("a⟨U+202E⟩b"))
            #expect(page.contains("show all 195 KB</span></summary>"))
        }
    }

    /// A long list shows its first values; the others open.
    @Test func listsAreFolded() throws {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let place = Place(
            address: DatabaseAddress(container: container, environment: .development, scope: .private), user: nil,
            zone: .unspecified)
        let presenter = ValuePresenter(place: place, zoneID: .default, links: nil, isFull: true)
        let view = presenter.view(.list((0..<1000).map { .int64($0) }, of: .int64), of: "numbers")
        guard case .list(let seen, let folded, let more) = view.form else {
            Issue.record("no list")
            return
        }
        #expect(seen.count == 20 && folded.count == 180 && more == 800)
        #expect(view.child(named: "left") as? String == "180" && view.child(named: "note") as? String == "1,000 values")
    }
}
