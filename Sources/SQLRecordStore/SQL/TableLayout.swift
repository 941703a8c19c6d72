/// A table of a store, as its definition for SQLite says. Other databases make theirs from it, so that there is one definition.
struct TableLayout: Sendable {
    struct Column: Sendable {
        let name: String
        /// `INTEGER`, `TEXT`, `BLOB`, or empty for any value.
        let type: String
        let isRequired: Bool
        /// As in SQL; `nil` for none.
        let standard: String?
    }

    struct Index: Sendable {
        let name: String
        let isUnique: Bool
        let columns: [String]
        /// The condition of the rows in it; `nil` for all.
        let condition: String?
    }

    let name: String
    let columns: [Column]
    let primaryKey: [String]
    /// True if the database numbers new rows: the key is one whole number.
    let isNumbered: Bool
    /// Besides that of the primary key.
    let indexes: [Index]
}
