import CloudKitClient
import Foundation
import LoopbackServing
import Records
import TestSupport
import Testing

@testable import RemoteRecords

/// Saves and deletions: what is sent, what comes back, and what happens if nothing does.
@Suite struct ModifyTests {
    private static let zoneless = #""zoneID":{"zoneName":"Items"}"#

    private static func new(_ name: String, _ text: String = "new") -> Record {
        var record = Record(recordType: "Item", recordID: RecordID(recordName: Name(name), zoneID: zone))
        record["text"] = text
        return record
    }

    /// The operations of a request.
    private static func operations(_ request: ScriptedServer.Request) throws -> [JSONObject] {
        try JSONReader.value(of: request.body).object.objects("operations")
    }

    @Test func callbacksComeInOrder() async throws {
        let answer = records(item("a", tag: "1"), item("b", tag: "2"), #""recordName":"c","deleted":true"#)
        try await withAnswers(answer) { container, server in
            let callbacks = CallbackLog()
            let handle = container.privateCloudDatabase.add(
                ModifyRecords(
                    saving: [Self.new("a"), Self.new("b")], deleting: [RecordID(recordName: "c", zoneID: zone)])
            ) { callbacks.note($0.words) }
            try await handle.value
            #expect(callbacks.all == ["progress a 1.0", "progress b 1.0", "saved a", "saved b", "deleted c"])
            #expect(server.requests.count == 1 && server.requests[0].path.hasSuffix("/private/records/modify"))
        }
    }

    /// It is refused by itself, and no parent of the same name is set instead.
    @Test func aRecordWithAParentInAnotherZoneIsNotSent() async throws {
        try await withAnswers(records(item("b", tag: "1"))) { container, server in
            var child = Self.new("a")
            child.setParent(Record(recordType: "List", in: ZoneID(zoneName: "Far")))
            let results = try await container.privateCloudDatabase.modifyRecords(
                saving: [child, Self.new("b")], atomically: false
            ).saveResults
            let error = await operationError { _ = try results[Self.new("a").recordID]?.get() }
            #expect(error?.code == .invalidArguments && error?.reason.contains("'Far'") == true)
            let sent = try Self.operations(server.requests[0])
            #expect(server.requests.count == 1 && sent.map { $0["record"]?.object["recordName"] } == ["b"])
        }
    }

    @Test(arguments: [
        (ModifyRecords.SavePolicy.ifServerRecordUnchanged, "update", ["text"]), (.changedKeys, "forceUpdate", ["text"]),
        (.allKeys, "forceUpdate", ["more", "text"]),
    ])
    func policiesDecideWhatIsSent(policy: ModifyRecords.SavePolicy, kind: String, keys: [Name]) async throws {
        try await withAnswers(records(item("a", tag: "2"))) { container, server in
            var record = try edited("a", tag: "1")
            record["more"] = 1
            // A key that was saved is no change any more.
            record = record.saved(
                as: try ReceivedRecord(JSONReader.value(of: "{\(item("a", tag: "1"))}").object, in: zone))
            record["text"] = "new"
            let saved = try await container.privateCloudDatabase.modifyRecords(saving: [record], savePolicy: policy)
                .saveResults[record.recordID]?.get()
            let sent = try Self.operations(server.requests[0])[0]
            #expect(sent["operationType"] == .string(kind))
            let body = try #require(sent["record"]).object
            #expect(body["fields"]?.object.names.sorted() == keys)
            #expect(body["recordChangeTag"] == (policy == .ifServerRecordUnchanged ? "1" : nil))
            #expect(saved?.recordChangeTag == "2" && saved?.hasChanges == false && saved?["text"] == "new" as String?)
        }
    }

    @Test func conflictsHaveThreeVersions() async throws {
        let conflict = records(#""recordName":"a","serverErrorCode":"CONFLICT","reason":"changed""#)
        try await withAnswers(conflict, records(item("a", tag: "9", text: "theirs"))) { container, server in
            let error = await operationError { try await container.privateCloudDatabase.save(edited("a", tag: "1")) }
            #expect(error?.code == .serverRecordChanged)
            let versions = [
                error?.conflict?.ancestorRecord, error?.conflict?.clientRecord, error?.conflict?.serverRecord,
            ].map { $0?["text"] as String? }
            #expect(versions == ["old", "new", "theirs"] && error?.conflict?.serverRecord.recordChangeTag == "9")
            #expect(server.requests.map { $0.path.hasSuffix("records/lookup") } == [false, true])
        }
    }

    @Test func errorsOfItemsAreThoseOfTheOperationToo() async throws {
        let answer = records(item("a", tag: "1"), #""recordName":"b","serverErrorCode":"ACCESS_DENIED","reason":"no""#)
        try await withAnswers(answer) { container, _ in
            let operation = ModifyRecords(saving: [Self.new("a"), Self.new("b")], isAtomic: false)
            let error = await operationError { try await container.privateCloudDatabase.perform(operation) }
            #expect(
                error?.code == .partialFailure
                    && error?.partialErrors.mapValues(\.code) == [
                        .record(RecordID(recordName: "b", zoneID: zone)): .permissionFailure
                    ])
        }
    }

    @Test func manyRecordsGoInBatches() async throws {
        try await withScript({ request, _ in
            let names = ((try? Self.operations(request)) ?? []).compactMap { $0["record"]?.object["recordName"] }
            return saved(names)
        }) { container, server in
            let many = (0..<450).map { Self.new("r\($0)") }
            let results = try await container.privateCloudDatabase.modifyRecords(saving: many, atomically: false)
            #expect(results.saveResults.count == 450)
            #expect(try server.requests.map { try Self.operations($0).count } == [200, 200, 50])
        }
    }

    /// An atomic request can't be divided. An app does it, if the operation says so, and nothing was sent of any zone.
    @Test func anAtomicOperationThatIsTooLargeFailsAsAWhole() async throws {
        try await withAnswers(.error("BAD_REQUEST", status: 400)) { container, server in
            let database = container.privateCloudDatabase
            let few = Record(recordType: "Item", in: ZoneID(zoneName: "First"))
            let many = (0..<450).map { Self.new("r\($0)") }
            let error = await operationError { _ = try await database.modifyRecords(saving: [few] + many) }
            #expect(error?.code == .limitExceeded && error?.partialErrors.isEmpty == true)
            let callbacks = CallbackLog()
            let operation = ModifyRecords(saving: many)
            #expect(
                await operationError { try await database.perform(operation) { callbacks.note($0.words) } }?.code
                    == .limitExceeded)
            #expect(server.requests.isEmpty && callbacks.all.isEmpty)
        }
    }

    @Test func aBatchThatIsTooLargeIsHalved() async throws {
        try await withScript({ request, _ in
            let names = ((try? Self.operations(request)) ?? []).compactMap { $0["record"]?.object["recordName"] }
            return names.count > 3 ? .error("BAD_REQUEST", status: 413) : saved(names)
        }) { container, server in
            let callbacks = CallbackLog()
            try await container.privateCloudDatabase.perform(
                ModifyRecords(saving: (0..<8).map { Self.new("r\($0)") }, isAtomic: false)
            ) { event in
                if case .saved = event { callbacks.note(event.words) }
            }
            #expect(try server.requests.map { try Self.operations($0).count } == [8, 4, 2, 2, 4, 2, 2])
            #expect(callbacks.all == (0..<8).map { "saved r\($0)" })
        }
    }

    /// Halves find no room either. An engine keeps the changes until there is some.
    @Test func aBatchThatFindsNoRoomIsNotHalved() async throws {
        try await withScript({ request, _ in
            request.path.hasSuffix("users/caller")
                ? .json(#"{"users":[{"userRecordName":"_a"}]}"#) : .error("QUOTA_EXCEEDED", status: 413)
        }) { container, server in
            let device = Device()
            let engine = try device.engine(container)
            for number in 0..<8 { device.edit(Name("r\(number)"), "new", engine) }
            #expect(await operationError { try await engine.sendChanges() }?.code == .quotaExceeded)
            #expect(engine.state.pendingRecordZoneChanges.count == 8)
            #expect(server.requests.filter { $0.path.hasSuffix("records/modify") }.count == 1)
        }
    }

    /// Callers must know what was saved before the rest failed.
    @Test func theFirstHalfIsReportedIfTheSecondFails() async throws {
        try await withScript({ request, number in
            let names = ((try? Self.operations(request)) ?? []).compactMap { $0["record"]?.object["recordName"] }
            if names.count > 2 { return .error("BAD_REQUEST", status: 413) }
            return number == 1 ? saved(names) : .error("ACCESS_DENIED", status: 403)
        }) { container, server in
            let callbacks = CallbackLog()
            let error = await operationError {
                try await container.privateCloudDatabase.perform(
                    ModifyRecords(saving: (0..<4).map { Self.new("r\($0)") }, isAtomic: false)
                ) { event in
                    if case .saved = event { callbacks.note(event.words) }
                }
            }
            #expect(error?.code == .permissionFailure && callbacks.all == ["saved r0", "saved r1"])
            let counts = try server.requests.map { try Self.operations($0).count }
            #expect(counts == [4, 2, 2])
        }
    }

    /// A server may refuse the whole request because of one record.
    @Test(arguments: [true, false]) func aRecordThatTheServerCannotReadFailsAlone(isAtomic: Bool) async throws {
        try await withScript({ request, _ in
            let names = ((try? Self.operations(request)) ?? []).compactMap { $0["record"]?.object["recordName"] }
            return names.contains("r2") ? .error("BAD_REQUEST", status: 400) : saved(names)
        }) { container, server in
            let results = try await container.privateCloudDatabase.modifyRecords(
                saving: (0..<4).map { Self.new("r\($0)") }, atomically: isAtomic)
            let codes = results.saveResults.compactMapValues { result -> OperationError.Code? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            let failed = (isAtomic ? [0, 1, 2, 3] : [2]).map { RecordID(recordName: Name("r\($0)"), zoneID: zone) }
            #expect(
                codes == Dictionary(uniqueKeysWithValues: failed.map { ($0, .invalidArguments) })
                    && results.saveResults.count == 4)
            #expect(try server.requests.map { try Self.operations($0).count } == (isAtomic ? [4] : [4, 2, 2, 1, 1]))
        }
    }

    @Test func aFileThatIsMissingFailsTheAtomicBatchBeforeItIsSent() async throws {
        try await withAnswers(records()) { container, server in
            var broken = Self.new("b")
            broken["file"] = AssetFile(fileURL: URL(filePath: "/nowhere/file"))
            let results = try await container.privateCloudDatabase.modifyRecords(saving: [Self.new("a"), broken])
            let codes = results.saveResults.mapValues { result -> OperationError.Code? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            #expect(
                codes == [
                    RecordID(recordName: "a", zoneID: zone): .batchRequestFailed, broken.recordID: .assetFileNotFound,
                ])
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: Lost answers

    @Test func aSaveThatArrivedIsNotMadeTwice() async throws {
        try await withAnswers(.close, records(item("a", tag: "2", text: "new"))) { container, server in
            let saved = try await container.privateCloudDatabase.save(edited("a", tag: "1"))
            #expect(saved.recordChangeTag == "2" && !saved.hasChanges)
            #expect(server.requests.map { $0.path.hasSuffix("records/modify") } == [true, false])
        }
    }

    /// Another client changed another key since. Its value must not be overwritten by the next save.
    @Test func aSaveThatArrivedComesWithLaterChangesOfOthers() async throws {
        let now = records(
            ##""recordName":"a","recordType":"Item","recordChangeTag":"3","fields":{"text":{"value":"new","type":"STRING"},"more":{"value":"theirs","type":"STRING"}}"##
        )
        try await withAnswers(.close, now) { container, _ in
            let saved = try await container.privateCloudDatabase.save(edited("a", tag: "1"))
            #expect(
                saved.recordChangeTag == "3" && saved["text"] == "new" as String?
                    && saved["more"] == "theirs" as String? && !saved.hasChanges)
        }
    }

    @Test func aSaveThatDidNotArriveIsMadeAgain() async throws {
        try await withAnswers(.close, records(item("a", tag: "1", text: "old")), records(item("a", tag: "2"))) {
            container, server in
            let saved = try await container.privateCloudDatabase.save(edited("a", tag: "1"))
            #expect(saved.recordChangeTag == "2")
            #expect(server.requests.map { $0.path.hasSuffix("records/modify") } == [true, false, true])
        }
    }

    /// Without a network nobody can find out. `networkFailure` would mean that nothing was done.
    @Test func aSaveThatCannotBeFoundOutMayHaveBeenMade() async throws {
        try await withAnswers(.close) { container, server in
            let error = await operationError { try await container.privateCloudDatabase.save(edited("a", tag: "1")) }
            #expect(
                error?.code == .serverResponseLost
                    && server.requests.filter { $0.path.hasSuffix("records/modify") }.count == 1)
        }
    }

    /// The lookup is refused for the moment, for each item or as a whole. `zoneBusy` would mean that nothing was done.
    @Test(arguments: ["ZONE_BUSY", "TRY_AGAIN_LATER", "THROTTLED"], [true, false])
    func aSaveThatCannotBeLookedUpNowMayHaveBeenMade(code: String, isOfItem: Bool) async throws {
        let item = records(#""recordName":"a","serverErrorCode":"\#(code)","reason":"busy","retryAfter":7"#)
        try await withAnswers(.close, isOfItem ? item : .error(code, status: 503, #","retryAfter":7"#)) {
            container, server in
            let error = await operationError { try await container.privateCloudDatabase.save(edited("a", tag: "1")) }
            #expect(error?.code == .serverResponseLost && error?.retryAfter == .seconds(7))
            #expect(server.requests.filter { $0.path.hasSuffix("records/modify") }.count == 1)
        }
    }

    /// Nothing of an atomic batch is sent again while one of its records can't be looked up.
    @Test func anAtomicBatchWaitsForEachLookup() async throws {
        let now = records(
            item("a", tag: "1", text: "old"), #""recordName":"b","serverErrorCode":"ZONE_BUSY","reason":"busy""#)
        try await withAnswers(.close, now) { container, server in
            let changes = try ["a", "b"].map { try edited($0, tag: "1") }
            let results = try await container.privateCloudDatabase.modifyRecords(saving: changes).saveResults
            let codes = changes.map { results[$0.recordID]?.failure?.code }
            #expect(codes == [.serverResponseLost, .serverResponseLost] && server.requests.count == 2)
        }
    }

    /// A lookup of too many records is halved, and what was lost is still looked up before it is sent again.
    @Test func aLookupThatIsTooLargeIsHalved() async throws {
        try await withScript({ request, number in
            if number == 0 { return .close }
            if request.path.hasSuffix("records/modify") { return records(item("b", tag: "3")) }
            let names = ((try? JSONReader.value(of: request.body).object.objects("records")) ?? []).map {
                $0["recordName"]
            }
            if names.count > 1 { return .error("BAD_REQUEST", status: 413) }
            return names == ["a"]
                ? records(item("a", tag: "2", text: "new")) : records(item("b", tag: "1", text: "old"))
        }) { container, server in
            let changes = [try edited("a", tag: "1"), try edited("b", tag: "1")]
            let results = try await container.privateCloudDatabase.modifyRecords(saving: changes, atomically: false)
            let tags = try results.saveResults.mapValues { try $0.get().recordChangeTag }
            #expect(tags == [changes[0].recordID: "2", changes[1].recordID: "3"])
            #expect(server.requests.map { $0.path.hasSuffix("records/modify") } == [true, false, false, false, true])
        }
    }

    /// The first request was late, and arrived after the lookup.
    @Test func aSaveThatArrivesLateIsNoConflict() async throws {
        let conflict = records(#""recordName":"a","serverErrorCode":"CONFLICT","reason":"changed""#)
        try await withAnswers(
            .close, records(item("a", tag: "1", text: "old")), conflict, records(item("a", tag: "2", text: "new"))
        ) { container, server in
            let saved = try await container.privateCloudDatabase.save(edited("a", tag: "1"))
            #expect(saved.recordChangeTag == "2" && server.requests.count == 4)
        }
    }

    @Test func aSaveThatSomeoneElseCameBeforeIsAConflict() async throws {
        try await withAnswers(.close, records(item("a", tag: "5", text: "theirs"))) { container, server in
            let error = await operationError { try await container.privateCloudDatabase.save(edited("a", tag: "1")) }
            #expect(
                error?.code == .serverRecordChanged && error?.conflict?.serverRecord["text"] == "theirs" as String?
                    && server.requests.count == 2)
        }
    }

    /// One record of an atomic batch shows that all of it was saved, although another client changed the other one
    /// since.
    @Test func anAtomicBatchArrivedAsAWhole() async throws {
        let now = records(item("a", tag: "2", text: "new"), item("b", tag: "9", text: "theirs"))
        try await withAnswers(.close, now) { container, server in
            let results = try await container.privateCloudDatabase.modifyRecords(saving: [
                edited("a", tag: "1"), edited("b", tag: "1"),
            ])
            let tags = try results.saveResults.mapValues { try $0.get().recordChangeTag }
            #expect(
                tags == [RecordID(recordName: "a", zoneID: zone): "2", RecordID(recordName: "b", zoneID: zone): "9"]
                    && server.requests.count == 2)
        }
    }

    /// Another client gave a record the values that the batch has, too. The other record is as it was, so the batch was
    /// not made: the rest is sent again.
    @Test(arguments: ["edit", "new", "deletion"]) func anAtomicBatchThatDidNotArriveIsSentAgain(rest: String)
        async throws
    {
        let missing = #""recordName":"b","serverErrorCode":"NOT_FOUND","reason":"none""#
        let now = rest == "new" ? missing : item("b", tag: "1", text: "old")
        let answer = rest == "deletion" ? #""recordName":"b","deleted":true"# : item("b", tag: "3")
        try await withAnswers(.close, records(item("a", tag: "2", text: "new"), now), records(answer)) {
            container, server in
            let b = RecordID(recordName: "b", zoneID: zone)
            let saves =
                [try edited("a", tag: "1")]
                + (rest == "edit" ? [try edited("b", tag: "1")] : rest == "new" ? [Self.new("b")] : [])
            let results = try await container.privateCloudDatabase.modifyRecords(
                saving: saves, deleting: rest == "deletion" ? [b] : [])
            let tags = try results.saveResults.mapValues { try $0.get().recordChangeTag }
            #expect(tags[RecordID(recordName: "a", zoneID: zone)] == "2" && tags[b] == (rest == "deletion" ? nil : "3"))
            if rest == "deletion" { try #require(results.deleteResults[b]).get() }
            #expect(server.requests.map { $0.path.hasSuffix("records/modify") } == [true, false, true])
            let sent = try Self.operations(try #require(server.requests.last)).map {
                $0["record"]?.object["recordName"]
            }
            #expect(sent == ["b"])
        }
    }

    /// A conflict keeps the whole batch from being made, also a record that looks saved.
    @Test func anAtomicBatchThatDidNotArriveFailsAsAWhole() async throws {
        let now = records(
            item("a", tag: "2", text: "new"), item("b", tag: "1", text: "old"), item("c", tag: "9", text: "theirs"))
        try await withAnswers(.close, now) { container, server in
            let changes = try ["a", "b", "c"].map { try edited($0, tag: "1") }
            let results = try await container.privateCloudDatabase.modifyRecords(saving: changes).saveResults
            let codes = changes.map { results[$0.recordID]?.failure?.code }
            #expect(
                codes == [.batchRequestFailed, .batchRequestFailed, .serverRecordChanged] && server.requests.count == 2)
        }
    }

    @Test func aRecordThatIsGoneIsDeleted() async throws {
        let missing = #""recordName":"a","serverErrorCode":"NOT_FOUND","reason":"none""#
        try await withAnswers(records(missing), records(missing, item("b", tag: "1"))) { container, server in
            let (a, b) = (RecordID(recordName: "a", zoneID: zone), RecordID(recordName: "b", zoneID: zone))
            try await container.privateCloudDatabase.deleteRecord(withID: a)
            let results = try await container.privateCloudDatabase.modifyRecords(deleting: [a, b], atomically: false)
                .deleteResults
            #expect(
                results.values.allSatisfy { (try? $0.get()) != nil } && results.count == 2 && server.requests.count == 2
            )
        }
    }

    @Test func aDeletionThatArrivedIsDone() async throws {
        let missing = records(#""recordName":"a","serverErrorCode":"NOT_FOUND","reason":"none""#)
        try await withAnswers(.close, missing) { container, server in
            try await container.privateCloudDatabase.deleteRecord(withID: RecordID(recordName: "a", zoneID: zone))
            #expect(server.requests.count == 2)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// The answer to saves of these names.
private func saved(_ names: [JSONValue]) -> ScriptedServer.Reply {
    .json(
        #"{"records":[\#(names.map { #"{"recordName":\#(String(decoding: JSONWriter.bytes(of: $0), as: UTF8.self)),"recordType":"Item","recordChangeTag":"1"}"# }.joined(separator: ","))]}"#
    )
}
