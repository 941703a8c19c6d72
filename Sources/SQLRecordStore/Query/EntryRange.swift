internal import Records

/// Index entries of one zone, ordered by a value and then by record name: the entries of a field, or those of a
/// composite index with one filter value.
struct EntryRange {
    let table: String
    /// The column with the value.
    let column: String
    /// Conditions on the other columns of the table, whose alias is `e`.
    let condition: String
    let arguments: [(any Bindable)?]
    /// The field whose entries are walked. Its filters need no lookup.
    let field: Int64?

    /// The entries of a field.
    static func field(_ number: Int64, zone: Int64) -> EntryRange {
        EntryRange(
            table: "entries", column: "value", condition: "e.field = ? AND e.zone = ?", arguments: [number, zone],
            field: number)
    }

    /// The entries of a composite index with one filter value.
    static func composite(_ number: Int64, under value: SQLValue, zone: Int64) -> EntryRange {
        EntryRange(
            table: "compositeEntries", column: "sort", condition: "e.composite = ? AND e.zone = ? AND e.filter = ?",
            arguments: [number, zone, value], field: nil)
    }
}
