internal import Foundation
internal import GRDB

/// Reads the tables of a store from SQLite.
enum SQLiteLayout {
    /// The tables of a new store.
    static func ofNewStore() throws -> [TableLayout] {
        try SQLError.catching {
            let queue = try DatabaseQueue()
            try StoreMigrations.migrator.migrate(queue)
            return try queue.read { db in
                let db = SQLConnection(SQLiteDriver(db))
                let names = try String.fetchAll(
                    db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%' ORDER BY name")
                return try names.map { try table($0, db) }
            }
        }
    }

    private static func table(_ name: String, _ db: SQLConnection) throws -> TableLayout {
        var columns: [TableLayout.Column] = []
        var key: [(place: Int, name: String)] = []
        try SQLRow.forEach(db, sql: "SELECT name, type, \"notnull\" AS required, dflt_value, pk FROM pragma_table_info(?) ORDER BY cid", [name]) { row in
            let values = row.values(of: "sqlite_master")
            let (column, type, place): (String, String, Int) = (try values("name"), try values("type"), try values("pk"))
            if place > 0 { key.append((place, column)) }
            // Facts are numbers, too, whatever their column says.
            let isAny = name == "facts" && column == "value"
            columns.append(
                TableLayout.Column(
                    name: column, type: isAny ? "" : type, isRequired: try values("required") || place > 0, standard: try values("dflt_value")))
        }
        let names = key.sorted { $0.place < $1.place }.map(\.name)
        let isNumbered = names.count == 1 && columns.contains { $0.name == names[0] && $0.type == "INTEGER" }
        return TableLayout(name: name, columns: columns, primaryKey: names, isNumbered: isNumbered, indexes: try indexes(of: name, db))
    }

    private static func indexes(of table: String, _ db: SQLConnection) throws -> [TableLayout.Index] {
        let rows = try SQLRow.fetchAll(db, sql: "SELECT name, \"unique\" AS isUnique, origin FROM pragma_index_list(?) WHERE origin <> 'pk' ORDER BY name", [table])
        return try rows.map { row in
            let values = row.values(of: "sqlite_master")
            let (name, origin): (String, String) = (try values("name"), try values("origin"))
            let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_index_info(?) ORDER BY seqno", [name])
            let definition = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = ?", [name])
            let condition = definition?.range(of: " WHERE ").flatMap { definition?[$0.upperBound...] }.map(String.init)
            // Those that a table's definition implies have names that no other database takes.
            let plainName = origin == "u" ? "\(table)_\(columns.joined(separator: "_"))" : name
            return TableLayout.Index(name: plainName, isUnique: try values("isUnique"), columns: columns, condition: condition)
        }
    }
}
