internal import GRDB
internal import Records

/// Index entries of one zone that stand in the order of a value, then of the record names: those of a field, or those of a composite index
/// under one value of its filter.
struct EntryRange {
    let table: String
    /// The column that holds the value.
    let column: String
    /// Conditions on the other columns of the table, which is `e`.
    let condition: String
    let arguments: [DatabaseValue]
    /// The field that is walked, whose entries need no look-up.
    let field: Int64?

    /// The entries of a field.
    static func field(_ number: Int64, zone: Int64) -> EntryRange {
        EntryRange(
            table: "entries", column: "value", condition: "e.field = ? AND e.zone = ?", arguments: [number.databaseValue, zone.databaseValue],
            field: number)
    }

    /// Those of a composite index under one value.
    static func composite(_ number: Int64, under value: DatabaseValue, zone: Int64) -> EntryRange {
        EntryRange(
            table: "compositeEntries", column: "sort", condition: "e.composite = ? AND e.zone = ? AND e.filter = ?",
            arguments: [number.databaseValue, zone.databaseValue, value], field: nil)
    }
}
