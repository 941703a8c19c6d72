internal import Console
internal import Workbench

/// The encodings and the content of a pasted text, from the outside in.
struct PastedSummary: ViewModel {
    /// `URL-encoded text`, `base64`, `278 bytes`, `a keyed archive of CKServerChangeToken`.
    let layers: [String]
    /// A problem with the text, such as damage.
    let problem: String?
    /// The origin of the text, if it can't be this server.
    let remark: String?

    init?(_ value: PastedValue) {
        switch value.reading {
        case .empty: return nil
        case .unreadable(let error):
            (layers, problem, remark) = ([], "\(error).", nil)
        case .json(let tokens, let leftOut):
            layers = ["JSON", tokens.isEmpty ? "no token in it" : Digits.count(tokens.count, "token")]
            problem =
                leftOut > 0
                ? "There are \(Digits.grouped(leftOut)) more tokens than are shown."
                : tokens.isEmpty ? "No syncToken, metaSyncToken, changeToken or continuationMarker with text was found, at any depth." : nil
            remark = nil
        case .bytes(let pasted):
            let size = Digits.bytes(Int64(pasted.bytes.count))
            let (content, trouble, remark) = Self.words(value.content, tokens: value.tokens.count)
            layers = pasted.forms.map(\.title) + [size] + [content].compactMap { $0 }
            problem = Self.missing(pasted) ?? trouble
            self.remark = remark
        }
    }

    private static func words(_ content: PastedBytes.Content?, tokens: Int) -> (layer: String?, problem: String?, remark: String?) {
        switch content {
        case .propertyList(let outline):
            let kind = outline.isKeyedArchive ? "a keyed archive" : "a binary property list"
            let layer = outline.rootClass.map { "\(kind) of \($0)" } ?? kind
            let remark =
                tokens == 0
                ? "It has no CKServerChangeToken."
                : "Apps that use CloudKit.framework store their tokens this way. Only the server that issued the token can read its content."
            return (layer, nil, remark)
        case .brokenPropertyList(let error): return ("the beginning of a binary property list", "It can't be read: \(error).", nil)
        case .text(let text): return ("readable text: ‘\(text.count > 60 ? text.prefix(60) + "…" : text)’", nil, nil)
        case .opaque, nil: return (nil, nil, nil)
        }
    }

    private static func missing(_ pasted: PastedBytes) -> String? {
        guard let gap = pasted.gap else { return nil }
        let remedy = "Print data.base64EncodedString() and paste that."
        guard let count = gap.count else { return "Bytes are missing after the first \(gap.offset): the dump was cut. \(remedy)" }
        let place = gap.offset == pasted.bytes.count ? "at the end" : "after the first \(gap.offset)"
        return "\(Digits.bytes(Int64(count))) of \(Digits.bytes(Int64(count + pasted.bytes.count))) are missing \(place): the dump was cut, and the rest is not a token. \(remedy)"
    }
}
