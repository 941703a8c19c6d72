import RecordStore
import Records
import StoreScenarios
import Testing

/// Batches of which some items fail, and saves without space.
@Suite struct FaultSaveTests {
    private static let names: [Name] = ["a", "b", "c", "d", "e"]

    private static func saves(_ names: [Name] = names) -> [RecordOperation] {
        names.map { RecordOperation(.forceUpdate, recordName: $0, recordType: "Item") }
    }

    @Test(
        arguments: [
            (
                1, "QUOTA_EXCEEDED", [.quotaExceeded, .quotaExceeded, .quotaExceeded, .quotaExceeded, .quotaExceeded],
                [.quotaExceeded, .quotaExceeded, .quotaExceeded, .quotaExceeded, .quotaExceeded], []
            ),
            (
                2, "CONFLICT", [nil, .conflict, nil, .conflict, nil],
                [.atomicError, .conflict, .atomicError, .conflict, .atomicError], ["a", "c", "e"]
            ),
            (
                5, "ZONE_BUSY", [nil, nil, nil, nil, .zoneBusy],
                [.atomicError, .atomicError, .atomicError, .atomicError, .zoneBusy], ["a", "b", "c", "d"]
            ),
        ] as [(Int, String, [ServerErrorCode?], [ServerErrorCode?], [Name])])
    func someItemsFail(every: Int, code: String, alone: [ServerErrorCode?], atomic: [ServerErrorCode?], saved: [Name])
        async throws
    {
        let stage = try await FaultStage()
        try stage.faults.start(FaultSetting(.partialFailure, count: 2, every: every, code: code))
        #expect(try await stage.door.outcomes(Self.saves(), in: notes) == atomic)
        #expect(try await stage.plain.names(in: notes, of: Self.names).isEmpty)
        #expect(try await stage.door.outcomes(Self.saves(), in: notes, atomic: false) == alone)
        #expect(try await stage.plain.names(in: notes, of: Self.names) == saved)
        #expect(stage.faults.isIdle)
    }

    /// The default zone has no atomic batches.
    @Test func theDefaultZoneKeepsTheOthers() async throws {
        let stage = try await FaultStage()
        try stage.start(.partialFailure)
        #expect(try await stage.door.outcomes(Self.saves()) == [nil, .conflict, nil, .conflict, nil])
    }

    @Test func aBatchWithTooFewItemsDoesNotCount() async throws {
        let stage = try await FaultStage()
        try stage.faults.start(FaultSetting(.partialFailure, every: 3))
        #expect(try await stage.door.outcomes(Self.saves(["a", "b"]), in: notes) == [nil, nil])
        let scope = RequestFaults(asking: [.partialFailure], items: try FailingItems(every: 3, code: nil))
        #expect(try await stage.door(scope).outcomes(Self.saves(["a", "b"]), in: notes) == [nil, nil])
        #expect(scope.shaped.isEmpty && stage.faults.active.map(\.remaining) == [1])
        #expect(
            try await stage.door.outcomes(Self.saves(["a", "b", "c"]), in: notes) == [
                .atomicError, .atomicError, .conflict,
            ])
        #expect(stage.faults.isIdle)
    }

    @Test(arguments: FailingItems.Code.allCases)
    func anItemFailsWithEachCode(code: FailingItems.Code) async throws {
        let stage = try await FaultStage()
        try stage.faults.start(FaultSetting(.partialFailure, every: 1, code: code.rawValue))
        guard
            case .failure(let error)? = try await stage.door.modify(ModifyRequest(Self.saves(["a"]), zoneID: notes))
                .first
        else {
            Issue.record("no error")
            return
        }
        #expect(error.code.rawValue == code.rawValue && error.known != nil)
    }

    @Test func withoutSpaceOnlyDeletionsWork() async throws {
        let stage = try await FaultStage()
        for name in ["old", "older"] as [Name] { try await stage.plain.save(name, in: notes) }
        func mixed(_ deleted: Name) -> [RecordOperation] {
            Self.saves(["a"]) + [RecordOperation(.forceDelete, recordName: deleted)]
        }
        try stage.faults.start(FaultSetting(.quotaExceeded, count: 3))
        // Nothing is saved, so nothing fails.
        #expect(try await stage.door.outcomes([RecordOperation(.forceDelete, recordName: "older")], in: notes) == [nil])
        #expect(try await stage.door.outcomes(mixed("old"), in: notes) == [.quotaExceeded, .atomicError])
        #expect(try await stage.plain.names(in: notes, of: ["old"]) == ["old"])
        #expect(try await stage.door.outcomes(mixed("old"), in: notes, atomic: false) == [.quotaExceeded, nil])
        #expect(try await stage.plain.names(in: notes, of: ["old", "a"]).isEmpty)
        let requests = [UploadRequest(recordType: "Item", fieldName: "file", recordName: "a")]
        guard
            case .failure(let error)? = try await stage.door.require(.uploadAssets).grantUploads(requests, in: notes)
                .first
        else {
            Issue.record("an address for an upload")
            return
        }
        #expect(error.known == .quotaExceeded && stage.faults.isIdle)
    }
}
