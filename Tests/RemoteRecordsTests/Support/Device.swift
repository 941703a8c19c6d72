import CloudKitClient
import JSON
import Records
import Synchronization

@testable import RemoteRecords

/// An app on one device of a user: texts by record, in memory. A copy of what it stored is what it finds after it was killed.
final class Device: SyncEngineDelegate {
    struct Stored: Sendable {
        var records: [RecordID: Record] = [:]
        var state: [UInt8]?
        /// Records that came while a zone was fetched from the beginning.
        var came: Set<RecordID>?
    }

    let told = Told()
    private let stored: Mutex<Stored>

    init(_ stored: Stored = Stored()) {
        self.stored = Mutex(stored)
    }

    var disk: Stored { stored.withLock { $0 } }
    var texts: [Name: String] { disk.records.reduce(into: [:]) { texts, pair in texts[pair.key.recordName] = pair.value["text"] } }

    func engine(_ container: Container) throws -> SyncEngine {
        try SyncEngine(container.privateCloudDatabase, state: disk.state, delegate: self)
    }

    /// Changes a record, or makes it.
    func edit(_ name: Name, _ text: String, _ engine: SyncEngine) {
        let recordID = RecordID(recordName: name, zoneID: zone)
        stored.withLock { stored in
            var record = stored.records[recordID] ?? Record(recordType: "Item", recordID: recordID)
            record["text"] = text
            stored.records[recordID] = record
        }
        change(.saveRecord(recordID), engine)
    }

    func remove(_ name: Name, _ engine: SyncEngine) {
        let recordID = RecordID(recordName: name, zoneID: zone)
        stored.withLock { _ = $0.records.removeValue(forKey: recordID) }
        change(.deleteRecord(recordID), engine)
    }

    private func change(_ change: PendingRecordZoneChange, _ engine: SyncEngine) {
        engine.state.add(pendingRecordZoneChanges: [change])
        stored.withLock { $0.state = engine.state.serialization.bytes }
    }

    func nextRecordZoneChangeBatch(of engine: SyncEngine) async -> RecordZoneChangeBatch? {
        await RecordZoneChangeBatch(pendingChanges: engine.state.pendingRecordZoneChanges) { recordID in
            stored.withLock { $0.records[recordID] }
        }
    }

    func handleEvent(_ event: SyncEvent, of engine: SyncEngine) async {
        if let words = event.words { told.note(words) }
        let pending = Set(engine.state.pendingRecordZoneChanges)
        var again: [PendingRecordZoneChange] = []
        stored.withLock { stored in
            switch event {
            case .stateUpdate(let state): stored.state = state.bytes
            case .accountChange(.signIn): break
            case .accountChange: stored.records = [:]
            case .fetchedDatabaseChanges(_, let deletions): stored.records = stored.records.filter { !deletions.contains($0.key.zoneID) }
            case .willFetchRecordZoneChanges(_, let fromTheBeginning): stored.came = fromTheBeginning ? [] : nil
            case .fetchedRecordZoneChanges(_, let modifications, let deletions):
                for record in modifications {
                    stored.came?.insert(record.recordID)
                    if pending.contains(.deleteRecord(record.recordID)) { continue }
                    stored.records[record.recordID] = pending.contains(.saveRecord(record.recordID)) ? stored.mine(on: record) : record
                }
                for (recordID, _) in deletions {
                    // An edit here outlives a deletion there.
                    guard pending.contains(.saveRecord(recordID)), let mine = stored.records[recordID] else {
                        stored.records[recordID] = nil
                        continue
                    }
                    stored.records[recordID] = mine.madeAnew
                }
            case .didFetchRecordZoneChanges(let zoneID, nil):
                if let came = stored.came {
                    stored.records = stored.records.filter { $0.key.zoneID != zoneID || came.contains($0.key) || pending.contains(.saveRecord($0.key)) }
                }
                stored.came = nil
            case .sentRecordZoneChanges(let saved, _, let failedSaves, _):
                for record in saved where !pending.contains(.saveRecord(record.recordID)) && stored.records[record.recordID] != nil {
                    stored.records[record.recordID] = record
                }
                for (record, error) in failedSaves {
                    guard let mine = stored.records[record.recordID] else { continue }
                    switch error.code {
                    case .serverRecordChanged: stored.records[record.recordID] = error.conflict.map { stored.mine(on: $0.serverRecord) } ?? mine
                    case .unknownItem: stored.records[record.recordID] = mine.madeAnew
                    default: continue
                    }
                    again.append(.saveRecord(record.recordID))
                }
            default: break
            }
        }
        engine.state.add(pendingRecordZoneChanges: again)
    }
}

extension Device.Stored {
    /// The text of this device on the server's version.
    fileprivate func mine(on server: Record) -> Record {
        var record = server
        record["text"] = records[server.recordID]?["text"] as String?
        return record
    }
}

extension Record {
    /// The same as a new record of the same name.
    fileprivate var madeAnew: Record {
        var record = Record(recordType: recordType, recordID: recordID)
        record["text"] = self["text"] as String?
        return record
    }
}

extension SyncEvent {
    /// `nil` for updates of the state.
    var words: String? {
        switch self {
        case .stateUpdate: nil
        case .accountChange(.signIn): "sign in"
        case .accountChange(.signOut): "sign out"
        case .accountChange(.switchAccounts): "switch accounts"
        case .willFetchChanges: "will fetch"
        case .fetchedDatabaseChanges(let modifications, let deletions): "zones +\(modifications.count) -\(deletions.count)"
        case .willFetchRecordZoneChanges(_, let fromTheBeginning): fromTheBeginning ? "will fetch zone anew" : "will fetch zone"
        case .fetchedRecordZoneChanges(_, let modifications, let deletions): "records +\(modifications.count) -\(deletions.count)"
        case .didFetchRecordZoneChanges(_, let error): error.map { "did fetch zone: \($0.code)" } ?? "did fetch zone"
        case .didFetchChanges: "did fetch"
        case .willSendChanges: "will send"
        case .sentDatabaseChanges(let saved, let deleted, let failed): "sent zones +\(saved.count) -\(deleted.count) !\(failed.count)"
        case .sentRecordZoneChanges(let saved, let deleted, let failedSaves, let failedDeletes):
            "sent records +\(saved.count) -\(deleted.count) !\(failedSaves.count + failedDeletes.count)"
        case .didSendChanges: "did send"
        }
    }
}
