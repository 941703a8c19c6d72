import CloudKitClient
import Records
import Synchronization

@testable import RemoteRecords

/// An app on one device of a user: texts by record, in memory. A copy of what it stored is what it finds after it was
/// killed.
final class Device: SyncEngineDelegate {
    struct Stored: Sendable {
        var records: [RecordID: Record] = [:]
        var state: [UInt8]?
        /// Records that came while a zone was fetched from the beginning.
        var came: Set<RecordID>?
    }

    let callbacks = CallbackLog()
    private let stored: Mutex<Stored>
    /// A key that no other device writes; `nil` for an app that has nothing but texts.
    private let ownKey: Name?

    init(_ stored: Stored = Stored(), ownKey: Name? = nil) {
        self.stored = Mutex(stored)
        self.ownKey = ownKey
    }

    var disk: Stored { stored.withLock { $0 } }
    var texts: [Name: String] {
        disk.records.reduce(into: [:]) { texts, pair in texts[pair.key.recordName] = pair.value["text"] }
    }

    /// - Parameter delegate: takes what the engine tells, and hands it on to this app; by default the app itself.
    func engine(_ container: Container, telling delegate: (any SyncEngineDelegate)? = nil) throws -> SyncEngine {
        let state = try disk.state.map { try SyncEngine.State.Serialization(bytes: $0) }
        return try SyncEngine(
            .init(database: container.privateCloudDatabase, stateSerialization: state, delegate: delegate ?? self))
    }

    /// Changes a record, or makes it.
    /// - Parameter number: for the key of this device.
    func edit(_ name: Name, _ text: String, _ engine: SyncEngine, number: Int? = nil) {
        let recordID = RecordID(recordName: name, zoneID: zone)
        stored.withLock { stored in
            var record = stored.records[recordID] ?? Record(recordType: "Item", recordID: recordID)
            record["text"] = text
            if let ownKey, let number { record[ownKey] = number }
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

    func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
        -> RecordZoneChangeBatch?
    {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            stored.withLock { $0.records[recordID] }
        }
    }

    func handleEvent(_ event: SyncEngine.Event, syncEngine engine: SyncEngine) async {
        if let words = event.words { callbacks.note(words) }
        let pending = Set(engine.state.pendingRecordZoneChanges)
        var again: [PendingRecordZoneChange] = []
        stored.withLock { stored in
            switch event {
            case .stateUpdate(let event): stored.state = event.stateSerialization.bytes
            case .accountChange(let event):
                if case .signIn = event.changeType { break }
                stored.records = [:]
            case .fetchedDatabaseChanges(let event):
                let zoneIDs = Set(event.deletions.map(\.zoneID))
                stored.records = stored.records.filter { !zoneIDs.contains($0.key.zoneID) }
            case .willFetchRecordZoneChanges(let event): stored.came = event.fromTheBeginning ? [] : nil
            case .fetchedRecordZoneChanges(let event):
                for record in event.modifications.map(\.record) {
                    stored.came?.insert(record.recordID)
                    if pending.contains(.deleteRecord(record.recordID)) { continue }
                    stored.records[record.recordID] =
                        pending.contains(.saveRecord(record.recordID)) ? stored.mine(on: record, ownKey) : record
                }
                for recordID in event.deletions.map(\.recordID) {
                    // An edit here outlives a deletion there.
                    guard pending.contains(.saveRecord(recordID)), let mine = stored.records[recordID] else {
                        stored.records[recordID] = nil
                        continue
                    }
                    stored.records[recordID] = mine.madeAnew
                }
            case .didFetchRecordZoneChanges(let event) where event.error == nil:
                if let came = stored.came {
                    stored.records = stored.records.filter {
                        $0.key.zoneID != event.zoneID || came.contains($0.key) || pending.contains(.saveRecord($0.key))
                    }
                }
                stored.came = nil
            case .sentRecordZoneChanges(let event):
                for record in event.savedRecords
                where !pending.contains(.saveRecord(record.recordID)) && stored.records[record.recordID] != nil {
                    stored.records[record.recordID] = record
                }
                for failed in event.failedRecordSaves {
                    let record = failed.record
                    guard let mine = stored.records[record.recordID] else { continue }
                    switch failed.error.code {
                    case .serverRecordChanged:
                        stored.records[record.recordID] =
                            failed.error.serverRecord.map { stored.mine(on: $0, ownKey) } ?? mine
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
    /// The text and the number of this device on the server's version.
    fileprivate func mine(on server: Record, _ ownKey: Name?) -> Record {
        let mine = records[server.recordID]
        var record = server
        record["text"] = mine?["text"] as String?
        if let ownKey, let number: Int = mine?[ownKey] { record[ownKey] = number }
        return record
    }
}

extension SyncEngine.Event {
    /// `nil` for updates of the state.
    var words: String? {
        switch self {
        case .stateUpdate: nil
        case .accountChange(let event):
            switch event.changeType {
            case .signIn: "sign in"
            case .signOut: "sign out"
            case .switchAccounts: "switch accounts"
            }
        case .willFetchChanges: "will fetch"
        case .fetchedDatabaseChanges(let event): "zones +\(event.modifications.count) -\(event.deletions.count)"
        case .willFetchRecordZoneChanges(let event): event.fromTheBeginning ? "will fetch zone anew" : "will fetch zone"
        case .fetchedRecordZoneChanges(let event): "records +\(event.modifications.count) -\(event.deletions.count)"
        case .didFetchRecordZoneChanges(let event): event.error.map { "did fetch zone: \($0.code)" } ?? "did fetch zone"
        case .didFetchChanges: "did fetch"
        case .willSendChanges: "will send"
        case .sentDatabaseChanges(let event):
            "sent zones +\(event.savedZones.count) -\(event.deletedZoneIDs.count) !\(event.failedZoneSaves.count + event.failedZoneDeletes.count)"
        case .sentRecordZoneChanges(let event):
            "sent records +\(event.savedRecords.count) -\(event.deletedRecordIDs.count) !\(event.failedRecordSaves.count + event.failedRecordDeletes.count)"
        case .didSendChanges: "did send"
        }
    }
}
