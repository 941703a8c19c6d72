internal import Dispatch
internal import JSON
internal import RecordStore
internal import Records

/// The words of the long texts in a request, and of those that it replaces or deletes, found before the writer takes it up: saves wait for no work
/// that needs nothing but the text.
///
/// They are an input and no decision. Which fields are SEARCHABLE is settled inside the transaction, and a text that is not among these is cut
/// there.
struct PreparedWords: Sendable {
    /// Bytes of text up to which a request is not worth the way to another thread.
    static let shortest = 16_384
    /// Requests whose texts are cut at a time; the others wait, without holding a thread.
    private static let turns = AsyncSemaphore(
        limit: 2, refusal: RecordError(.tryAgainLater, "Too many requests with long texts wait; try again soon", retryAfter: 1))

    /// Those of each text, in the order of the index.
    private var words: [Name: [Name]] = [:]

    /// Texts whose words are known.
    var count: Int { words.count }

    /// No words: each text is cut when it comes up.
    static let none = PreparedWords()

    /// The texts of a request that are to be saved in fields that are SEARCHABLE, or may be by then.
    static func texts(of request: ModifyRequest, in schema: Schema) -> [String] {
        request.operations.flatMap { operation in
            operation.fields.compactMap { field, input -> String? in
                guard case .string(let text)? = input.givenValue else { return nil }
                let definition = operation.recordType.flatMap { schema.types[$0]?.fields[field] }
                return definition?.indexes.contains(.searchable) ?? true ? text : nil
            }
        }
    }

    /// Whether texts are worth the way to another thread.
    static func areLong(_ texts: [String]) -> Bool { texts.reduce(0) { $0 + $1.utf8.count } >= shortest }

    /// Cuts texts on another thread.
    /// - Parameter read: reads them when it is their turn, so that nothing is held while others are cut.
    /// - Throws: what `read` throws, `CancellationError` when the task is cancelled before its turn, `RecordError` TRY_AGAIN_LATER when too many
    ///   wait for one.
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

    /// The words of a text, in the order of the index; `nil` for one that was not cut.
    subscript(_ text: String) -> [Name]? { words.isEmpty ? nil : words[Name(text)] }

    /// Cuts one text here and now.
    static func cut(_ text: String) -> [Name] {
        Tokenizer.tokens(of: text).map { Name($0) }.sorted()
    }
}

extension FieldInput {
    /// The value as it was given, before the schema had its say; `nil` where a field is cleared.
    fileprivate var givenValue: FieldValue? {
        switch self {
        case .tagged(let value, _, _), .untagged(let value, _): value
        case .cleared: nil
        }
    }
}
