import Foundation
import Testing

@testable import Console

/// Rules for templates and static files; all of them are embedded in the binary.
@Suite struct TemplateTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func files(_ folder: String) throws -> [(name: String, text: String)] {
        let url = package.appending(path: folder)
        return try FileManager.default.subpathsOfDirectory(atPath: url.path(percentEncoded: false)).map {
            url.appending(path: $0)
        }
        .filter { !$0.lastPathComponent.hasPrefix(".") && !$0.pathExtension.isEmpty }
        .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    @Test func everyFileIsInTheBinary() throws {
        for (folder, embedded) in [("Templates", EmbeddedFiles.templates), ("Public", EmbeddedFiles.staticFiles)] {
            let files = try Self.files(folder)
            #expect(Set(files.map(\.name)) == Set(embedded.keys))
            for file in files { #expect(embedded[file.name] == Array(file.text.utf8), "\(file.name) differs") }
        }
    }

    @Test func nothingIsPutOutUnescaped() throws {
        for template in try Self.files("Templates") {
            #expect(
                !template.text.contains("{{{") && !template.text.contains(/\{\{\s*&/),
                "\(template.name) puts something out unescaped")
            #expect(!template.text.contains(/\{\{\s*[%=]/), "\(template.name) changes how it is read")
        }
    }

    /// POST forms contain the session's secret. A button that sends one by GET would put the secret into the address.
    @Test func noButtonSendsAPostedFormByGet() throws {
        for template in try Self.files("Templates") {
            for form in template.text.matches(of: /<form\b[^>]*method="post"[^>]*>(?s:.*?)<\/form>/) {
                #expect(!form.output.contains("formmethod"), "\(template.name) has a form that goes by both methods")
            }
            // This includes buttons outside of their form.
            #expect(
                !template.text.contains(/<(?:button|input)\b[^>]*formmethod="get"/),
                "\(template.name) has a button that asks by GET")
        }
    }

    /// Escaping protects quoted attribute values only.
    @Test func everyAttributeIsQuoted() throws {
        for template in try Self.files("Templates") {
            #expect(!template.text.contains(/=\{\{/), "\(template.name) has an attribute without quotation marks")
        }
    }

    @Test func nothingIsInlineOrFromElsewhere() throws {
        for file in try Self.files("Templates") {
            #expect(!file.text.contains(/<style|\sstyle=|\son[a-z]+=|javascript:/), "\(file.name) has something inline")
            #expect(!file.text.contains(/<script(?![^>]*\ssrc=)/), "\(file.name) has an inline script")
            // Addresses in examples are text, not links.
            #expect(!file.text.contains(/(?:href|src|action)="https?:/), "\(file.name) links to another site")
        }
        for file in try Self.files("Public") where !file.name.hasSuffix(".svg") {
            #expect(
                !file.text.contains(/https?:\/\/|@import|url\(|\beval\b|innerHTML/),
                "\(file.name) reaches for something from elsewhere")
        }
    }

    @Test func everyInputHasALabel() throws {
        for file in try Self.files("Templates") {
            for match in file.text.matches(of: /<(input|select|textarea)\b[^>]*>/) {
                let tag = String(match.output.0)
                let isNamed =
                    tag.contains("aria-label=") || tag.contains("type=\"hidden\"") || tag.contains("id=\"")
                    || tag.contains("type=\"checkbox\"")
                #expect(isNamed, "\(file.name): \(tag)")
            }
        }
    }

    @Test(arguments: [
        ("plain", "plain"), ("<a href=\"x\">'&'</a>", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"),
        // Swift sees one character, a browser a quotation mark and an accent.
        ("\"\u{301}", "&quot;\u{301}"), ("<\u{301}b>", "&lt;\u{301}b&gt;"), ("&\u{200D}amp;", "&amp;\u{200D}amp;"),
        ("\r\n\"", "\r\n&quot;"),
    ])
    func escapingGoesByBytes(text: String, escaped: String) {
        #expect(Array(EscapedHTML.exact.escapeText(text).utf8) == Array(escaped.utf8))
    }

    private struct Sample: ViewModel {
        let first = "1"
        let missing: String? = nil
        let given: String? = "given"
        let last = 4
    }

    private struct Other: ViewModel {
        let last = "of another type"
        let first = 1
    }

    private enum Either: ViewModel {
        case left(text: String)
        case right(count: Int, text: String)
    }

    @Test func everyPropertyIsFoundByItsName() {
        // Positions are remembered, so each is read twice.
        for _ in 0..<2 {
            #expect(Sample().child(named: "first") as? String == "1")
            #expect(Sample().child(named: "missing") is Absent)
            #expect(Sample().child(named: "given") as? String == "given")
            #expect(Sample().child(named: "last") as? Int == 4)
            #expect(Sample().child(named: "none") == nil)
            #expect(Other().child(named: "last") as? String == "of another type")
            #expect(Other().child(named: "first") as? Int == 1)
            #expect(Either.left(text: "a").child(named: "left") != nil)
            #expect(Either.left(text: "a").child(named: "right") == nil)
            #expect(Either.right(count: 1, text: "a").child(named: "right") != nil)
        }
        let option = Frame.Menu.Option(text: "t", note: nil, href: "/h", isCurrent: true)
        let entry = Frame.Entry(text: "t", href: "/h", count: "1", key: nil, isCurrent: false)
        // The types that read properties themselves forget none.
        for (model, other) in [(option, Mirror(reflecting: option)), (entry, Mirror(reflecting: entry))]
            as [(any ViewModel, Mirror)]
        {
            for child in other.children {
                #expect(model.child(named: child.label ?? "") != nil, "\(child.label ?? "")")
            }
        }
    }
}
