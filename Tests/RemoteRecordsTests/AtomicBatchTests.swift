import CloudKitClient
import LoopbackServing
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// Batches of an engine that are made as a whole or not at all.
@Suite struct AtomicBatchTests {
    /// An app that sends two records at once. One of them has a parent.
    private final class App: SyncEngineDelegate {
        let callbacks = CallbackLog()

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        {
            var batch = await RecordZoneChangeBatch(pendingChanges: syncEngine.state.nextRecordZoneChanges(2)) {
                recordID in
                var record = Record(recordType: "Item", recordID: recordID)
                if recordID.recordName == "child" { record.parent = "parent" }
                return record
            }
            batch?.atomicByZone = true
            return batch
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            if case .sentRecordZoneChanges = event, let words = event.words { callbacks.note(words) }
        }

        func engine(_ container: Container, saving names: Name...) throws -> SyncEngine {
            let engine = try SyncEngine(
                .init(database: container.privateCloudDatabase, stateSerialization: nil, delegate: self))
            engine.state.add(
                pendingRecordZoneChanges: names.map { .saveRecord(RecordID(recordName: $0, zoneID: zone)) })
            return engine
        }
    }

    /// The child is refused until its parent is there, and the other record of its batch with it.
    @Test func theOthersOfABatchWaitForTheParentToo() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let (app, container) = (App(), Container(client))
                try await container.privateCloudDatabase.save(zone)
                let engine = try app.engine(container, saving: "child", "other", "parent")
                try await engine.sendChanges()
                #expect(
                    app.callbacks.all == ["sent records +2 -0 !0", "sent records +1 -0 !0"]
                        && engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    /// The parent is nowhere: the child is reported as refused in the end, with the record that is in its batch then.
    @Test func aBatchThatCannotBeMadeEnds() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let (app, container) = (App(), Container(client))
                try await container.privateCloudDatabase.save(zone)
                let engine = try app.engine(container, saving: "child", "other", "third")
                #expect(await operationError { try await engine.sendChanges() }?.partialErrors.count == 2)
                #expect(
                    app.callbacks.all == ["sent records +0 -0 !2", "sent records +1 -0 !0"]
                        && engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    /// The server tells one record why nothing was done, and of the other that it was not done either.
    @Test func aBusyZoneKeepsAllOfABatchPending() async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            return records(
                #""recordName":"a","serverErrorCode":"ZONE_BUSY","reason":"busy""#,
                #""recordName":"b","serverErrorCode":"ATOMIC_ERROR","reason":"no""#)
        }) { container, _ in
            let app = App()
            let engine = try app.engine(container, saving: "a", "b")
            #expect(await operationError { try await engine.sendChanges() }?.code == .zoneBusy)
            #expect(app.callbacks.all.isEmpty && engine.state.pendingRecordZoneChanges.count == 2)
        }
    }
}
