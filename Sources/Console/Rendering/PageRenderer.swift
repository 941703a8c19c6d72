internal import Accounts
internal import Foundation
internal import HTTPServing
package import HTTPTypes
package import Hummingbird
package import Mustache
internal import RecordStore
internal import Records
internal import Synchronization

/// Renders pages with their templates.
package struct PageRenderer: Sendable {
    /// The templates in the binary. The first page parses them: this takes longer than the rest of a server's start,
    /// and many servers show no page.
    private static let embedded = Result { try library(of: EmbeddedFiles.templates) }

    /// The folder of the templates, which are read again for each page during development; `nil` for the templates in
    /// the binary.
    private let folder: String?
    package let staticFiles: StaticFiles
    let faults: FaultInjection

    /// - Throws: a parser error of a template in the folder, or a file system error.
    init(folder: String?, staticFiles: StaticFiles, faults: FaultInjection) throws {
        self.folder = folder
        self.staticFiles = staticFiles
        self.faults = faults
        _ = try folder.map(Self.library(in:))
    }

    /// - Throws: an error of a template; `RecordError` INTERNAL_ERROR if the template does not exist.
    package func response(_ page: some Page, in frame: Frame) throws -> Response {
        var response = Response.html(try html(page, in: frame), status: page.status)
        if let seconds = page.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    func html(_ page: some Page, in frame: Frame) throws -> String {
        let library = try folder.map(Self.library(in:)) ?? Self.embedded.get()
        let template = type(of: page).template
        let context = PageContext(
            frame: frame, page: page, banner: FaultBanner(faults.active), formSecret: SignedIn.session?.csrf)
        guard let html = library.render(context, withTemplate: template) else {
            throw RecordError(.internalError, "The template '\(template)' does not exist")
        }
        return html
    }

    /// A page outside of any place.
    package func response(_ page: some Page, _ stopwatch: Stopwatch? = nil, notice: NoticeView? = nil) throws
        -> Response
    {
        try response(
            page, in: Frame(title: page.title, staticFiles: staticFiles, stopwatch: stopwatch, notice: notice))
    }

    private static func library(in folder: String) throws -> MustacheLibrary {
        var files: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) where path.hasSuffix(fileSuffix) {
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(path)") else {
                throw RecordError(.internalError, "The template '\(path)' can't be read")
            }
            files[path.split(separator: "/").last.map(String.init) ?? path] = [UInt8](data)
        }
        return try library(of: files)
    }

    /// - Parameter files: texts by file name, of which the templates count.
    private static func library(of files: [String: [UInt8]]) throws -> MustacheLibrary {
        for type in EscapedHTML.allCases { MustacheContentTypes.register(type, named: type.rawValue) }
        var library = MustacheLibrary()
        for (name, bytes) in files where name.hasSuffix(fileSuffix) {
            try library.register(prepared(bytes), named: String(name.dropLast(fileSuffix.count)))
        }
        return library
    }

    private static let fileSuffix = ".mustache"

    /// Prepares a template: escapes each variable as its place needs; strips indentation and the last line break, which
    /// would otherwise get into multiline texts and between words; adds the ``FormSecret`` to every POST form, so that
    /// no template can omit it.
    private static func prepared(_ text: [UInt8]) -> String {
        let lines = text.split(separator: UInt8(ascii: "\n")).map { line in line.drop { $0 == UInt8(ascii: " ") } }
        let template = FormSecret.addingField(to: Array(lines.joined(separator: CollectionOfOne(UInt8(ascii: "\n")))))
        return EscapedHTML.marked.pragma + "\n" + String(decoding: TemplateContexts.adding(to: template), as: UTF8.self)
    }
}

/// The data of a template: the page, its frame, and the banner of the injected faults.
private struct PageContext: ViewModel {
    let frame: Frame
    let page: any Page
    let banner: FaultBanner?
    /// `nil` if the console requires no sign-in.
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

// MARK: - Pages

/// A page: the view model of a template, and the data for its frame.
package protocol Page: ViewModel {
    /// The name of the template.
    static var template: String { get }
    /// The tab of the page.
    static var tab: Tab { get }
    /// The tab that its frame shows. A question shows the tab that asks it.
    var frameTab: Tab { get }
    /// The title of the browser's tab, without the container and its environment.
    var title: String { get }
    var status: HTTPResponse.Status { get }
    /// Seconds after which the same request can succeed; `nil` where that is not in question.
    var retryAfter: Int? { get }
}

extension Page {
    package var frameTab: Tab { Self.tab }
    package var status: HTTPResponse.Status { .ok }
    package var retryAfter: Int? { nil }
}

/// The result of a handler.
package enum Answer: Sendable {
    case page(any Page)
    case redirect(String)
    /// A file, or a page with headers of its own.
    case response(Response)
}

// MARK: - View models

/// The data of a template. Names in the template refer to stored properties.
///
/// A property without a value ends the lookup, so that a name never resolves to a property of an outer context.
/// Types that fill tables implement ``MustacheParent/child(named:)`` themselves, because reflection is slow for
/// thousands of lookups. So do those of the frame, which is part of every page.
package protocol ViewModel: MustacheParent, Sendable {}

extension ViewModel {
    package func child(named name: String) -> Any? { property(named: name) }

    func property(named name: String) -> Any? {
        let mirror = Mirror(reflecting: self)
        // Properties of enums differ from case to case.
        guard mirror.displayStyle == .struct else {
            return mirror.children.first { $0.label == name }.map { Absent.unless($0.value) }
        }
        guard let offset = PropertyOffsets.offset(of: name, in: mirror, Self.self) else { return nil }
        return Absent.unless(mirror.children[mirror.children.index(mirror.children.startIndex, offsetBy: offset)].value)
    }
}

/// A part of a page: a view model that names its own template, which is in the folder `components`.
package protocol Component: ViewModel {
    static var template: String { get }
}

extension Component {
    package func child(named name: String) -> Any? {
        switch name {
        case "template": Self.template
        default: property(named: name)
        }
    }
}

/// The positions of the properties of view models. Reading a property by position takes 3 µs, and searching it by name
/// 3 µs more for each property before it.
private enum PropertyOffsets {
    private static let known = Mutex<[ObjectIdentifier: [String: Int]]>([:])

    static func offset(of name: String, in mirror: Mirror, _ type: any ViewModel.Type) -> Int? {
        known.withLock { known in
            if let offsets = known[ObjectIdentifier(type)] { return offsets[name] }
            let labels = mirror.children.enumerated().compactMap { child in
                child.element.label.map { ($0, child.offset) }
            }
            let offsets = Dictionary(labels, uniquingKeysWith: { first, _ in first })
            known[ObjectIdentifier(type)] = offsets
            return offsets[name]
        }
    }
}

/// A property without a value: false as a section, empty as text.
package struct Absent: MustacheCustomRenderable {
    package var renderText: String { "" }
    package var isNull: Bool { true }

    package init() {}

    /// The wrapped value of an optional, or ``Absent``.
    static func unless(_ value: Any) -> Any {
        guard let optional = value as? any OptionalValue else { return value }
        return optional.wrapped ?? Absent()
    }
}

private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    var wrapped: Any? { self }
}
