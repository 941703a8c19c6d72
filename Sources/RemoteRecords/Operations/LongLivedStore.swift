internal import CloudKitClient
internal import Foundation
internal import GRDB
internal import Records
internal import Synchronization

/// The SQLite file that stores long-lived operations.
final class LongLivedStore: Sendable {
    /// A stored operation.
    struct StoredOperation: Sendable {
        let operationID: String
        let kind: String
        let scope: DatabaseScope
        let request: JSONObject
        /// The outcomes of items, in the order in which they came.
        let events: [JSONObject]
        /// Records that were sent and whose answer is missing.
        let unanswered: Set<RecordID>
        /// The outcome of the operation; `nil` if it has not ended.
        let outcome: Result<Void, OperationError>?
    }

    /// The time for which the outcomes of an operation are kept, in milliseconds: a day.
    private static let lifetime: Int64 = 86_400_000

    private let queue: DatabaseQueue
    /// The IDs of the operations that run in this process.
    private let running = Mutex<Set<String>>([])

    init(_ file: URL, now: Timestamp) async throws {
        queue = try await DatabaseQueue.opened(file) { database in
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS operation (
                        id TEXT NOT NULL PRIMARY KEY,
                        kind TEXT NOT NULL,
                        scope TEXT NOT NULL,
                        request TEXT NOT NULL,
                        unanswered TEXT NOT NULL DEFAULT '[]',
                        outcome TEXT,
                        finished INTEGER
                    ) STRICT;
                    CREATE TABLE IF NOT EXISTS event (
                        operation TEXT NOT NULL REFERENCES operation ON DELETE CASCADE,
                        number INTEGER NOT NULL,
                        json TEXT NOT NULL,
                        PRIMARY KEY (operation, number)
                    ) STRICT, WITHOUT ROWID;
                    """)
            try database.execute(
                sql: "DELETE FROM operation WHERE finished < ?", arguments: [now.milliseconds - Self.lifetime])
        }
    }

    // MARK: Operations

    /// All operations, in the order in which they were added, without reading their contents.
    func operations() async throws -> [(operationID: String, kind: String, scope: String, isFinished: Bool)] {
        try await queue.read { database in
            try Row.fetchAll(
                database, sql: "SELECT id, kind, scope, outcome IS NOT NULL AS isFinished FROM operation ORDER BY rowid"
            ).map { row in
                (row["id"], row["kind"], row["scope"], row["isFinished"])
            }
        }
    }

    func add(_ operationID: String, _ kind: String, _ scope: DatabaseScope, _ request: JSONObject) async throws {
        try await write { database in
            try database.execute(
                sql: "INSERT INTO operation (id, kind, scope, request) VALUES (?, ?, ?, ?)",
                arguments: [operationID, kind, scope.rawValue, Self.text(.object(request))])
        }
    }

    func operation(_ operationID: String) async throws -> StoredOperation? {
        try await queue.read { database in
            guard
                let row = try Row.fetchOne(
                    database, sql: "SELECT kind, scope, request, unanswered, outcome FROM operation WHERE id = ?",
                    arguments: [operationID]),
                let scope = DatabaseScope(rawValue: row["scope"])
            else { return nil }
            let events = try String.fetchAll(
                database, sql: "SELECT json FROM event WHERE operation = ? ORDER BY number", arguments: [operationID])
            var unanswered: Set<RecordID> = []
            if case .array(let recordIDs) = try JSONReader.value(of: row["unanswered"] as String) {
                unanswered = Set(try recordIDs.map { try RecordID(json: $0) })
            }
            let outcome = try (row["outcome"] as String?).map { text -> Result<Void, OperationError> in
                let object = try JSONReader.value(of: text).object
                return object.isEmpty ? .success(()) : .failure(try OperationError(json: object))
            }
            return StoredOperation(
                operationID: operationID, kind: row["kind"], scope: scope,
                request: try JSONReader.value(of: row["request"] as String).object,
                events: try events.map { try JSONReader.value(of: $0).object }, unanswered: unanswered, outcome: outcome
            )
        }
    }

    func remove(_ operationID: String) async throws {
        try await write { try $0.execute(sql: "DELETE FROM operation WHERE id = ?", arguments: [operationID]) }
    }

    // MARK: Steps

    func setUnanswered(_ recordIDs: Set<RecordID>, of operationID: String, adding events: [JSONObject] = [])
        async throws
    {
        try await write { database in
            try database.execute(
                sql: "UPDATE operation SET unanswered = ? WHERE id = ?",
                arguments: [Self.text(.array(recordIDs.map { .object($0.json) })), operationID])
            for event in events {
                try database.execute(
                    sql:
                        "INSERT INTO event SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM event WHERE operation = ?1",
                    arguments: [operationID, Self.text(.object(event))])
            }
        }
    }

    /// - Parameter error: `nil` if the operation succeeded.
    func finish(_ operationID: String, _ error: OperationError?, at now: Timestamp) async throws {
        try await write { database in
            try database.execute(
                sql: "UPDATE operation SET outcome = ?, finished = ? WHERE id = ?",
                arguments: [Self.text(.object(error?.json ?? JSONObject())), now.milliseconds, operationID])
        }
    }

    /// - Returns: false if the operation is already running.
    func begin(_ operationID: String) -> Bool {
        running.withLock { $0.insert(operationID).inserted }
    }

    func end(_ operationID: String) {
        running.withLock { _ = $0.remove(operationID) }
    }

    /// Writes in a task of its own, because GRDB would roll back the write of a cancelled task.
    private func write(_ updates: @escaping @Sendable (GRDB.Database) throws -> Void) async throws {
        try await Task { try await queue.write { try updates($0) } }.value
    }

    private static func text(_ json: JSONValue) -> String {
        String(decoding: JSONWriter.bytes(of: json), as: UTF8.self)
    }
}

/// Stores the steps of one long-lived operation.
actor OperationSteps {
    private let store: LongLivedStore
    private let operationID: String
    /// Records that this process or an earlier one sent and whose answer is missing.
    private(set) var unanswered: Set<RecordID>
    /// The error of the first step that could not be stored.
    private(set) var failure: OperationError?

    init(_ store: LongLivedStore, _ operationID: String, unanswered: Set<RecordID>) {
        self.store = store
        self.operationID = operationID
        self.unanswered = unanswered
    }

    /// Stores the IDs of the records that are about to be sent.
    func willSend(_ recordIDs: [RecordID]) async throws(OperationError) {
        unanswered.formUnion(recordIDs)
        do {
            try await store.setUnanswered(unanswered, of: operationID)
        } catch {
            throw OperationError(.internalError, "The operation can't be kept: \(error)")
        }
    }

    /// Stores the outcomes of records, all in one transaction.
    func answered(_ recordIDs: [RecordID], _ events: [JSONObject]) async {
        unanswered.subtract(recordIDs)
        do {
            try await store.setUnanswered(unanswered, of: operationID, adding: events)
        } catch {
            failure = failure ?? OperationError(.internalError, "The outcomes can't be kept: \(error)")
        }
    }
}

// MARK: - JSON

// The JSON of stored events and errors.

extension JSONValue {
    /// The object, if the value is one; otherwise an empty object.
    var object: JSONObject { if case .object(let object) = self { object } else { JSONObject() } }
}

extension JSONObject {
    static func kept(_ recordID: RecordID, _ more: JSONValue) -> JSONObject {
        var object = more.object
        object["recordID"] = .object(recordID.json)
        return object
    }

    func adding<Value>(_ result: Result<Value, OperationError>, _ json: (Value) -> JSONObject) -> JSONObject {
        var object = self
        switch result {
        case .success(let value): object["value"] = .object(json(value))
        case .failure(let error): object["error"] = .object(error.json)
        }
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    func result<Value>(_ read: (JSONObject) throws -> Value) throws -> Result<Value, OperationError> {
        if case .object(let error)? = self["error"] { return .failure(try OperationError(json: error)) }
        guard case .object(let value)? = self["value"] else { throw UnreadableRecord() }
        return .success(try read(value))
    }

    /// - Throws: ``UnreadableRecord``.
    func objects(_ name: Name) throws -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { throw UnreadableRecord() }
        return elements.map(\.object)
    }
}

extension OperationError {
    /// The error as JSON, without the failed request.
    var json: JSONObject {
        var object = JSONObject()
        object["code"] = .integer(Int64(code.rawValue))
        object["reason"] = .string(reason)
        object["retryAfter"] = retryAfter.map { .integer($0.components.seconds) }
        object["serverErrorCode"] = serverError.map { .string($0.codeName) }
        if let conflict {
            object["serverRecord"] = .object(conflict.serverRecord.json)
            object["clientRecord"] = .object(conflict.clientRecord.json)
            object["ancestorRecord"] = conflict.ancestorRecord.map { .object($0.json) }
        }
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    init(json object: JSONObject) throws {
        guard case .integer(let number)? = object["code"],
            let code = Int(exactly: number).flatMap({ Code(rawValue: $0) }),
            case .string(let reason)? = object["reason"]
        else { throw UnreadableRecord() }
        self.init(code, reason)
        if case .integer(let seconds)? = object["retryAfter"] { retryAfter = .seconds(seconds) }
        if case .string(let name)? = object["serverErrorCode"] {
            serverError = ServerError(codeName: name, reason: reason)
        }
        if case .object(let server)? = object["serverRecord"], case .object(let client)? = object["clientRecord"] {
            var ancestor: Record?
            if case .object(let record)? = object["ancestorRecord"] { ancestor = try Record(json: record) }
            conflict = Conflict(
                serverRecord: try Record(json: server), clientRecord: try Record(json: client), ancestorRecord: ancestor
            )
        }
    }
}
