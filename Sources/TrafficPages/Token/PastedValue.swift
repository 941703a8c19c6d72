internal import HTTPServing
internal import JSON
internal import Records
internal import Workbench

/// The parsed input of the page Tokens.
struct PastedValue: Sendable {
    /// A token in the input, or the whole input.
    struct Candidate: Sendable {
        /// The path within the input; empty for the whole input.
        let path: String
        /// The text that sends this token alone to the page.
        let text: String
        /// `nil` if the text has no known encoding.
        let bytes: [UInt8]?
        /// The zone name beside the token.
        let zoneName: Name?
        let isMarker: Bool

        /// The change token to explain.
        var token: ChangeToken? { isMarker ? nil : bytes.map { ChangeToken(bytes: $0) } }
    }

    let text: String
    let reading: PastedReading
    /// The content of a single value's bytes.
    let content: PastedBytes.Content?
    let candidates: [Candidate]

    var isEmpty: Bool { reading == .empty }

    /// True if the tokens are from an archive, the storage format of apps that use CloudKit.framework.
    var isArchive: Bool {
        if case .propertyList? = content { true } else { false }
    }

    /// Parses a text. Long texts are parsed on another thread.
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
