import Foundation
import JSON
import RecordStore
import Records
import SQLiteRecordStore
import Synchronization

/// A clock that stands still until it is told to move, so that two engines see the same time.
final class TestClock: Sendable {
    private let time = Mutex<Int64>(1_700_000_000_000)

    func now() -> Timestamp { Timestamp(milliseconds: time.withLock { $0 }) }
    func advance(_ milliseconds: Int64 = 1000) { time.withLock { $0 += milliseconds } }
}

let ada = Caller(userRecordName: "_ada", deviceID: "iPhone")
let grace = Caller(userRecordName: "_grace", deviceID: "Mac")

func address(_ scope: DatabaseScope, _ environment: Records.Environment = .development) throws -> DatabaseAddress {
    guard let container = ContainerID("iCloud.com.example.Test") else { throw RecordError(.badRequest, "container") }
    return DatabaseAddress(container: container, environment: environment, scope: scope)
}

/// A database with everything both engines can do.
typealias FullDatabase = RecordDatabase & SchemaEditing & TokenExplaining & ZonePurging & ZoneSharing & ReferenceTracing & RecordCounting

extension RecordEngine {
    func full(_ scope: DatabaseScope, as caller: Caller = ada, _ environment: Records.Environment = .development) async throws -> any FullDatabase {
        let database = try await database(address(scope, environment), as: caller)
        guard let full = database as? any FullDatabase else { throw RecordError(.internalError, "the engine lacks a capability") }
        return full
    }
}

extension RecordDatabase {
    @discardableResult
    func save(
        _ name: Name, as kind: RecordOperation.Kind = .forceUpdate, type: Name = "Item", in zoneID: ZoneID = .default, tag: String? = nil,
        _ fields: [Name: FieldValue] = [:], parent: RecordOperation.Parent = .unchanged
    ) async throws -> StoredRecord {
        let operation = RecordOperation(
            kind, recordName: name, recordType: type, recordChangeTag: tag, fields: fields.mapValues { FieldInput($0) }, parent: parent)
        guard case .saved(let record)? = try await modify(ModifyRequest([operation], zoneID: zoneID)).first?.get() else {
            throw RecordError(.internalError, "not a save")
        }
        return record
    }

    func delete(_ name: Name, in zoneID: ZoneID = .default) async throws {
        for outcome in try await modify(ModifyRequest([RecordOperation(.forceDelete, recordName: name)], zoneID: zoneID)) { _ = try outcome.get() }
    }

    /// All pages of a query.
    func all(_ query: Query, in area: QueryRequest.Area = .zone(.default), pageSize: Int = 200) async throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        var marker: String?
        repeat {
            let page = try await self.query(QueryRequest(query, in: area, limit: PageLimit(records: pageSize), continuationMarker: marker))
            records += page.records
            marker = page.continuationMarker
        } while marker != nil
        return records
    }

    /// All pages of a zone's changes, and the token after them.
    func pull(_ zoneID: ZoneID, since token: ChangeToken? = nil, pageSize: Int = 200, reverse: Bool = false) async throws -> (
        changes: [RecordChange], token: ChangeToken
    ) {
        var changes: [RecordChange] = []
        var token = token
        while true {
            let page = try await zoneChanges(ZoneChangesRequest(zoneID, since: token, limit: PageLimit(records: pageSize), reverse: reverse))
            changes += page.changes
            token = page.syncToken
            if !page.moreComing { return (changes, page.syncToken) }
        }
    }
}

/// The error that a call throws, `nil` when it throws none.
func refusal(_ body: () async throws -> Void) async -> RecordError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? RecordError ?? RecordError(.internalError, "\(error)")
    }
}
