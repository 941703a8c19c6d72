internal import JSON

/// The members with given names in JSON that may be incomplete: an answer without its beginning or end,
/// or the description of a dictionary with `=` and `;`. The reader skips invalid parts and never fails.
struct LooseJSON {
    struct Member {
        /// The index of the enclosing object.
        let container: Int
        let name: String
        let text: String
        let isString: Bool
    }

    private struct Container {
        let parent: Int?
        /// The member name or the array index of the container; empty for the outermost one.
        let name: String
        let isArray: Bool
        var count = 0
    }

    /// The maximum depth. Deeper objects are read as part of the object at this depth.
    private static let depthLimit = 64
    /// The maximum length of a name in a path.
    private static let nameLength = 60

    private(set) var members: [Member] = []
    private var containers = [Container(parent: nil, name: "", isArray: false)]

    init(_ text: [UInt8], members wanted: Set<String>) {
        var open = [0]
        // The number of open objects beyond the depth limit.
        var excess = 0
        var name: String?
        var index = 0
        while index < text.count {
            let current = open[open.count - 1]
            switch text[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if open.count >= Self.depthLimit {
                    excess += 1
                } else {
                    let place = containers[current].isArray ? "[\(containers[current].count)]" : name ?? ""
                    containers.append(Container(parent: current, name: place, isArray: text[index] == UInt8(ascii: "[")))
                    open.append(containers.count - 1)
                }
                name = nil
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if excess > 0 { excess -= 1 } else if open.count > 1 { open.removeLast() }
                name = nil
                index += 1
            case UInt8(ascii: ","), UInt8(ascii: ";"):
                if containers[current].isArray { containers[current].count += 1 }
                name = nil
                index += 1
            case UInt8(ascii: "\""), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "$"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                let isString = text[index] == UInt8(ascii: "\"")
                let word = isString ? Self.string(text, &index) : Self.word(text, &index)
                var next = index
                while next < text.count, text[next] == 0x20 || (0x09...0x0D).contains(text[next]) { next += 1 }
                if next < text.count, text[next] == UInt8(ascii: ":") || text[next] == UInt8(ascii: "=") {
                    name = word
                    index = next + 1
                } else if let known = name {
                    if wanted.contains(known) { members.append(Member(container: current, name: known, text: word, isString: isString)) }
                    name = nil
                }
            default: index += 1
            }
        }
    }

    /// `zones[0].syncToken`
    func path(of member: Member) -> String {
        let place = path(of: member.container)
        return place.isEmpty ? member.name : "\(place).\(member.name)"
    }

    func path(of container: Int) -> String {
        var path = ""
        var next: Int? = container
        while let index = next {
            let name = String(containers[index].name.prefix(Self.nameLength))
            if !name.isEmpty { path = path.isEmpty || path.hasPrefix("[") ? name + path : "\(name).\(path)" }
            next = containers[index].parent
        }
        return path
    }

    /// The zone name in the `zoneID` of each object, by object index.
    var zoneNames: [Int: Name] {
        var names: [Int: Name] = [:]
        for member in members where member.name == "zoneName" && containers[member.container].name == "zoneID" {
            if let owner = containers[member.container].parent { names[owner] = Name(member.text) }
        }
        return names
    }

    /// The quoted text at the index. Without a closing quotation mark, it extends to the end.
    private static func string(_ text: [UInt8], _ index: inout Int) -> String {
        let start = index
        index += 1
        while index < text.count, text[index] != UInt8(ascii: "\"") { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
        index = min(index, text.count)
        let raw = text[(start + 1)..<index]
        index = min(index + 1, text.count)
        // Truncated JSON may contain half an escape sequence. Such text is kept as it is.
        guard raw.contains(UInt8(ascii: "\\")), case .string(let decoded)? = try? JSONReader.value(of: text[start..<index]) else {
            return String(decoding: raw, as: UTF8.self)
        }
        return decoded
    }

    private static func word(_ text: [UInt8], _ index: inout Int) -> String {
        let start = index
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "."), UInt8(ascii: "+"):
                index += 1
            default: return String(decoding: text[start..<index], as: UTF8.self)
            }
        }
        return String(decoding: text[start..<index], as: UTF8.self)
    }
}
