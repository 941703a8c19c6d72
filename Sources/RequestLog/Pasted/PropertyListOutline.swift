internal import Records

/// A property list as readable lines, from the root object down. For a keyed
/// archive, it shows the archived objects rather than the archive structure.
///
/// It does not interpret the members of archived classes, because only the class knows their meaning.
public struct PropertyListOutline: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        /// The nesting depth; 0 for the outermost object.
        public let depth: Int
        /// The key, or the index in an array.
        public let name: String
        /// The class of an archived object, or the kind of value, such as `data` or `string`.
        public let kind: String
        /// The value, truncated if it is long; `nil` for containers.
        public let text: String?
        /// The complete bytes of a data value; `nil` for other values.
        public let bytes: [UInt8]?
    }

    /// The maximum number of lines.
    public static let lineLimit = 400
    static let depthLimit = 24
    /// The maximum nesting of lists within data values of lists.
    static let nestingLimit = 3

    /// True for the output of NSKeyedArchiver.
    public let isKeyedArchive: Bool
    /// The class of the archive's root object; `nil` if there is none, or the list is not an archive.
    public let rootClass: String?
    public let objectCount: Int
    public let lines: [Line]
    /// True if the limits omitted lines or tokens.
    public let isCut: Bool
    /// The data of all archived `CKServerChangeToken` objects, with their paths.
    public let tokens: [FoundToken]

    public init(of list: BinaryPropertyList) {
        self.init(of: list, nesting: 0)
    }

    init(of list: BinaryPropertyList, nesting: Int) {
        var outliner = PropertyListOutliner(list, nesting: nesting)
        outliner.run()
        isKeyedArchive = outliner.archived != nil
        rootClass = outliner.rootClass
        objectCount = list.objects.count
        lines = outliner.lines
        isCut = outliner.isCut
        tokens = outliner.tokens
    }
}

// MARK: - Outliner

/// Walks through a property list and creates its outline. Each object appears in full only at its first occurrence.
struct PropertyListOutliner {
    /// The class whose data is a change token.
    private static let tokenClass = "CKServerChangeToken"
    private static let textLimit = 300
    private static let tokenLimit = 200
    /// The size limit of all tokens together, in bytes.
    private static let tokenRoom = 1 << 20
    /// The seconds from 1 January 1970 to 1 January 2001.
    private static let epoch = 978_307_200.0

    private let list: BinaryPropertyList
    private let nesting: Int
    /// The objects of a keyed archive, which its UIDs refer to; `nil` for other lists.
    let archived: [Int]?
    private var shown: Set<Int> = []
    private var tokenBytes = 0
    private(set) var lines: [PropertyListOutline.Line] = []
    private(set) var isCut = false
    private(set) var tokens: [FoundToken] = []

    init(_ list: BinaryPropertyList, nesting: Int) {
        self.list = list
        self.nesting = nesting
        archived = list["$objects", in: list.top].flatMap { index in
            guard list["$archiver", in: list.top] != nil, case .array(let objects) = list.objects[index] else {
                return nil
            }
            return objects
        }
    }

    mutating func run() {
        guard archived != nil else { return visit(list.top, name: "", depth: 0, path: "") }
        guard let top = list["$top", in: list.top], case .dictionary(let keys, let values) = list.objects[top] else {
            return
        }
        for (key, value) in zip(keys, values) {
            if isFull() { return }
            let name = self.name(key)
            visit(value, name: name, depth: 0, path: name)
        }
    }

    /// The class of the object under `root`, or of the only object.
    var rootClass: String? {
        guard let top = list["$top", in: list.top], case .dictionary(_, let values) = list.objects[top] else {
            return nil
        }
        return (list["root", in: top] ?? (values.count == 1 ? values.first : nil)).flatMap { className(of: target($0)) }
    }

    // MARK: Objects

    /// - Parameter owner: the class of the enclosing object.
    private mutating func visit(_ reference: Int, name: String, depth: Int, path: String, owner: String? = nil) {
        guard lines.count < PropertyListOutline.lineLimit, depth <= PropertyListOutline.depthLimit else {
            return isCut = true
        }
        let index = target(reference)
        func line(_ kind: String, _ text: String? = nil, bytes: [UInt8]? = nil) -> PropertyListOutline.Line {
            PropertyListOutline.Line(depth: depth, name: name, kind: kind, text: text.map(Self.clipped), bytes: bytes)
        }
        switch list.objects[index] {
        case .null: lines.append(line("null"))
        case .bool(let bool): lines.append(line("bool", bool ? "true" : "false"))
        case .integer(let integer): lines.append(line("integer", String(integer)))
        case .unsigned(let integer): lines.append(line("integer", String(integer)))
        case .real(let real): lines.append(line("real", real.description))
        case .date(let seconds): lines.append(line("date", Self.moment(seconds)))
        case .uid(let number): lines.append(line("UID", "\(number), which the archive does not have"))
        case .string(let text):
            lines.append(archived != nil && text == "$null" ? line("nil") : line("string", text))
        case .data(let bytes):
            lines.append(line("data", bytes: bytes))
            found(bytes, in: index, depth: depth, path: path, owner: owner)
        case .array(let elements), .set(let elements):
            guard open(index, line("array", Self.count(elements.count, "value"))) else { return }
            for (number, element) in elements.enumerated() {
                if isFull() { return }
                visit(element, name: String(number), depth: depth + 1, path: "\(path)[\(number)]", owner: owner)
            }
        case .dictionary(let keys, let values):
            if archived != nil, let name = className(of: index) {
                return visit(
                    index, of: name, members: zip(keys, values), depth: depth, path: path, owner: owner, line: line)
            }
            guard open(index, line("dictionary", Self.count(keys.count, "key"))) else { return }
            for (key, value) in zip(keys, values) {
                if isFull() { return }
                let name = self.name(target(key))
                visit(value, name: name, depth: depth + 1, path: path.isEmpty ? name : "\(path).\(name)")
            }
        }
    }

    /// Adds an archived object. Objects of Foundation's own classes appear as the values that they represent.
    private mutating func visit(
        _ index: Int, of className: String, members: Zip2Sequence<[Int], [Int]>, depth: Int, path: String,
        owner: String?,
        line: (String, String?, [UInt8]?) -> PropertyListOutline.Line
    ) {
        func member(_ key: String) -> BinaryPropertyList.Object? {
            list[key, in: index].map { list.objects[target($0)] }
        }
        switch className {
        case "NSData", "NSMutableData":
            if case .data(let bytes)? = member("NS.data") {
                lines.append(line(className, nil, bytes))
                return found(bytes, in: index, depth: depth, path: path, owner: owner)
            }
        case "NSString", "NSMutableString":
            if case .string(let text)? = member("NS.string") { return lines.append(line(className, text, nil)) }
        case "NSDate":
            if case .real(let seconds)? = member("NS.time") {
                return lines.append(line(className, Self.moment(seconds), nil))
            }
        case "NSUUID":
            if case .data(let bytes)? = member("NS.uuidbytes"), bytes.count == 16 {
                return lines.append(line(className, Self.uuid(bytes), nil))
            }
        case "NSDictionary", "NSMutableDictionary":
            if case .array(let keys)? = member("NS.keys"), case .array(let values)? = member("NS.objects"),
                keys.count == values.count
            {
                guard open(index, line(className, Self.count(keys.count, "key"), nil)) else { return }
                for (key, value) in zip(keys, values) {
                    if isFull() { return }
                    let name = summary(of: target(key))
                    visit(value, name: name, depth: depth + 1, path: "\(path).\(name)")
                }
                return
            }
        case "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet":
            if case .array(let elements)? = member("NS.objects") {
                guard open(index, line(className, Self.count(elements.count, "value"), nil)) else { return }
                for (number, element) in elements.enumerated() {
                    if isFull() { return }
                    visit(element, name: String(number), depth: depth + 1, path: "\(path)[\(number)]")
                }
                return
            }
        default: break
        }
        guard open(index, line(className, nil, nil)) else { return }
        for (key, value) in members {
            if isFull() { return }
            let name = self.name(target(key))
            if name != "$class" {
                visit(value, name: name, depth: depth + 1, path: "\(path).\(name)", owner: className)
            }
        }
    }

    /// Adds a container, and returns true if its content should follow: only at its first occurrence.
    private mutating func open(_ index: Int, _ line: PropertyListOutline.Line) -> Bool {
        guard shown.insert(index).inserted else {
            lines.append(
                PropertyListOutline.Line(
                    depth: line.depth, name: line.name, kind: line.kind, text: "the same object as before", bytes: nil))
            return false
        }
        lines.append(line)
        return true
    }

    /// True if the line limit is reached. Marks the outline as incomplete.
    private mutating func isFull() -> Bool {
        if lines.count >= PropertyListOutline.lineLimit { isCut = true }
        return lines.count >= PropertyListOutline.lineLimit
    }

    /// - Parameter index: the object with the bytes. A list in its data is opened only at its first occurrence.
    private mutating func found(_ bytes: [UInt8], in index: Int, depth: Int, path: String, owner: String?) {
        if owner == Self.tokenClass, bytes.count > Self.tokenRoom - tokenBytes {
            isCut = true
        } else if owner == Self.tokenClass {
            add([FoundToken(path: path, text: Base64.text(of: bytes), bytes: bytes)])
        }
        // Bytes that only begin like a list appear as bytes.
        guard BinaryPropertyList.isOne(bytes), shown.insert(index).inserted, nesting < PropertyListOutline.nestingLimit,
            let inner = try? BinaryPropertyList(bytes)
        else { return }
        let outline = PropertyListOutline(of: inner, nesting: nesting + 1)
        let room = max(0, PropertyListOutline.lineLimit - lines.count)
        lines += outline.lines.prefix(room).map {
            PropertyListOutline.Line(
                depth: depth + 1 + $0.depth, name: $0.name, kind: $0.kind, text: $0.text, bytes: $0.bytes)
        }
        if outline.isCut || outline.lines.count > room { isCut = true }
        add(outline.tokens.map { FoundToken(path: "\(path) › \($0.path)", text: $0.text, bytes: $0.bytes) })
    }

    /// Adds tokens within the limits.
    private mutating func add(_ found: [FoundToken]) {
        for token in found {
            guard tokens.count < Self.tokenLimit, tokenBytes + (token.bytes?.count ?? 0) <= Self.tokenRoom else {
                return isCut = true
            }
            tokenBytes += token.bytes?.count ?? 0
            tokens.append(token)
        }
    }

    // MARK: References

    /// The object that a reference refers to. In an archive, this resolves UIDs.
    private func target(_ reference: Int) -> Int {
        guard let archived, case .uid(let number) = list.objects[reference], number < UInt64(archived.count) else {
            return reference
        }
        return archived[Int(number)]
    }

    private func className(of index: Int) -> String? {
        list["$class", in: index].flatMap { list["$classname", in: target($0)] }.flatMap { list.string(target($0)) }
            .map(Self.clipped)
    }

    /// A short description of an object. Dictionary keys need not be strings.
    private func summary(of index: Int) -> String {
        if let text = list.string(index) { return Self.clipped(text) }
        guard let name = className(of: index), case .dictionary(let keys, let values) = list.objects[index] else {
            return "?"
        }
        let texts = zip(keys, values).compactMap { key, value in
            list.string(target(key)) == "$class" ? nil : list.string(target(value))
        }
        return texts.first.map { "\(name) \(Self.clipped($0))" } ?? name
    }

    // MARK: Formatting

    private func name(_ index: Int) -> String { list.string(index).map(Self.clipped) ?? "?" }

    /// Truncates by scalars, because a single character can be arbitrarily long.
    private static func clipped(_ text: String) -> String {
        if text.utf8.count <= textLimit { return text }
        let scalars = text.unicodeScalars.prefix(textLimit)
        return scalars.endIndex == text.unicodeScalars.endIndex ? text : String(scalars) + "…"
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    /// The time in seconds since 1970, which needs no calendar.
    private static func moment(_ seconds: Double) -> String { "\((seconds + epoch).description) s since 1970" }

    private static func uuid(_ bytes: [UInt8]) -> String {
        let digits = Hexadecimal.text(of: bytes).uppercased()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }
}
