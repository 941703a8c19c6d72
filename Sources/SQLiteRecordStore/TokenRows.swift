internal import GRDB
internal import JSON

/// Writes rows of `tokens`. A text can have thousands of words, so the rows of a field are written with one statement
/// that takes a JSON array. They are in index order, so that writes to the same page stay together.
enum TokenRows {
    struct Row: Comparable {
        let word: Name
        let name: Name

        static func < (left: Row, right: Row) -> Bool {
            left.word == right.word ? left.name < right.name : left.word < right.word
        }
    }

    static func insert(_ rows: ArraySlice<Row>, of field: Int64, in zone: Int64, _ db: Database) throws {
        // A word contains no space.
        try db.run(
            """
            INSERT INTO tokens (field, zone, token, name)
            SELECT ?, ?, substr(value, 1, instr(value, ' ') - 1), substr(value, instr(value, ' ') + 1) FROM json_each(?)
            """, [field, zone, array(rows.lazy.map { $0.word.string + " " + $0.name.string })])
    }

    static func remove(_ words: [Name], of field: Int64, _ name: String, in zone: Int64, _ db: Database) throws {
        if words.isEmpty { return }
        try db.run(
            "DELETE FROM tokens WHERE field = ? AND zone = ? AND token IN (SELECT value FROM json_each(?)) AND name = ?",
            [field, zone, array(words.lazy.map(\.string)), name])
    }

    private static func array(_ texts: some Sequence<String>) -> String {
        var writer = JSONWriter()
        writer.array { writer in for text in texts { writer.value(text) } }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
