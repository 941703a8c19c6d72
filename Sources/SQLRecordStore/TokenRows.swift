internal import JSON

/// Writes rows of `tokens`. A text can have thousands of words, so the rows of a field are written with one statement
/// that takes a list. They are in index order, so that writes to the same page stay together.
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
