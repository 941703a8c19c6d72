/// Suggests corrections for unknown words of the schema language.
enum Spelling {
    /// Names of the types in other systems.
    private static let types: [String: String] = [
        "BOOL": "INT64", "BOOLEAN": "INT64", "INT": "INT64", "INTEGER": "INT64", "INT32": "INT64", "LONG": "INT64", "FLOAT": "DOUBLE", "REAL": "DOUBLE",
        "DECIMAL": "DOUBLE", "TEXT": "STRING", "VARCHAR": "STRING", "CHAR": "STRING", "UUID": "STRING", "URL": "STRING", "DATE": "TIMESTAMP",
        "DATETIME": "TIMESTAMP", "TIME": "TIMESTAMP", "DATA": "BYTES", "BLOB": "BYTES", "BYTE": "BYTES", "FILE": "ASSET", "ASSETID": "ASSET",
        "RECORD": "REFERENCE", "REF": "REFERENCE", "GEOPOINT": "LOCATION", "ARRAY": "LIST<STRING>",
    ]

    static func hint(forType word: String) -> String? {
        let word = word.uppercased()
        if word.hasSuffix("_LIST"), let type = FieldType(wireName: word) { return "did you mean \(type.schemaName)?" }
        if let type = types[word] { return "CloudKit's type for that is \(type)" }
        return guess(word, among: ValueType.allCases.map(\.rawValue) + ["NUMBER", "ENCRYPTED", "LIST"]).map { "did you mean \($0)?" }
    }

    /// The known word with an edit distance of at most two; `nil` if there is none.
    static func guess(_ word: String, among known: [String]) -> String? {
        let letters = Array(word.utf8.prefix(80))
        let near = known.map { (word: $0, distance: distance(letters, Array($0.utf8))) }.min { $0.distance < $1.distance }
        guard let near, near.distance <= min(2, letters.count / 2) else { return nil }
        return near.word
    }

    /// Edit distance: number of letters to insert, delete or replace.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (letter == right[column] ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
