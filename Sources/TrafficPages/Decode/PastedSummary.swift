internal import Console
internal import RequestLog

/// The encodings and the content of a pasted text, from the outside in.
struct PastedSummary: ViewModel {
    /// `URL-encoded text`, `base64`, `278 bytes`, `a keyed archive of CKServerChangeToken`.
    let layers: [String]
    /// A problem with the text, such as damage.
    let problem: String?
    /// The origin of the text, if it can't be this server.
    let remark: String?

    /// - Parameter isSent: true if the form was sent, so that an empty one is answered.
    init?(_ value: PastedValue, isSent: Bool) {
        switch value.reading {
        case .empty:
            if !isSent { return nil }
            problem =
                "There is nothing to explain: paste a token, an archive of one, a dump from Xcode or a whole response."
            (layers, remark) = ([], nil)
        case .unreadable(let error):
            (layers, problem, remark) = ([], "\(error).", nil)
        case .json(let tokens, let leftOut):
            layers = ["JSON", tokens.isEmpty ? "no token in it" : Digits.count(tokens.count, "token")]
            problem =
                leftOut > 0
                ? "There are \(Digits.grouped(leftOut)) more tokens than are shown."
                : tokens.isEmpty
                    ? "No syncToken, metaSyncToken, changeToken or continuationMarker with text was found, at any depth."
                    : nil
            remark = nil
        case .bytes(let pasted):
            let size = Digits.bytes(Int64(pasted.bytes.count))
            let (content, trouble, remark) = Self.words(value.content, tokens: value.tokens.count)
            layers = pasted.forms.map(\.title) + [size] + [content].compactMap { $0 }
            problem = Self.missing(pasted) ?? trouble
            self.remark = remark
        }
    }

    private static func words(_ content: PastedBytes.Content?, tokens: Int) -> (
        layer: String?, problem: String?, remark: String?
    ) {
        switch content {
        case .propertyList(let outline):
            let kind = outline.isKeyedArchive ? "a keyed archive" : "a binary property list"
            let layer = outline.rootClass.map { "\(kind) of \($0)" } ?? kind
            let remark =
                tokens == 0
                ? "It has no CKServerChangeToken."
                : "Apps that use CloudKit.framework store their tokens this way. Only the server that issued the token can read its content."
            return (layer, nil, remark)
        case .brokenPropertyList(let error):
            return ("the beginning of a binary property list", "It can't be read: \(error).", nil)
        case .text(let text): return ("readable text: ‘\(text.count > 60 ? text.prefix(60) + "…" : text)’", nil, nil)
        case .opaque, nil: return (nil, nil, nil)
        }
    }

    private static func missing(_ pasted: PastedBytes) -> String? {
        guard let gap = pasted.gap else { return nil }
        let remedy = "Print data.base64EncodedString() and paste that."
        guard let count = gap.count else {
            return "Bytes are missing after the first \(gap.offset): the dump was cut. \(remedy)"
        }
        let place = gap.offset == pasted.bytes.count ? "at the end" : "after the first \(gap.offset)"
        return
            "\(Digits.bytes(Int64(count))) of \(Digits.bytes(Int64(count + pasted.bytes.count))) are missing \(place): the dump was cut, and the rest is not a token. \(remedy)"
    }
}

// MARK: - Archives

/// The objects of a pasted property list or keyed archive.
struct ArchiveTable: ViewModel {
    struct Row: ViewModel {
        /// A CSS class for the indentation of the object.
        let depth: String
        let name: String
        let kind: String
        let text: String?
        let digits: String?
        let size: String?

        func child(named name: String) -> Any? {
            switch name {
            case "depth": depth
            case "name": self.name
            case "kind": kind
            case "text": text ?? Absent()
            case "digits": digits ?? Absent()
            case "size": size ?? Absent()
            default: nil
            }
        }
    }

    /// The number of data bytes that a row shows.
    private static let shownBytes = 24
    /// The maximum indentation. Deeper objects use it too.
    private static let depths = 8

    let title: String
    let note: String
    let rows: [Row]
    let isCut: Bool

    init(_ outline: PropertyListOutline) {
        title = outline.isKeyedArchive ? "The archive's objects" : "The property list"
        let count = Digits.count(outline.objectCount, "object")
        note =
            outline.isKeyedArchive
            ? "\(count), as NSKeyedArchiver wrote them. Only a class knows the meaning of its members; data is not decoded."
            : "\(count), as stored."
        rows = outline.lines.map { line in
            let shown = line.bytes.map { bytes in
                TextForm.hex.text(of: Array(bytes.prefix(Self.shownBytes))) + (bytes.count > Self.shownBytes ? "…" : "")
            }
            return Row(
                depth: "depth\(min(line.depth, Self.depths))", name: line.name.isEmpty ? "top" : line.name,
                kind: line.kind, text: line.text, digits: shown,
                size: line.bytes.map { Digits.bytes(Int64($0.count)) })
        }
        isCut = outline.isCut
    }
}

// MARK: - Bytes

/// Bytes in all their text encodings, ready to copy.
struct TokenForms: ViewModel {
    struct Form: ViewModel {
        let name: String
        let text: String
        /// True if the input had this encoding.
        let isPasted: Bool
    }

    /// The size limit of the encodings, in bytes. Six encodings of a longer value would fill the page.
    static let limit = 4_096

    let title: String
    let forms: [Form]
    /// A message in place of the encodings.
    let tooLong: String?
    let dump: ByteDump

    /// - Parameter pasted: the encodings of the input, the outermost first.
    init(_ title: String, bytes: [UInt8], pasted: [TextForm] = [], isOpen: Bool) {
        self.title = title
        let isLong = bytes.count > Self.limit
        tooLong = isLong ? "\(Digits.bytes(Int64(bytes.count))) are too many to show in every form." : nil
        // If the input is encoded twice, only the outer encoding matches it.
        let whole = pasted.count > 2 ? nil : pasted.first
        forms =
            isLong
            ? [] : TextForm.allCases.map { Form(name: $0.title, text: $0.text(of: bytes), isPasted: $0 == whole) }
        dump = ByteDump(bytes, isOpen: isOpen)
    }
}

/// The bytes themselves.
struct ByteDump: ViewModel {
    let text: String
    let more: String?
    let count: String
    let isOpen: Bool

    init(_ bytes: [UInt8], isOpen: Bool) {
        let dump = HexDump(bytes)
        text = dump.lines.map { line in
            "\(line.offset)  \(line.digits)\(String(repeating: " ", count: max(0, 48 - line.digits.utf8.count)))  \(line.characters)"
        }.joined(separator: "\n")
        more = dump.leftOut == 0 ? nil : "\(Digits.bytes(Int64(dump.leftOut))) more"
        count = Digits.bytes(Int64(bytes.count))
        self.isOpen = isOpen
    }
}
