import Foundation
import Testing

/// Mustache renders a key without a property as nothing. These tests read the tags of the templates and the
/// declarations of the view models.
@Suite struct TemplateKeyTests {
    private static let models = Result { try ViewModels() }
    private static let templates = Result {
        let folder = package.appending(path: "Templates")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false)).map {
            folder.appending(path: $0)
        }
        .filter { $0.pathExtension == "mustache" }
        return Dictionary(
            uniqueKeysWithValues: try files.map {
                ($0.deletingPathExtension().lastPathComponent, Tags(try String(contentsOf: $0, encoding: .utf8)))
            })
    }
    fileprivate static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// A component is checked alone, so that it fits each page.
    @Test func everyKeyHasAPropertyInItsPage() throws {
        let (models, templates) = (try Self.models.get(), try Self.templates.get())
        var checked: Set<String> = []
        for (page, template) in models.pages {
            // Another module gives the record's page this panel.
            let panels = page == "RecordView" ? ["ClientsPanel"] : []
            let reachable = models.reachable(from: [page, "PageContext", "Frame"] + panels)
            let known = models.keys(of: reachable)
            var open = [template] + reachable.flatMap { models.choices(of: $0) }
            var seen: Set<String> = []
            while let name = open.popLast() {
                guard seen.insert(name).inserted else { continue }
                let tags = try #require(templates[name], "there is no template \(name)")
                for key in tags.keys.subtracting(known).sorted() {
                    Issue.record("\(page) has no property '\(key)' for \(name).mustache")
                }
                open += tags.included
            }
            checked.formUnion(seen)
        }
        #expect(checked == Set(templates.keys))
    }

    @Test func everyPropertyIsUsed() throws {
        let models = try Self.models.get()
        let used = try Self.templates.get().values.reduce(into: models.accessed) { $0.formUnion($1.keys) }
        for (type, model) in models.types where model.isViewModel {
            #expect(
                model.properties.subtracting(used).isEmpty, "no template and no code uses these properties of \(type)")
        }
    }

    @Test func aMisspeltKeyIsFound() throws {
        let models = try Self.models.get()
        let known = models.keys(of: models.reachable(from: ["QueryView", "PageContext", "Frame"]))
        #expect(
            known.isSuperset(of: ["noMatch", "columns", "frame", "formSecret"])
                && known.isDisjoint(with: ["rwos", "entriesRead"]))
        let tags = Tags(
            "{{<layout}}{{$main}}{{#one}}{{ two.three }}{{^empty(four)}}{{.}}{{/empty(four)}}{{>b}}{{>*.five}}{{/one}}{{/main}}{{/layout}}"
        )
        #expect(tags.keys == ["one", "two", "three", "four", "five"] && tags.included == ["layout", "b"])
    }
}

/// The keys in the tags of a template, and the templates that it includes by name.
private struct Tags {
    private(set) var keys: Set<String> = []
    private(set) var included: [String] = []

    init(_ text: String) {
        for tag in text.matches(of: /\{\{\s*([#^\/$<>]?)\s*([^}]*?)\s*\}\}/) {
            switch (tag.output.1, tag.output.2) {
            case ("/", _), ("$", _): continue
            case (">", let name) where !name.hasPrefix("*"), ("<", let name): included.append(String(name))
            case (_, let path): keys.formUnion(path.matches(of: /\w+(?!\w|\()/).map { String($0.output) })
            }
        }
    }
}

/// The types in the console's sources. Relies on the formatting of the code: one declaration on a line, indented by
/// four.
private struct ViewModels {
    struct Model {
        var isViewModel = false
        /// The names of stored properties.
        var properties: Set<String> = []
        /// The names of types in their declarations.
        var propertyTypes: Set<String> = []
        /// The names that an own `child(named:)` handles.
        var children: Set<String> = []
        /// The template of a page or a component.
        var template: String?
        /// The names that a `switch` returns, such as templates.
        var results: Set<String> = []
    }

    /// By full name, such as `Frame.Menu`.
    private(set) var types: [String: Model] = [:]
    /// The names after a dot anywhere in the code.
    private(set) var accessed: Set<String> = []

    init() throws {
        let sources = TemplateKeyTests.package.appending(path: "Sources")
        for target in try FileManager.default.contentsOfDirectory(atPath: sources.path(percentEncoded: false))
        where target == "Console" || target.hasSuffix("Pages") {
            let files = try #require(
                FileManager.default.enumerator(at: sources.appending(path: target), includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                read(try String(contentsOf: file, encoding: .utf8))
            }
        }
    }

    private static let typeWords: Set<Substring> = ["struct", "enum", "class", "protocol", "extension"]

    private mutating func read(_ text: String) {
        var open: [(indentation: Int, name: String)] = []
        for line in text.split(separator: "\n") {
            let code = line.drop { $0 == " " }
            let indentation = line.utf8.count - code.utf8.count
            while let last = open.last, indentation <= last.indentation { open.removeLast() }
            if code.hasPrefix("//") { continue }
            for part in code.utf8.split(separator: UInt8(ascii: ".")).dropFirst() {
                accessed.insert(
                    String(decoding: part.prefix { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "z") }, as: UTF8.self))
            }
            // A regular expression on each line takes three times as long.
            let words = Set(code.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) })
            if code.hasSuffix("{") || code.hasSuffix("}"), !words.isDisjoint(with: Self.typeWords),
                let type = code.prefixMatch(
                    of:
                        /(?:(?:public|package|private|fileprivate|final) )*(struct|enum|class|protocol|extension) ([A-Z][\w.]*)([^{]*)\{/
                )?.output
            {
                let outer = type.1 == "extension" ? nil : open.last.map { "\($0.name)." }
                let name = (outer ?? "") + type.2
                if !code.hasSuffix("}") { open.append((indentation, name)) }
                if type.3.contains(/\b(?:ViewModel|Page|Component)\b/) {
                    types[name, default: Model()].isViewModel = true
                }
            } else if let type = open.last {
                let isProperty = indentation == type.indentation + 4 && !words.isDisjoint(with: ["let", "var"])
                read(code, isProperty: isProperty, into: &types[type.name, default: Model()])
            }
        }
    }

    private func read(_ code: Substring, isProperty: Bool, into model: inout Model) {
        if code.hasPrefix("case ") {
            if let result = code.wholeMatch(of: /case [^"]+: "(\w+)"/)?.output.1 {
                model.results.insert(String(result))
            }
            if let payload = code.wholeMatch(of: /case \w+\((.*)\)/)?.output.1 {
                model.propertyTypes.formUnion(payload.matches(of: /[A-Z]\w*(?:\.[A-Z]\w*)*/).map { String($0.output) })
            }
            guard code.hasPrefix("case \"") || code.hasPrefix("case (\"") else { return }
            model.children.formUnion(code.prefix { $0 != ":" }.matches(of: /"(\w+)"/).map { String($0.output.1) })
        } else if isProperty, code.contains("static let template = ") {
            model.template = code.split(separator: "\"").last.map(String.init)
        } else if isProperty, !code.hasSuffix("{"),
            let property = code.wholeMatch(
                of:
                    /(?:(?:public|package|private|fileprivate|private\(set\)) )*(?:let|var) ([\w`, ]+?)(?:: ([^={]+))?(?: = (.*))?/
            )?.output
        {
            model.properties.formUnion(
                property.1.split(separator: ",").map { String($0.filter { $0 != " " && $0 != "`" }) })
            let type = property.2 ?? property.3 ?? ""
            model.propertyTypes.formUnion(type.matches(of: /[A-Z]\w*(?:\.[A-Z]\w*)*/).map { String($0.output) })
        }
    }

    var pages: [(type: String, template: String)] {
        types.compactMap { name, model in model.template.map { (name, $0) } }.sorted { $0.0 < $1.0 }
    }

    /// The templates from which a model with a property `template` chooses.
    func choices(of name: String) -> Set<String> {
        guard let model = types[name], model.properties.contains("template") || model.children.contains("template")
        else { return [] }
        return model.results
    }

    /// The types, and the view models that their properties hold.
    func reachable(from start: [String]) -> Set<String> {
        var seen: Set<String> = []
        var open = start
        while let name = open.popLast() {
            guard seen.insert(name).inserted, let model = types[name] else { continue }
            for type in model.propertyTypes {
                open += candidates(for: type, in: name).filter {
                    types[$0]?.isViewModel == true || $0.hasPrefix("\(name).")
                }
            }
        }
        return seen
    }

    /// The models that pages of other modules hold as `any ViewModel`.
    private static let erased = ["ClientsPanel"]

    /// The types that a name can mean in another type: the innermost nested one, or all that end with it.
    private func candidates(for name: String, in type: String) -> [String] {
        if name == "ViewModel" { return Self.erased }
        var scope = type.split(separator: ".")
        while true {
            let full = (scope + [name[...]]).joined(separator: ".")
            if types[full] != nil { return [full] }
            guard scope.popLast() != nil else { return types.keys.filter { $0.hasSuffix(".\(name)") } }
        }
    }

    func keys(of names: Set<String>) -> Set<String> {
        names.reduce(into: []) { $0.formUnion((types[$1]?.properties ?? []).union(types[$1]?.children ?? [])) }
    }
}
