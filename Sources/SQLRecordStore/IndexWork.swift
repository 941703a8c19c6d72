internal import JSON
internal import RecordStore
internal import Records

/// A pending build or removal of an index, as a row of `indexWork`.
struct IndexWork: Sendable, Hashable {
    enum Phase: Int, Sendable {
        /// The index was dropped, and its rows are being removed.
        case removing = 0
        /// The index was dropped and added again. Its old rows are removed before it is built, and saves don't update
        /// it until then.
        case clearing = 1
        /// Existing records are being added. Saves update the index from the start.
        case building = 2
    }

    let id: Int64
    let type: Name
    let target: IndexTarget
    /// The indexes of the field that were added or dropped.
    var indexes: Indexes
    var phase: Phase

    // MARK: Reading

    private static let columns = "w.id, w.type, w.kind, w.number, w.indexes, w.phase"
    private static let source = "indexWork w LEFT JOIN fields f ON f.number = w.number LEFT JOIN composites c ON c.number = w.number"

    static func all(typeNames: [Int64: Name], _ db: SQLConnection) throws -> [IndexWork] {
        try SQLRow.fetchAll(
            db, sql: "SELECT \(columns), f.name AS field, c.filter, c.sort FROM \(source) ORDER BY w.id"
        ).compactMap { row in
            guard let type = typeNames[try row.value("type", in: "indexWork")], let phase = Phase(rawValue: try row.value("phase", in: "indexWork")), let target = try target(row)
            else { return nil }
            return IndexWork(
                id: try row.value("id", in: "indexWork"), type: type, target: target, indexes: Indexes(rawValue: try row.value("indexes", in: "indexWork")), phase: phase)
        }
    }

    private static func target(_ row: SQLRow) throws -> IndexTarget? {
        let number: Int64 = try row.value("number", in: "indexWork")
        let field: String? = try row.value("field", in: "fields")
        let key = field.map { FieldKey(schemaName: Name($0)) }
        switch IndexTable(rawValue: try row.value("kind", in: "indexWork")) {
        case .entries: return key.map { .entries($0, number) }
        case .tokens: return key.map { .tokens($0, number) }
        case .compositeEntries:
            guard let filter: String = try row.value("filter", in: "composites"), let sort: String = try row.value("sort", in: "composites") else { return nil }
            return .composite(CompositeIndex(filter: FieldKey(schemaName: Name(filter)), sort: FieldKey(schemaName: Name(sort))), number)
        case nil: return nil
        }
    }

    /// Number of records of a type.
    struct RecordCounts {
        /// Records in existing zones, which are the ones to index.
        var living: Int
        /// Includes records of deleted zones whose rows have not been removed yet.
        var all: Int
    }

    static func records(ofType number: Int64, _ db: SQLConnection) throws -> RecordCounts {
        let row = try SQLRow.fetchOne(
            db,
            sql: """
                SELECT coalesce(sum(CASE WHEN z.state = 0 THEN c.count ELSE 0 END), 0) AS living, coalesce(sum(c.count), 0) AS everything
                FROM typeCounts c JOIN zones z ON z.number = c.zone WHERE c.type = ?
                """, [number])
        guard let values = row?.values(of: "typeCounts") else { return RecordCounts(living: 0, all: 0) }
        return RecordCounts(living: try values("living"), all: try values("everything"))
    }

    // MARK: Writing

    static func insert(
        _ phase: Phase, _ target: IndexTarget, _ indexes: Indexes, in type: Name, number: Int64, total: Int, _ db: SQLConnection
    ) throws -> IndexWork {
        let id = try Int64.inserted(
            db,
            """
            INSERT INTO indexWork (type, kind, number, indexes, phase, zone, name, done, doneThere, total)
            VALUES (?, ?, ?, ?, ?, -1, '', 0, 0, ?) RETURNING id
            """,
            [number, target.table.rawValue, target.number, indexes.rawValue, phase.rawValue, total])
        return IndexWork(id: id, type: type, target: target, indexes: indexes, phase: phase)
    }

    /// Stores the phase and resets the progress to the first record.
    func restart(total: Int, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE indexWork SET phase = ?, indexes = ?, zone = -1, name = '', done = 0, doneThere = 0, total = ? WHERE id = ?",
            [phase.rawValue, indexes.rawValue, total, id])
    }

    func count(_ done: Int, _ db: SQLConnection) throws {
        try db.run("UPDATE indexWork SET done = done + ? WHERE id = ?", [done, id])
    }

    // MARK: Failures

    /// A failure of index work. Work that failed is tried again.
    struct Failure: Sendable {
        /// Number of failures so far.
        var count: Int
        let last: RecordError
    }

    /// Tells other processes of a failure.
    func note(_ failure: RecordError, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE indexWork SET failures = failures + 1, failureCode = ?, failure = ? WHERE id = ?", [failure.code.rawValue, failure.reason, id])
    }

    /// The failures that processes have told, by work.
    static func failures(_ db: SQLConnection) throws -> [Int64: Failure] {
        var failures: [Int64: Failure] = [:]
        for row in try SQLRow.fetchAll(db, sql: "SELECT id, failures, failureCode, failure FROM indexWork WHERE failures > 0", []) {
            let values = row.values(of: "indexWork")
            let code: String = try values("failureCode")
            failures[try values("id")] = Failure(
                count: try values("failures"), last: RecordError(ServerErrorCode(rawValue: code) ?? .internalError, try values("failure")))
        }
        return failures
    }

    /// An error of one of the works that has failed more often than before.
    static func failure(of works: Set<Int64>, in failures: [Int64: Failure], after before: [Int64: Int]) -> RecordError? {
        works.sorted().compactMap { failures[$0].flatMap { [count = before[$0] ?? 0] in $0.count > count ? $0.last : nil } }.first
    }

    // MARK: Progress

    /// The progress of all index work. One index can have two works; each is listed.
    /// - Parameter inHand: progress by work, including the chunk that is not committed yet.
    static func progress(_ catalog: SchemaCatalog, _ db: SQLConnection, inHand: [Int64: Int]) throws -> [IndexBuildProgress] {
        if catalog.works.isEmpty { return [] }
        let rows = try SQLRow.fetchAll(db, sql: "SELECT id, done, total FROM indexWork", [])
        var counts: [Int64: (done: Int, total: Int)] = [:]
        for row in rows { counts[try row.value("id", in: "indexWork")] = (try row.value("done", in: "indexWork"), try row.value("total", in: "indexWork")) }
        return catalog.works.map { work in
            var count = counts[work.id] ?? (0, 0)
            if work.phase == .building { count.done = max(count.done, inHand[work.id] ?? 0) }
            return IndexBuildProgress(
                work.phase == .removing ? .dropping : .building, of: work.subject(catalog), in: work.type, done: work.phase == .clearing ? 0 : count.done,
                total: max(count.total, count.done))
        }
    }

    private func subject(_ catalog: SchemaCatalog) -> IndexBuildProgress.Subject {
        switch target {
        case .composite(let index, _): return .composite(index)
        case .entries(let key, _), .tokens(let key, _):
            if phase == .removing { return .field(key, indexes) }
            // Indexes declared later may share the same rows.
            let declared = catalog.schema.types[type]?.definition(of: key)?.indexes ?? []
            return .field(key, declared.intersection(target.indexes))
        }
    }
}
