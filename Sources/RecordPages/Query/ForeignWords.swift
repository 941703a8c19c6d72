internal import JSON
internal import Records

/// Words of SQL and of NSPredicate's format that CloudKit has no counterpart for, and what it has instead.
enum ForeignWords {
    /// `null` and `nil`, also after `is`.
    static let noValue = "CloudKit has no comparison with ‘no value’. Each ‘not’ finds the records without a value too. The text itself goes in \"…\"."

    /// `BEGINSWITH[c]`.
    static let anyCase = "CloudKit compares with the case of letters: leave out the brackets. ‘has words’ finds whole words in any case."

    /// What ends a query in other languages, or joins its parts.
    private static let clauses: [String: String] = [
        "or": "CloudKit has no OR. One field may have one of several values: title in (a, b). For anything else, ask two queries.",
        "limit": "The form has the number of records of a page.", "offset": "The form has the pages.", "top": "The form has the number of records of a page.",
        "group": "CloudKit has no GROUP BY. Count in the menu of a column counts the values of a field.", "having": "CloudKit has no HAVING.",
        "join": "CloudKit has no JOIN: a query has one type. Compare the reference with a record name.", "union": "CloudKit has no UNION: ask two queries.",
    ]

    private static let comparisons: [String: String] = [
        "endswith": "CloudKit has no ENDSWITH", "ends": "CloudKit has no ENDSWITH", "matches": "CloudKit has no MATCHES", "regexp": "CloudKit has no REGEXP",
        "rlike": "CloudKit has no REGEXP", "similar": "CloudKit has no SIMILAR TO", "glob": "CloudKit has no GLOB", "~": "CloudKit has no REGEXP",
        "ilike": "CloudKit has no ILIKE", "exists": "CloudKit has no EXISTS",
    ]

    /// - Parameter text: a bare word.
    /// - Returns: `nil` for a word that is only unexpected.
    static func clause(_ text: String) -> String? { clauses[text.lowercased()] }

    /// - Returns: `nil` for a word that is no comparison elsewhere either.
    static func comparison(_ text: String) -> String? { comparisons[text.lowercased()] }

    /// How CloudKit finds texts.
    static func alternatives(to name: Name, isList: Bool) -> String {
        isList
            ? "It finds elements, \(name) contains a, and their beginnings, \(name) contains prefix a."
            : "It finds beginnings, \(name) begins with a, and whole words, \(name) has words a."
    }

    /// Formats such as `%@` and `?`, which stand for a value in a program.
    /// - Returns: `nil` for other words.
    static func placeholder(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        let isFormat = bytes.count > 1 && bytes[0] == UInt8(ascii: "%") && bytes.dropFirst(1).dropLast().allSatisfy { $0 == UInt8(ascii: "l") }
            && bytes.last.map { Array("@Kdiufs".utf8).contains($0) } == true
        guard isFormat || text == "?" else { return nil }
        return text == "%K" ? "%K stands for the name of a field: write the name." : "\(text) stands for a value of a program: write the value. The text itself goes in \"\(text)\"."
    }
}
