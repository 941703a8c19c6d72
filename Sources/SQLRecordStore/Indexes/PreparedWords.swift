internal import Dispatch
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
        limit: 2,
        refusal: RecordError(
            .tryAgainLater, "Too many requests with long texts are waiting; try again later", retryAfter: 1))

    /// Words by text, in index order.
    private var words: [Name: [Name]] = [:]

    /// Number of tokenized texts.
    var count: Int { words.count }

    /// An empty cache. Texts are tokenized when they are needed.
    static let none = PreparedWords()

    /// The texts that a request saves in SEARCHABLE fields, or in fields that the schema does not contain yet.
    static func texts(of request: ModifyRequest, in schema: Schema) -> [String] {
        request.operations.flatMap { operation in
            let type = operation.recordType.flatMap { schema.types[$0] }
            return operation.fields.compactMap { field, input -> String? in
                guard case .string(let text)? = input.givenValue else { return nil }
                return type?.fields[field]?.indexes.contains(.searchable) ?? true ? text : nil
            }
        }
    }

    /// True if tokenizing the texts on another thread pays off.
    static func areLong(_ texts: [String]) -> Bool { texts.reduce(0) { $0 + $1.utf8.count } >= shortest }

    /// Tokenizes texts on another thread.
    /// - Parameter read: reads the texts when it is their turn, so that waiting requests hold no texts in memory.
    /// - Throws: the error of `read`; `CancellationError` if the task is cancelled while it waits; `RecordError`
    ///   TRY_AGAIN_LATER if too many requests are waiting.
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
        // Long words may have the same entry, because it contains only their beginning.
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

// MARK: - Texts of stored records

extension SQLDatabase {
    /// Words of the texts that a request saves, and of the current texts of the records it names.
    ///
    /// They are only a cache. Texts saved in the meantime are tokenized in the transaction.
    /// - Parameter texts: the texts to be saved.
    func preparedWords(for request: ModifyRequest, _ texts: [String]) async throws -> PreparedWords {
        try await PreparedWords.of { texts + (try await presentTexts(of: request)) }
    }

    /// Maximum size in bytes of the stored texts that are read ahead. The writer tokenizes the others.
    private static let textsInMemory = 16 << 20

    private func presentTexts(of request: ModifyRequest) async throws -> [String] {
        try await store.readLong(for: .query) { [view] db, catalog in
            var lookups: [ZoneID: Result<NameLookup?, RecordError>] = [:]
            var bytes = 0
            return try request.operations.flatMap { operation -> [String] in
                guard operation.kind != .create, let name = operation.recordName, bytes < Self.textsInMemory else {
                    return []
                }
                let zoneID = operation.zoneID ?? request.zoneID
                let lookup = try lookups[zoneID] ?? Self.lookup(in: zoneID, view, db, catalog)
                lookups[zoneID] = lookup
                // A missing zone is reported when the request is applied.
                guard case .success(let names?) = lookup else { return [] }
                return try names.row(named: name) { row in
                    if row.isDeleted { return nil }
                    let fields = (catalog.indexedFields[try row.recordType] ?? []).filter {
                        $0.indexes.contains(.searchable)
                    }
                    let keys = Set(
                        fields.compactMap { field -> Name? in
                            if case .custom(let name) = field.key { name } else { nil }
                        })
                    return try row.record().fields.values(of: keys).values.compactMap { value -> String? in
                        guard case .string(let text) = value else { return nil }
                        bytes += text.utf8.count
                        return text
                    }
                } ?? []
            }
        }
    }
}

// MARK: - Words within a transaction

/// Provides the words of texts to a transaction: from the prepared words, or by tokenizing the text while other saves
/// wait.
///
/// It counts the bytes tokenized here, and postpones a request for which long texts would have to be tokenized.
/// Therefore short texts need no additional read before the save.
final class TransactionWords {
    /// Thrown to run the request again with prepared words for the texts it replaces or deletes.
    struct Postponed: Error {}

    /// Number of tokenized bytes, which take about 30 ms, after which work that can be postponed is no longer started.
    private static let much = 65_536

    private let prepared: PreparedWords
    private let request: ModifyRequest?
    /// Number of bytes tokenized here.
    private(set) var bytesCut = 0

    /// - Parameter request: the request to postpone if the records that it names have long texts; `nil` to tokenize
    ///   all texts here.
    init(_ prepared: PreparedWords = .none, puttingOff request: ModifyRequest? = nil) {
        self.prepared = prepared
        self.request = request
    }

    var isMuchCut: Bool { bytesCut >= Self.much }

    /// The words of a record's text, in index order.
    /// - Throws: ``Postponed`` to postpone the request.
    func words(of text: String, in record: Name) throws -> [Name] {
        if let words = prepared[text] { return words }
        bytesCut += text.utf8.count
        if bytesCut >= PreparedWords.shortest, let request,
            request.operations.contains(where: { $0.recordName == record })
        {
            throw Postponed()
        }
        return PreparedWords.cut(text)
    }
}

// MARK: - New words of a batch

/// Words that the records of a batch add to `tokens`. They are written together in the table's order, so that writes
/// to the same page are adjacent.
struct AddedWords {
    /// Number of collected words at which they are written before the batch ends, and maximum number of words in one
    /// statement.
    private static let limit = 20_000

    private struct Index: Hashable {
        let field: Int64
        let zone: Int64
    }

    /// One element for each text, because savepoints copy the list.
    private var texts: [(index: Index, name: Name, words: [Name])] = []
    private var count = 0

    /// - Parameter words: distinct words in index order.
    mutating func add(_ words: [Name], of field: Int64, _ name: Name, in zone: Int64, _ db: SQLConnection) throws {
        if words.isEmpty { return }
        texts.append((Index(field: field, zone: zone), name, words))
        count += words.count
        if count > Self.limit { try write(db) }
    }

    /// Writes the collected words if some belong to a record of this name, whose words are about to be removed.
    mutating func write(of name: Name, _ db: SQLConnection) throws {
        if texts.contains(where: { $0.name == name }) { try write(db) }
    }

    mutating func write(_ db: SQLConnection) throws {
        if texts.isEmpty { return }
        for (index, texts) in Dictionary(grouping: texts, by: \.index) {
            let rows = texts.flatMap { text in text.words.map { TokenRows.Row(word: $0, name: text.name) } }
            // The words of a single text are sorted already.
            let ordered = texts.count > 1 ? rows.sorted() : rows
            for start in stride(from: 0, to: ordered.count, by: Self.limit) {
                try TokenRows.insert(
                    ordered[start..<min(start + Self.limit, ordered.count)], of: index.field, in: index.zone, db)
            }
        }
        self = AddedWords()
    }
}

// MARK: - Rows

/// Writes rows of `tokens`. A text can have thousands of words, so the rows of a field are written with one statement
/// that takes a list. They are sorted in index order, so that writes to the same page are adjacent.
enum TokenRows {
    struct Row: Comparable {
        let word: Name
        let name: Name

        static func < (left: Row, right: Row) -> Bool {
            left.word == right.word ? left.name < right.name : left.word < right.word
        }
    }

    static func insert(_ rows: ArraySlice<Row>, of field: Int64, in zone: Int64, _ db: SQLConnection) throws {
        try db.driver.insertWords(rows.map { ($0.word.string, $0.name.string) }, of: field, in: zone, on: db)
    }

    static func remove(_ words: [Name], of field: Int64, _ name: String, in zone: Int64, _ db: SQLConnection) throws {
        if words.isEmpty { return }
        try db.driver.removeWords(words.map(\.string), of: field, name, in: zone, on: db)
    }
}
