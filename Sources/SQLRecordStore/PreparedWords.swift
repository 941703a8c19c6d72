internal import Dispatch
internal import JSON
internal import RecordStore
internal import Records

/// Words of the long texts that a request saves, replaces or deletes, extracted before the write runs. Other saves
/// then don't wait for the tokenizer.
///
/// The words are only a cache. The transaction decides which fields are SEARCHABLE, and tokenizes texts that are
/// missing here.
struct PreparedWords: Sendable {
    /// Minimum total bytes of text for which tokenizing on another thread pays off.
    static let shortest = 16_384
    /// Limits concurrent tokenizing. Waiting requests don't hold a thread.
    private static let turns = AsyncSemaphore(
        limit: 2, refusal: RecordError(.tryAgainLater, "Too many requests with long texts are waiting; try again later", retryAfter: 1))

    /// Words by text, in index order.
    private var words: [Name: [Name]] = [:]

    /// Number of tokenized texts.
    var count: Int { words.count }

    /// An empty cache. Texts are tokenized when they are needed.
    static let none = PreparedWords()

    /// The texts that a request saves in SEARCHABLE fields, or in fields the schema does not contain yet.
    static func texts(of request: ModifyRequest, in schema: Schema) -> [String] {
        request.operations.flatMap { operation in
            operation.fields.compactMap { field, input -> String? in
                guard case .string(let text)? = input.givenValue else { return nil }
                let definition = operation.recordType.flatMap { schema.types[$0]?.fields[field] }
                return definition?.indexes.contains(.searchable) ?? true ? text : nil
            }
        }
    }

    /// True if tokenizing the texts on another thread pays off.
    static func areLong(_ texts: [String]) -> Bool { texts.reduce(0) { $0 + $1.utf8.count } >= shortest }

    /// Tokenizes texts on another thread.
    /// - Parameter read: reads the texts when it is their turn, so that no texts are in memory while others are tokenized.
    /// - Throws: the error of `read`; `CancellationError` if the task is cancelled while it waits; `RecordError` TRY_AGAIN_LATER if too many
    ///   requests are waiting.
    static func of(_ read: @Sendable () async throws -> [String]) async throws -> PreparedWords {
        try await turns.run {
            let texts = try await read()
            return await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    var prepared = PreparedWords()
                    for text in texts { prepared.words[Name(text)] = Self.cut(text) }
                    continuation.resume(returning: prepared)
                }
            }
        }
    }

    /// The words of a text in index order; `nil` if the text was not tokenized.
    subscript(_ text: String) -> [Name]? { words.isEmpty ? nil : words[Name(text)] }

    /// Tokenizes a text on the current thread.
    static func cut(_ text: String) -> [Name] {
        let tokens = Tokenizer.tokens(of: text)
        let words = tokens.map { Name(EntryValue.word($0)) }
        // Long words may have the same entry.
        return (tokens.contains { $0.utf8.count > EntryValue.prefixLength } ? Array(Set(words)) : words).sorted()
    }
}

extension FieldInput {
    /// The value in the request, before the schema is applied; `nil` if the field is cleared.
    fileprivate var givenValue: FieldValue? {
        switch self {
        case .tagged(let value, _, _), .untagged(let value, _): value
        case .cleared: nil
        }
    }
}
