internal import JSON

/// Words that the records of a batch add to `tokens`. They are written together in the order of the table, so that
/// writes to one page of the file stay together.
struct NewWords {
    /// Number of words after which they are written before the batch ends, and of those that one statement writes.
    private static let limit = 20_000

    private struct Index: Hashable {
        let field: Int64
        let zone: Int64
    }

    /// One element for each text, because the list is copied with each savepoint.
    private var texts: [(index: Index, name: Name, words: [Name])] = []
    private var count = 0

    /// - Parameter words: distinct words in index order.
    mutating func add(_ words: [Name], of field: Int64, _ name: Name, in zone: Int64, _ db: SQLConnection) throws {
        if words.isEmpty { return }
        texts.append((Index(field: field, zone: zone), name, words))
        count += words.count
        if count > Self.limit { try write(db) }
    }

    /// Writes the words if some are of a record of this name, which is about to lose words.
    mutating func write(of name: Name, _ db: SQLConnection) throws {
        if texts.contains(where: { $0.name == name }) { try write(db) }
    }

    mutating func write(_ db: SQLConnection) throws {
        if texts.isEmpty { return }
        for (index, texts) in Dictionary(grouping: texts, by: \.index) {
            let rows = texts.flatMap { text in text.words.map { TokenRows.Row(word: $0, name: text.name) } }
            // The words of one text are in order already.
            let ordered = texts.count > 1 ? rows.sorted() : rows
            for start in stride(from: 0, to: ordered.count, by: Self.limit) {
                try TokenRows.insert(ordered[start..<min(start + Self.limit, ordered.count)], of: index.field, in: index.zone, db)
            }
        }
        self = NewWords()
    }
}
