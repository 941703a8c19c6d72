internal import HTTPServing
internal import JSON
internal import Records
internal import Workbench

/// What was pasted into the page Tokens, read before anything is made of it.
struct PastedValue: Sendable {
    /// A token that stands in it, or that it is.
    struct Candidate: Sendable {
        /// Where it stands; empty for what is all there is.
        let path: String
        /// As it is sent to the page by itself.
        let text: String
        /// `nil` when the text there is of no known form.
        let bytes: [UInt8]?
        /// The zone that stands beside it.
        let zoneName: Name?
        let isMarker: Bool

        /// What the engine is asked about.
        var token: ChangeToken? { isMarker ? nil : bytes.map { ChangeToken(bytes: $0) } }
    }

    let text: String
    let reading: PastedReading
    /// What the bytes of a single value are.
    let content: PastedBytes.Content?
    let candidates: [Candidate]

    var isEmpty: Bool { reading == .empty }

    /// Whether the tokens come out of an archive, which is how apps on CloudKit.framework keep theirs.
    var isArchive: Bool {
        if case .propertyList? = content { true } else { false }
    }

    /// Reads a text; a long one on a thread of its own.
    static func read(_ text: String) async throws -> PastedValue {
        try await WorkPool.prompt.run(on: text.utf8.count) { PastedValue(text) }
    }

    private init(_ text: String) {
        self.text = text
        reading = PastedText(text).reading
        switch reading {
        case .empty, .unreadable: (content, candidates) = (nil, [])
        case .json(let tokens, _):
            content = nil
            candidates = tokens.map { Candidate($0) }
        case .bytes(let pasted):
            let content = pasted.content
            self.content = content
            switch content {
            case .propertyList(let outline): candidates = outline.tokens.map { Candidate($0) }
            case .brokenPropertyList: candidates = []
            case .text, .opaque:
                candidates =
                    pasted.gap == nil
                    ? [Candidate(path: "", text: TextForm.base64URL.text(of: pasted.bytes), bytes: pasted.bytes, zoneName: nil, isMarker: false)] : []
            }
        }
    }
}

extension PastedValue.Candidate {
    fileprivate init(_ token: FoundToken) {
        self.init(path: token.path, text: token.text, bytes: token.bytes, zoneName: token.zoneName, isMarker: token.kind == .continuationMarker)
    }
}
