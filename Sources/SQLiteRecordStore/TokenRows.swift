internal import GRDB
internal import JSON

/// Writes rows of `tokens`. A text can have thousands of words, so each field is written with one statement that
/// takes a JSON array. Words are in index order, so that writes to the same page stay together.
enum TokenRows {
    static func insert(_ words: [Name], of field: Int64, _ name: String, in zone: Int64, _ db: Database) throws {
        if words.isEmpty { return }
        try db.run(
            "INSERT INTO tokens (field, zone, token, name) SELECT ?, ?, value, ? FROM json_each(?)", [field, zone, name, array(words)])
    }

    static func remove(_ words: [Name], of field: Int64, _ name: String, in zone: Int64, _ db: Database) throws {
        if words.isEmpty { return }
        try db.run(
            "DELETE FROM tokens WHERE field = ? AND zone = ? AND token IN (SELECT value FROM json_each(?)) AND name = ?",
            [field, zone, array(words), name])
    }

    /// Words contain only letters, digits and marks, so no escaping is needed.
    private static func array(_ words: [Name]) -> String {
        var text = "["
        text.reserveCapacity(words.reduce(2) { $0 + $1.utf8.count + 3 })
        for word in words {
            text += text.utf8.count > 1 ? ",\"" : "\""
            text += word.string
            text += "\""
        }
        return text + "]"
    }
}
