/// A form of a page, with the fields that a browser would send. Forms may carry megabytes, so this reads bytes.
public struct HTMLForm: Sendable {
    public let action: String
    public let isGet: Bool
    public private(set) var fields: [(name: String, value: String)] = []

    /// The first form of a page that is sent to an address with such an end.
    public init?(_ page: String, sentTo path: String) {
        let bytes = Array(page.utf8)
        let tags = HTMLTag.all(in: bytes)
        let starts = tags.indices.filter { tags[$0].name == "form" }
        guard
            let start = starts.first(where: { index in
                tags[index]["action"].map { $0.split(separator: "?")[0].hasSuffix("/" + path) } ?? false
            })
        else { return nil }
        action = tags[start]["action"] ?? ""
        isGet = tags[start]["method"] == "get"
        let end = tags[start...].firstIndex { $0.name == "/form" } ?? tags.endIndex
        for index in tags[..<end].indices[start...] {
            let tag = tags[index]
            guard let name = tag["name"], tag["disabled"] == nil else { continue }
            switch tag.name {
            case "input":
                let type = tag["type"] ?? "text"
                if type == "file" || (type == "checkbox" || type == "radio") && tag["checked"] == nil { continue }
                fields.append((name, tag["value"] ?? ""))
            case "textarea":
                let next = tags.indices.contains(index + 1) ? tags[index + 1].range.lowerBound : bytes.endIndex
                var text = HTMLTag.plain(bytes[tag.range.upperBound..<next])
                // The first line break belongs to the tag, and browsers send CRLF.
                if text.first == UInt8(ascii: "\n") { text.removeFirst() }
                fields.append(
                    (
                        name,
                        String(
                            decoding: text.flatMap { $0 == UInt8(ascii: "\n") ? [UInt8(ascii: "\r"), $0] : [$0] },
                            as: UTF8.self)
                    ))
            case "select":
                let options = tags[(index + 1)...].prefix { $0.name != "/select" }.filter { $0.name == "option" }
                if let chosen = options.first(where: { $0["selected"] != nil }) ?? options.first {
                    fields.append((name, chosen["value"] ?? ""))
                }
            default: break
            }
        }
    }
}

/// A start or end tag.
private struct HTMLTag {
    /// With a slash for an end tag.
    let name: String
    let range: Range<Int>
    private let attributes: [(name: String, value: ArraySlice<UInt8>)]

    subscript(name: String) -> String? {
        attributes.first { $0.name == name }.map { String(decoding: Self.plain($0.value), as: UTF8.self) }
    }

    static func all(in bytes: [UInt8]) -> [HTMLTag] {
        var tags: [HTMLTag] = []
        var position = 0
        while let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            let tag = HTMLTag(bytes, at: start)
            tags.append(tag)
            position = tag.range.upperBound
        }
        return tags
    }

    private init(_ bytes: [UInt8], at start: Int) {
        var position = start + 1
        func text(until isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
            let text = bytes[position...].prefix { !isEnd($0) }
            position = text.endIndex
            return text
        }
        let isSpace: (UInt8) -> Bool = { $0 <= 0x20 }
        name = String(decoding: text { isSpace($0) || $0 == UInt8(ascii: ">") }, as: UTF8.self)
        var attributes: [(String, ArraySlice<UInt8>)] = []
        while true {
            _ = text { !isSpace($0) }
            guard position < bytes.endIndex, bytes[position] != UInt8(ascii: ">") else { break }
            let name = String(
                decoding: text { isSpace($0) || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ">") }, as: UTF8.self)
            var value: ArraySlice<UInt8> = []
            if bytes[position...].starts(with: Array("=\"".utf8)) {
                position += 2
                value = text { $0 == UInt8(ascii: "\"") }
                position = min(position + 1, bytes.endIndex)
            } else if bytes[position...].first == UInt8(ascii: "=") {
                position += 1
            }
            attributes.append((name, value))
        }
        self.attributes = attributes
        range = start..<min(position + 1, bytes.endIndex)
    }

    private static let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].map {
        (Array($0.0.utf8), Array($0.1.utf8))
    }

    /// The text of HTML with the five characters that Mustache escapes.
    static func plain(_ html: ArraySlice<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(html.count)
        var position = html.startIndex
        while position < html.endIndex {
            if html[position] == UInt8(ascii: "&"),
                let (entity, character) = entities.first(where: { html[position...].starts(with: $0.0) })
            {
                text += character
                position += entity.count
            } else {
                text.append(html[position])
                position += 1
            }
        }
        return text
    }
}

extension String {
    /// As `contains`, by bytes: quick in pages of megabytes.
    public func holds(_ text: String) -> Bool {
        let (bytes, sought) = (Array(utf8), Array(text.utf8))
        guard let first = sought.first else { return true }
        var position = 0
        while let start = bytes[position...].firstIndex(of: first) {
            if bytes[start...].starts(with: sought) { return true }
            position = start + 1
        }
        return false
    }
}
