import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import Synchronization
import Testing

/// The problems that a check of records finds, and the cases that it accepts.
@Suite struct RecordCheckTests {
    private let engine = InMemoryRecordEngine()
    private let other = ZoneID(zoneName: "Other")

    private func database() async throws -> any RecordDatabase {
        let database = try await engine.withZone()
        for result in try await database.modifyZones([.create(other)]) { _ = try result.get() }
        return database
    }

    private func findings(
        in database: any RecordDatabase, _ zoneID: ZoneID? = nil, isStored: RecordCheck.FileLookup? = nil
    ) async throws -> ([RecordFinding], RecordCheck.Progress) {
        var findings: [RecordFinding] = []
        let progress = try await RecordCheck(database, zoneID: zoneID, isStored: isStored).run { findings.append($0) }
        return (findings, progress)
    }

    private func reference(_ name: Name, _ zoneID: ZoneID? = nil, _ action: Reference.Action = .none) -> FieldValue {
        .reference(Reference(recordName: name, zoneID: zoneID, action: action))
    }

    @Test func correctRecordsAreNotReported() async throws {
        let database = try await database()
        try await database.save(
            "a", in: notes, ["self": reference("a"), "b": reference("b"), "named": reference("b", notes)])
        try await database.save(
            "b", in: notes, ["list": .list([reference("a"), reference("c", nil, .deleteSelf)], of: .reference)],
            parent: .record("a"))
        try await database.save("c", type: "CD_Note", in: notes, ["CD_entityName": .string("Note")])
        try await database.save("d", type: "CDMR", in: notes, ["CD_entityNames": .string("Tag:Note")])
        try await database.save("e", in: .default, ["text": .string(String(repeating: "x", count: 900_000))])
        let (found, progress) = try await findings(in: database)
        #expect(found == [])
        #expect(progress.records == 5 && progress.zones == 3 && progress.findings == 0 && progress.total == 5)
    }

    @Test func referencesAndParentsWithoutTargetsAreNamed() async throws {
        let database = try await database()
        try await database.save("target", in: notes)
        try await database.save(
            "a", in: notes,
            ["link": reference("target"), "links": .list([reference("target"), reference("never")], of: .reference)])
        try await database.save("house", in: notes)
        try await database.save("home", in: notes, ["link": reference("house", nil, .deleteSelf)])
        try await database.save("b", in: notes, ["link": reference("gone", nil, .deleteSelf)], parent: .record("home"))
        for name in ["target", "house"] as [Name] { try await database.delete(name, in: notes) }
        let (found, progress) = try await findings(in: database)
        #expect(
            found.map { [$0.recordID.recordName, $0.fieldName ?? "", $0.target?.recordName ?? ""] } == [
                ["a", "link", "target"], ["a", "links", "target"], ["a", "links", "never"], ["b", "link", "gone"],
                ["b", "parent", "home"],
            ])
        #expect(
            found.map(\.kind) == [
                .danglingReference, .danglingReference, .danglingReference, .danglingReference, .danglingParent,
            ])
        #expect(progress.findings == 5)
        #expect(
            found.allSatisfy { $0.recordType == "Item" && !$0.explanation.isEmpty && !$0.explanation.hasSuffix(".") })
        #expect(found[3].explanation.contains("DELETE_SELF"))
        let (none, _) = try await findings(in: database, other)
        #expect(none.isEmpty)
    }

    @Test func whatLeavesItsZoneIsNamedWhetherItArrivesOrNot() async throws {
        let database = try await database()
        try await database.save("there", in: other)
        try await database.save("a", in: notes, ["far": reference("there", other), "lost": reference("nobody", other)])
        try await database.save("b", in: notes, ["nowhere": reference("x", ZoneID(zoneName: "Nowhere"))])
        let (found, _) = try await findings(in: database, notes)
        #expect(
            found.map { [$0.kind.rawValue, $0.fieldName?.string ?? ""] } == [
                ["referenceAcrossZones", "far"], ["referenceAcrossZones", "lost"], ["danglingReference", "lost"],
                ["referenceAcrossZones", "nowhere"],
                ["danglingReference", "nowhere"],
            ])
    }

    @Test func ownersThatMeanTheZoneItselfAreNoOtherZone() async throws {
        let database = try await database()
        try await database.save("a", in: notes)
        for owner in [ada.userRecordName, "__defaultOwner__", "_defaultOwner"] as [Name] {
            try await database.save(
                "b", in: notes, ["link": reference("a", ZoneID(zoneName: "Notes", ownerRecordName: owner))])
            #expect(try await findings(in: database).0 == [])
        }
        try await database.share(
            notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
        #expect(try await findings(in: engine.full(.shared, as: grace)).0 == [])
    }

    @Test func largeRecordsAndEntitiesThatDoNotFitAreNamed() async throws {
        let database = try await database()
        try await database.save("large", in: notes, ["text": .string(String(repeating: "x", count: 950_000))])
        try await database.save("m", type: "CD_Note", in: notes, ["CD_entityName": .string("note")])
        try await database.save("n", type: "CD_Note", in: notes, ["CD_title": .string("x")])
        try await database.save("o", type: "CD_Plan", in: notes, ["CD_entityName": .int64(1)])
        let (found, _) = try await findings(in: database)
        #expect(found.map(\.kind) == [.nearSizeLimit, .entityName, .entityName, .entityName])
        #expect(
            found[1].explanation.contains("says 'note'") && found[2].explanation.contains("is missing")
                && found[3].explanation.contains("is not a string"))
    }

    @Test func everyPageIsLookedAt() async throws {
        let database = try await database()
        var operations: [RecordOperation] = []
        for number in 0..<900 {
            // Each refers to the previous one, across page boundaries; every hundredth to a missing record.
            let target = number % 100 == 0 ? "nothing-\(number)" : String(format: number - 1)
            operations.append(
                RecordOperation(
                    .create, recordName: Name(String(format: number)), recordType: "Item",
                    fields: ["link": FieldInput(reference(Name(target)))]))
        }
        for start in stride(from: 0, to: operations.count, by: 200) {
            try await database.apply(Array(operations[start..<min(start + 200, 900)]), in: notes)
        }
        let reports = Mutex<[Int]>([])
        var names: [Name] = []
        let progress = try await RecordCheck(database).run { progress in
            reports.withLock { $0.append(progress.records) }
        } found: {
            names.append($0.recordID.recordName)
        }
        #expect(names == stride(from: 0, to: 900, by: 100).map { Name(String(format: $0)) })
        #expect(progress.records == 900 && progress.total == 900)
        let told = reports.withLock { $0 }
        #expect(told == told.sorted() && told.count > 4 && told.last == 900)
    }

    @Test func whatGuestsMissIsNamed() async throws {
        let stage = try await SharingStage(on: engine)
        #expect(try await findings(in: stage.owner).0 == [])
        let unknown = ShareParticipant(
            participantID: "nobody", lookupInfo: LookupInfo(emailAddress: "nobody@example.org"))
        let known = ShareParticipant(participantID: "grace", lookupInfo: LookupInfo(emailAddress: "grace@example.org"))
        let share = try await stage.share(with: [unknown, known])
        func found(after days: Double) async throws -> [String] {
            var found: [RecordFinding] = []
            let now = Timestamp(milliseconds: share.created.timestamp.milliseconds + Int64(days * 86_400_000))
            let check = RecordCheck(
                stage.owner, isKnown: { LookupInfo(emailAddress: "Grace@example.org").matches($0) }, now: now)
            _ = try await check.run { found.append($0) }
            #expect(found.allSatisfy { !$0.explanation.hasSuffix(".") })
            return found.map { "\($0.kind.rawValue) \($0.recordID.recordName)" }
        }
        // The diary is an item like those below the list, which is a root.
        #expect(try await found(after: 0.9) == ["besideHierarchies diary", "unknownAddress share"])
        #expect(
            try await found(after: 2) == ["besideHierarchies diary", "unacceptedShare share", "unknownAddress share"])
        try await stage.accept(share, as: grace, emailAddress: "grace@example.org")
        try await stage.owner.save("diary", in: notes, parent: .record("list"))
        #expect(try await found(after: 2) == ["unknownAddress share"])
        // A type that no hierarchy has below its root may stand beside it.
        try await stage.owner.save("other list", type: "List", in: notes)
        #expect(try await found(after: 2) == ["unknownAddress share"])
        #expect(try await findings(in: stage.shared(grace)).0 == [])
        try await stage.owner.delete("share", in: notes)
        #expect(try await found(after: 2) == [])
    }

    @Test func sharesWithinSharesAndCirclesOfParentsAreNamed() async throws {
        let stage = try await SharingStage(on: engine)
        try await stage.share("milk", as: "inner")
        try await stage.restoreShare("list", as: "share", with: [])
        let links = [("x", "y"), ("y", "x"), ("own", "own"), ("below", "x"), ("deep", "brand")] as [(Name, Name)]
        for (name, parent) in links {
            let operation = RecordOperation(
                .create, recordName: name, recordType: "Item", parent: .record(parent),
                provenance: SharingStage.provenance)
            #expect(try await stage.owner.outcomes([operation], in: notes) == [nil])
        }
        let found = try await findings(in: stage.owner).0.filter { [.nestedShare, .parentCircle].contains($0.kind) }
        #expect(
            found.map { "\($0.kind.rawValue) \($0.recordID.recordName) \($0.target?.recordName ?? "")" } == [
                "nestedShare milk list", "parentCircle own own", "parentCircle x y", "parentCircle y x",
            ])
        #expect(found.allSatisfy { $0.fieldName == "parent" && !$0.explanation.hasSuffix(".") })
        // The remedies.
        for (name, parent) in [("x", nil), ("own", nil), ("milk", nil)] as [(Name, Name?)] {
            try await stage.owner.save(name, in: notes, parent: parent.map { .record($0) } ?? .cleared)
        }
        #expect(try await findings(in: stage.owner).0.filter { [.nestedShare, .parentCircle].contains($0.kind) } == [])
    }

    @Test func encryptedFieldsInThePublicDatabaseAreNamed() async throws {
        let field = FieldInput(.string("x"), isEncrypted: true)
        for (scope, kinds) in [(.public, [.encryptedInPublic]), (.private, [])]
            as [(DatabaseScope, [RecordFinding.Kind])]
        {
            let database = try await engine.full(scope)
            let stored = RecordOperation(
                .create, recordName: "a", recordType: "Item", fields: ["secret": field],
                provenance: SharingStage.provenance)
            #expect(try await database.outcomes([stored]) == [nil])
            let found = try await findings(in: database).0
            #expect(found.map(\.kind) == kinds && found.allSatisfy { $0.fieldName == "secret" })
        }
    }

    /// A restored share keeps the time of the copy, whatever that is.
    @Test(arguments: [(Int64.min, true), (Int64.max, false)]) func theAgeOfAShareHasBounds(created: Int64, isOld: Bool)
        async throws
    {
        let signature = Signature(
            timestamp: Timestamp(milliseconds: created), userRecordName: ada.userRecordName, deviceID: "d")
        let record = StoredRecord(
            recordID: RecordID(recordName: "share", zoneID: notes), recordType: Share.recordType, recordChangeTag: "1",
            created: signature, modified: signature,
            fields: .empty, sharing: RecordSharing(share: Share(rootName: "list", shortGUID: "x", participants: [])))
        let now = Timestamp(milliseconds: isOld ? .max : .min)
        #expect(
            try await ShareCheck.findings(in: record, at: now, isKnown: nil).map(\.kind)
                == (isOld ? [.unacceptedShare] : []))
    }

    @Test func aCheckThatIsCancelledEnds() async throws {
        let database = try await database()
        try await database.save("a", in: notes)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await RecordCheck(database).run { _ in }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func assetsWithoutTheirFileAreNamed() async throws {
        let database = try await database()
        let clock = TestClock()
        for (name, number) in [("a", 1), ("b", 2), ("c", 1)] as [(Name, UInt8)] {
            let asset = try await engine.upload(
                number, for: name, at: Timestamp(milliseconds: clock.now().milliseconds + 1_000_000_000_000))
            try await database.save(name, in: notes, ["file": .asset(asset)])
        }
        #expect(try await findings(in: database).0 == [])
        let asked = Mutex<[FileChecksum]>([])
        let missing = checksum(1)
        let (found, _) = try await findings(in: database) { checksum in
            asked.withLock { $0.append(checksum) }
            return checksum != missing
        }
        #expect(found.map(\.kind) == [.missingAsset, .missingAsset] && found.map(\.recordID.recordName) == ["a", "c"])
        // Each file is looked up once.
        #expect(asked.withLock { $0.count } == 2)
    }
}

extension String {
    /// A number with leading zeros, so that names sort in numeric order.
    fileprivate init(format number: Int) {
        let digits = "\(number)"
        self = String(repeating: "0", count: 4 - digits.count) + digits
    }
}
