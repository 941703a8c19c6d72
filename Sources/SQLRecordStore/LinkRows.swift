internal import JSON
internal import RecordStore
internal import Records

/// Queries on `links`.
enum LinkRows {
    /// The condition of the partial index `dependent_links`. SQLite uses the index only if the query repeats it
    /// literally.
    static let isDependent = "action <> 'NONE'"
    /// The condition of the partial index `child_links`.
    static let isOfChild = "field = '\(SystemField.parent.schemaName)'"

    /// Names of the records that refer to a target with DELETE_SELF and were last saved before it was deleted. Empty
    /// for a deleted zone.
    static func doomed(by target: FallenTarget, _ db: SQLConnection) throws -> [Name] {
        try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT l.source FROM zones z CROSS JOIN links l ON l.zone = z.number
                CROSS JOIN records r ON r.zone = l.zone AND r.name = l.source
                WHERE z.state = 0 AND l.zone = ? AND l.target = ? AND l.action = ? AND l.\(isDependent) AND r.id < ? ORDER BY l.source
                """,
            [target.zone, target.name.string, Reference.Action.deleteSelf.rawValue, StoredRow.id(zone: target.zone, position: target.position)]
        ).map { Name($0) }
    }

    /// True if the record must still be deleted: it was not deleted or saved in the meantime, and its zone exists.
    static func isDoomed(_ record: HeldRecord, _ db: SQLConnection) throws -> Bool {
        let target = record.target
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM zones z CROSS JOIN records r ON r.zone = z.number
                WHERE z.number = ? AND z.state = 0 AND r.name = ? AND r.id < ? AND r.state & 1 = 0)
                """, [target.zone, record.name.string, StoredRow.id(zone: target.zone, position: target.position)]) ?? false
    }

    /// The reference actions other than NONE with which other records refer to a name.
    static func actions(on name: Name, in zone: Int64, _ db: SQLConnection) throws -> Set<Reference.Action> {
        // A single statement, because this runs for each record of a cascade.
        func any(_ action: Reference.Action) -> String {
            """
            CASE WHEN EXISTS (SELECT 1 FROM links WHERE zone = ?1 AND target = ?2 AND action = '\(action.rawValue)' AND \(isDependent) AND source <> ?2)
            THEN 1 ELSE 0 END
            """
        }
        let found = try Int.fetchOne(db, sql: "SELECT \(any(.deleteSelf)) + 2 * \(any(.validate))", [zone, name.string]) ?? 0
        return Set((found & 1 == 0 ? [] : [.deleteSelf]) + (found & 2 == 0 ? [] : [.validate]))
    }

    /// The references to a name, ordered by the name of the referring record.
    /// - Parameter limit: maximum number of references; a negative number means no limit.
    static func referrers(
        to name: Name, in zone: Int64, limit: Int, _ db: SQLConnection, _ catalog: SchemaCatalog
    ) throws -> [Referrer] {
        try SQLRow.fetchAll(
            db,
            sql: """
                SELECT l.source, l.field, l.action, r.type FROM links l JOIN records r ON r.zone = l.zone AND r.name = l.source
                WHERE l.zone = ? AND l.target = ? ORDER BY l.source, l.field, l.action LIMIT ?
                """, [zone, name.string, limit < 0 ? .max : limit]
        ).map { row in
            let values = row.values(of: "links")
            guard let action = Reference.Action(rawValue: try values("action")) else { throw DamagedRow(in: "links", "has an action that there is not") }
            return Referrer(
                recordName: Name(try values("source") as String), recordType: try catalog.typeName(of: values("type")),
                fieldName: Name(try values("field") as String), action: action)
        }
    }
}
