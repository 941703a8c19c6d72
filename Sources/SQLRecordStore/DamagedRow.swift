
/// Reports an invalid value in a row of a damaged file. It is thrown instead of trapping, because no file content may
/// crash the process.
struct DamagedRow: Error, CustomStringConvertible {
    /// Table, column and what is wrong, without the value.
    let description: String

    /// - Parameter problem: the predicate of a sentence whose subject is the table.
    init(in table: String, _ problem: String) {
        description = "the table '\(table)' \(problem)"
    }

    init(in table: String, column: String, holding kind: SQLCell.Kind) {
        let kind =
            switch kind {
            case .null: "NULL"
            case .text: "text"
            case .bytes, .textOrBytes: "bytes"
            default: "a number of another kind"
            }
        self.init(in: table, "holds \(kind) in its column '\(column)', which has the wrong type")
    }
}
