internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Mustache
internal import RecordStore
internal import Records

/// Makes answers of pages by filling their templates.
struct PageRenderer: Sendable {
    private let library: MustacheLibrary
    /// Read anew for each page while developing; `nil` for the templates in the binary.
    private let folder: String?
    let staticFiles: StaticFiles
    let rehearsals: Rehearsals

    /// - Throws: a parser error of a template, or an error of the file system.
    init(folder: String?, staticFiles: StaticFiles, rehearsals: Rehearsals) throws {
        MustacheContentTypes.register(EscapedHTML(), named: EscapedHTML.name)
        self.folder = folder
        self.staticFiles = staticFiles
        self.rehearsals = rehearsals
        library = try folder.map(Self.library(in:)) ?? Self.library(of: EmbeddedFiles.templates.map { ($0.name, $0.bytes) })
    }

    /// - Throws: an error of a template that is read from the folder; `RecordError` INTERNAL_ERROR when there is none of that name.
    func response(_ page: some Page, in frame: Frame) throws -> Response {
        let library = try folder.map(Self.library(in:)) ?? library
        let template = type(of: page).template
        let context = PageContext(frame: frame, page: page, banner: RehearsalBanner(rehearsals.running), formSecret: SignedIn.session?.csrf)
        guard let html = library.render(context, withTemplate: template) else {
            throw RecordError(.internalError, "There is no template '\(template)'")
        }
        var response = Response.html(html, status: page.status)
        if let seconds = page.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    private static func library(in folder: String) throws -> MustacheLibrary {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".mustache") }
        return try library(
            of: names.map { name in
                guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                    throw RecordError(.internalError, "The template '\(name)' can't be read")
                }
                return (String(name.dropLast(".mustache".count)), [UInt8](data))
            })
    }

    private static func library(of templates: [(name: String, bytes: [UInt8])]) throws -> MustacheLibrary {
        var library = MustacheLibrary()
        for (name, bytes) in templates {
            try library.register(prepared(String(decoding: bytes, as: UTF8.self)), named: name)
        }
        return library
    }

    /// Every template escapes bytewise. Indentation and the last line break are for readers of the source; they would also get into
    /// texts of several lines and between words. Every form that is posted gets the ``FormSecret``, so that no template can forget it.
    private static func prepared(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true).map { line in line.drop { $0 == " " } }
        return "{{% CONTENT_TYPE: \(EscapedHTML.name)}}\n" + FormSecret.addingField(to: lines.joined(separator: "\n"))
    }
}

/// What templates are filled from: the page, the frame around it, and what is rehearsed meanwhile.
private struct PageContext: ViewModel {
    let frame: Frame
    let page: any Page
    let banner: RehearsalBanner?
    /// `nil` where nobody needs to sign in.
    let formSecret: String?

    func child(named name: String) -> Any? {
        switch name {
        case "frame": frame
        case "page": page
        case "banner": banner ?? Absent()
        case FormSecret.templateName: formSecret ?? Absent()
        default: nil
        }
    }
}
