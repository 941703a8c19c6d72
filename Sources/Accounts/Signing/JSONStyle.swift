internal import JSON
internal import Text

/// A way in which programs format JSON. All are equivalent but have different hashes.
struct JSONStyle {
    let what: String
    var isCommon = false
    private var afterComma = ""
    private var colon = ":"
    /// Spaces per level; `nil` for a single line.
    private var indentation: Int?
    private var isSorted = false
    private var escapesSlashes = false
    private var escapesUnicode = false

    static let all: [JSONStyle] = {
        var styles: [JSONStyle] = []
        for isSorted in [false, true] {
            let order = isSorted ? ", its members sorted" : ""
            styles.append(JSONStyle(what: "without spaces\(order)", isCommon: true, isSorted: isSorted))
            styles.append(
                JSONStyle(
                    what: "with spaces after commas and colons, as Python's json.dumps does\(order)", isCommon: !isSorted, afterComma: " ", colon: ": ",
                    isSorted: isSorted, escapesUnicode: true))
            styles.append(
                JSONStyle(what: "with spaces after commas and colons\(order)", afterComma: " ", colon: ": ", isSorted: isSorted))
            styles.append(JSONStyle(what: "with \\/ for /, as Foundation does\(order)", isSorted: isSorted, escapesSlashes: true))
            styles.append(JSONStyle(what: "without spaces, with \\u for what is not ASCII\(order)", isSorted: isSorted, escapesUnicode: true))
            for spaces in [2, 4] {
                styles.append(JSONStyle(what: "on many lines, indented by \(spaces)\(order)", colon: ": ", indentation: spaces, isSorted: isSorted))
            }
            styles.append(
                JSONStyle(
                    what: "on many lines, as Foundation does\(order)", colon: " : ", indentation: 2, isSorted: isSorted, escapesSlashes: true))
        }
        return styles
    }()

    /// - Returns: `nil` if the result would exceed the limit.
    func bytes(of value: JSONValue, limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        write(value, level: 1, limit, into: &bytes)
        return bytes.count > limit ? nil : bytes
    }

    private func write(_ value: JSONValue, level: Int, _ limit: Int, into bytes: inout [UInt8]) {
        if bytes.count > limit { return }
        switch value {
        case .object(let object):
            let members = isSorted ? object.members.sorted { $0.name < $1.name } : object.members
            list("{", "}", members, level, limit, into: &bytes) { member, bytes in
                write(.string(member.name.string), level: level, limit, into: &bytes)
                bytes += colon.utf8
                write(member.value, level: level + 1, limit, into: &bytes)
            }
        case .array(let elements):
            list("[", "]", elements, level, limit, into: &bytes) { element, bytes in write(element, level: level + 1, limit, into: &bytes) }
        case .string(let string): writeString(string, into: &bytes)
        default: bytes += JSONWriter.bytes(of: value)
        }
    }

    private func list<Element>(
        _ start: String, _ end: String, _ elements: [Element], _ level: Int, _ limit: Int, into bytes: inout [UInt8],
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        bytes += start.utf8
        for (index, element) in elements.enumerated() {
            if bytes.count > limit { return }
            if index > 0 { bytes += ",".utf8 }
            if let indentation {
                bytes += ("\n" + String(repeating: " ", count: indentation * level)).utf8
            } else if index > 0 {
                bytes += afterComma.utf8
            }
            write(element, &bytes)
        }
        if let indentation, !elements.isEmpty { bytes += ("\n" + String(repeating: " ", count: indentation * (level - 1))).utf8 }
        bytes += end.utf8
    }

    private func writeString(_ string: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case "/" where escapesSlashes: bytes += "\\/".utf8
            case _ where scalar.value < 0x20 || (escapesUnicode && !scalar.isASCII):
                for unit in String(scalar).utf16 { bytes += ("\\u" + String(unit, digits: 4, radix: 16)).utf8 }
            default: bytes += String(scalar).utf8
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
