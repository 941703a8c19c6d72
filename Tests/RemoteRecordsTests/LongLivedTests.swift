import CloudKitClient
import Foundation
import LoopbackServing
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// Operations that outlive their process. A copy of their file is what the next process finds.
@Suite struct LongLivedTests {
    private static let rounds = Chance.times(6)

    /// Resumes the only operation of a file.
    private static func resume(_ container: Container, _ callbacks: CallbackLog) async throws -> Result<
        Void, OperationError
    > {
        let kept = try await container.longLivedOperations()
        #expect(kept.map(\.kind) == ["ModifyRecords"])
        let handle = try await container.resume(ModifyRecords.self, withID: try #require(kept.first?.operationID)) {
            callbacks.note($0.words)
        } onCompletion: { _ in
            callbacks.note("completed")
        }
        return await handle.result
    }

    /// The process ends while a request is on its way, or after the server carried it out.
    @Test(arguments: [true, false]) func aChangeIsMadeOnceHoweverTheProcessEnds(arrives: Bool) async throws {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            _ = try await server.device { try await Container($0).privateCloudDatabase.save(zone) }
            for round in 1...Self.rounds {
                let (file, found) = (
                    folder.url.appending(path: "\(round).sqlite"), folder.url.appending(path: "\(round)-found.sqlite")
                )
                let recordID = RecordID(recordName: Name("counter\(round)"), zoneID: zone)
                let edited = try await server.device { client in
                    var record = try await Container(client).privateCloudDatabase.save(
                        Record(recordType: "Counter", recordID: recordID))
                    record["value"] = round
                    return record
                }
                try await BreakingProxy.run(to: server.port, arrives ? .stopBeforeAnswer(1) : .stopBeforeRequest(1)) {
                    port, proxy in
                    try await server.device(through: port, pacing: Pacing()) { client in
                        let container = try await Container(client, longLivedOperationsIn: file)
                        let handle = try await container.privateCloudDatabase.addLongLived(
                            ModifyRecords(saving: [edited])
                        ) { _ in
                        } onCompletion: { _ in
                        }
                        try await eventually { proxy.isStopped }
                        try FileManager.default.copyItem(at: file, to: found)
                        handle.cancel()
                        _ = await handle.result
                    }
                }
                try await server.device { client in
                    let callbacks = CallbackLog()
                    try await Self.resume(Container(client, longLivedOperationsIn: found), callbacks).get()
                    #expect(callbacks.all == ["progress counter\(round) 1.0", "saved counter\(round)", "completed"])
                }
                let now = try await server.device { try await Container($0).privateCloudDatabase.record(for: recordID) }
                #expect(now["value"] == round as Int?)
                #expect(try await server.versions(of: recordID) == 2)
            }
        }
    }

    @Test func anOperationIsKeptBeforeItBegins() async throws {
        let folder = try TemporaryFolder()
        let (file, found) = (folder.url.appending(path: "a.sqlite"), folder.url.appending(path: "b.sqlite"))
        let edited = try edited("a", tag: "1")
        try await withScript({ _, _ in
            // A process that begins now finds this.
            try? FileManager.default.copyItem(at: file, to: found)
            return records(item("a", tag: "2"))
        }) { container, server in
            let keeping = try await Container(container.client, longLivedOperationsIn: file)
            let handle = try await keeping.privateCloudDatabase.addLongLived(ModifyRecords(saving: [edited])) { _ in
            } onCompletion: { _ in
            }
            try await handle.value
            #expect(try await keeping.longLivedOperations().isEmpty)
            let next = try await Container(container.client, longLivedOperationsIn: found)
            let kept = try await next.longLivedOperations()
            #expect(
                kept.map(\.operationID) == [handle.operationID] && kept.map(\.isFinished) == [false]
                    && kept.map(\.scope) == [.private])
            let other = await operationError {
                try await next.resume(FetchRecords.self, withID: handle.operationID) { _ in
                } onCompletion: { _ in
                }
            }
            #expect(other?.code == .invalidArguments && server.requests.count == 1)
        }
    }

    /// Others look for operations while some are added. In one of many rounds they look at the worst moment.
    @Test(.timeLimit(.minutes(10))) func anOperationThatIsAddedIsNotResumedToo() async throws {
        let folder = try TemporaryFolder()
        let edited = try edited("a", tag: "1")
        let rounds = 100
        try await withAnswers(records(item("a", tag: "2"))) { container, server in
            let keeping = try await Container(
                container.client, longLivedOperationsIn: folder.url.appending(path: "a.sqlite"))
            let others = (0..<4).map { _ in
                Task(priority: .high) {
                    while !Task.isCancelled {
                        for kept in try await keeping.longLivedOperations() {
                            _ = try? await keeping.resume(ModifyRecords.self, withID: kept.operationID) { _ in
                            } onCompletion: { _ in
                            }
                        }
                    }
                }
            }
            for _ in 0..<rounds {
                let handle = try await keeping.privateCloudDatabase.addLongLived(ModifyRecords(saving: [edited])) { _ in
                } onCompletion: { _ in
                }
                try await handle.value
            }
            for other in others { other.cancel() }
            for other in others { _ = await other.result }
            #expect(server.requests.count == rounds)
        }
    }

    /// The process ends after the answer, but before the app's completion has returned: everything is reported
    /// once more, without a request.
    @Test func answersAreDeliveredAgain() async throws {
        let folder = try TemporaryFolder()
        let (file, found) = (folder.url.appending(path: "a.sqlite"), folder.url.appending(path: "b.sqlite"))
        let conflict = records(
            item("a", tag: "2"), #""recordName":"b","serverErrorCode":"CONFLICT","reason":"changed""#)
        let (a, b) = (try edited("a", tag: "1"), try edited("b", tag: "1"))
        try await withAnswers(conflict, records(item("b", tag: "9", text: "theirs"))) { container, server in
            let keeping = try await Container(container.client, longLivedOperationsIn: file)
            let handle = try await keeping.privateCloudDatabase.addLongLived(
                ModifyRecords(saving: [a, b], isAtomic: false)
            ) { _ in
            } onCompletion: { _ in
                try? FileManager.default.copyItem(at: file, to: found)
            }
            #expect(await operationError { try await handle.value }?.code == .partialFailure)
            let callbacks = CallbackLog()
            let next = try await Container(container.client, longLivedOperationsIn: found)
            #expect(try await next.longLivedOperations().map(\.isFinished) == [true])
            let again = try await Self.resume(next, callbacks)
            guard case .failure(let error) = again else {
                Issue.record("the failure was forgotten")
                return
            }
            #expect(error.partialErrors[.record(b.recordID)]?.conflict?.serverRecord["text"] == "theirs" as String?)
            #expect(
                callbacks.all == ["saved a", "saved b: serverRecordChanged", "completed"] && server.requests.count == 2)
            #expect(try await next.longLivedOperations().isEmpty)
        }
    }

    @Test func answersAreKeptForADay() async throws {
        let folder = try TemporaryFolder()
        let (file, found) = (folder.url.appending(path: "a.sqlite"), folder.url.appending(path: "b.sqlite"))
        let edited = try edited("a", tag: "1")
        try await withAnswers(records(item("a", tag: "2"))) { container, _ in
            let keeping = try await Container(container.client, longLivedOperationsIn: file)
            let handle = try await keeping.privateCloudDatabase.addLongLived(ModifyRecords(saving: [edited])) { _ in
            } onCompletion: { _ in
                try? FileManager.default.copyItem(at: file, to: found)
            }
            try await handle.value
            for (hours, count) in [(23, 1), (25, 0)] as [(Int64, Int)] {
                let copy = folder.url.appending(path: "\(hours).sqlite")
                try FileManager.default.copyItem(at: found, to: copy)
                let store = try await LongLivedStore(
                    copy, now: Timestamp(milliseconds: Timestamp.now().milliseconds + hours * 3_600_000))
                #expect(try await store.operations().count == count, "\(hours) hours")
            }
        }
    }

    /// The file may be gone because the record was saved with it.
    @Test func aSaveWhoseFileIsGoneMayHaveBeenMade() async throws {
        let folder = try TemporaryFolder()
        let (file, found) = (folder.url.appending(path: "a.sqlite"), folder.url.appending(path: "b.sqlite"))
        let photo = try folder.write([1, 2, 3], to: "photo")
        var record = Record(recordType: "Item", recordID: RecordID(recordName: "a", zoneID: zone))
        record["file"] = AssetFile(fileURL: photo)
        let photographed = record
        try await withScript({ request, _ in
            if request.path.hasSuffix("assets/upload") {
                return .json(
                    #"{"tokens":[{"recordName":"a","fieldName":"file","url":"http://\#(request.headers["host"] ?? "")/up"}]}"#
                )
            }
            if request.path == "/up" { return .json(#"{"singleFile":{"fileChecksum":"c1","size":3,"receipt":"r1"}}"#) }
            // The process ends now.
            try? FileManager.default.copyItem(at: file, to: found)
            return records(item("a", tag: "1"), item("b", tag: "1"))
        }) { container, _ in
            let keeping = try await Container(container.client, longLivedOperationsIn: file)
            let other = Record(recordType: "Item", recordID: RecordID(recordName: "b", zoneID: zone))
            let operation = ModifyRecords(saving: [photographed, other])
            _ = await
                (try await keeping.privateCloudDatabase.addLongLived(operation) { _ in
                } onCompletion: { _ in
                }).result
            try FileManager.default.removeItem(at: photo)
            let callbacks = CallbackLog()
            _ = try await Self.resume(Container(container.client, longLivedOperationsIn: found), callbacks)
            #expect(
                callbacks.all == [
                    "progress b 1.0", "saved a: serverResponseLost", "saved b: serverResponseLost", "completed",
                ])
        }
    }

    /// An operation that can't be read keeps no other from being found, and goes when the app says so.
    @Test func aDamagedOperationIsForgotten() async throws {
        let folder = try TemporaryFolder()
        try await withAnswers(.json("{}")) { container, _ in
            let keeping = try await Container(
                container.client, longLivedOperationsIn: folder.url.appending(path: "a.sqlite"))
            try await keeping.longLived?.add("damaged", ModifyRecords.kind, .private, JSONObject())
            #expect(try await keeping.longLivedOperations().map(\.operationID) == ["damaged"])
            for _ in 0..<2 {
                let error = await operationError {
                    try await keeping.resume(ModifyRecords.self, withID: "damaged") { _ in
                    } onCompletion: { _ in
                    }
                }
                #expect(error?.code == .internalError)
            }
            try await keeping.forgetLongLivedOperation(withID: "damaged")
            #expect(try await keeping.longLivedOperations().isEmpty)
        }
    }

    @Test func aCancelledOperationIsForgotten() async throws {
        let folder = try TemporaryFolder()
        let edited = try edited("a", tag: "1")
        try await withAnswers(ScriptedServer.Reply.json("{}").after(requests: .max)) { container, server in
            let keeping = try await Container(
                container.client, longLivedOperationsIn: folder.url.appending(path: "a.sqlite"))
            let handle = try await keeping.privateCloudDatabase.addLongLived(ModifyRecords(saving: [edited])) { _ in
            } onCompletion: { _ in
            }
            try await eventually { server.requests.count == 1 }
            #expect(try await keeping.longLivedOperations().count == 1)
            let twice = await operationError {
                try await keeping.resume(ModifyRecords.self, withID: handle.operationID) { _ in
                } onCompletion: { _ in
                }
            }
            #expect(twice?.code == .invalidArguments)
            handle.cancel()
            _ = await handle.result
            #expect(try await keeping.longLivedOperations().isEmpty)
        }
    }

    @Test func aContainerWithoutAFileHasNone() async throws {
        try await withAnswers(.json("{}")) { container, _ in
            #expect(await operationError { _ = try await container.longLivedOperations() }?.code == .invalidArguments)
        }
    }
}
