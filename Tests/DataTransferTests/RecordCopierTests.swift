import AssetStore
import Foundation
import NIOCore
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing
@testable import DataTransfer

/// Copying single records into another zone.
@Suite struct RecordCopierTests {
    private static let notes = ZoneID(zoneName: "Notes")
    private static let copies = ZoneID(zoneName: "Copies")

    private let folder: TemporaryFolder
    private let engine: SQLRecordEngine
    private let stores: AssetStores
    private let container: ContainerID

    init() throws {
        folder = try TemporaryFolder()
        let data = folder.url.appending(path: "data")
        engine = try SQLRecordEngine(folder: data)
        stores = AssetStores(folder: data, engine: engine)
        container = try #require(ContainerID("iCloud.com.example.Copies"))
    }

    private func database(_ scope: DatabaseScope = .private, as user: Name = "_ada") async throws -> any RecordDatabase
    {
        let address = DatabaseAddress(container: container, environment: .development, scope: scope)
        return try await engine.database(address, as: Caller(userRecordName: user, deviceID: "phone"))
    }

    private func record(_ name: Name, type: Name = "Note", _ fields: [Name: FieldValue] = [:]) -> RecordOperation {
        RecordOperation(.forceReplace, recordName: name, recordType: type, fields: fields.mapValues { FieldInput($0) })
    }

    /// A record that requires another record.
    private func record(_ name: Name, needing target: Name) -> RecordOperation {
        record(name, ["next": .reference(Reference(recordName: target, action: .validate))])
    }

    /// Saves all records in one request, and reads them.
    @discardableResult
    private func save(_ operations: [RecordOperation], in zoneID: ZoneID = notes, of database: any RecordDatabase)
        async throws -> [StoredRecord]
    {
        if !zoneID.isDefault { _ = try await database.modifyZones([.create(zoneID)]) }
        for outcome in try await database.modify(ModifyRequest(operations, zoneID: zoneID)) { _ = try outcome.get() }
        let recordIDs = operations.compactMap { operation in
            operation.recordName.map { RecordID(recordName: $0, zoneID: zoneID) }
        }
        return try await database.fetch(recordIDs, desiredKeys: nil).map { try $0.get() }
    }

    private func names(in zoneID: ZoneID, of database: any RecordDatabase, _ candidates: [Name]) async throws -> [Name]
    {
        let found = try await database.fetch(
            candidates.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: [])
        return found.compactMap { try? $0.get().recordID.recordName }
    }

    /// `copied`, `left`, or the code of the error, for each.
    private func words(_ results: [Result<RecordCopier.Outcome, RecordError>]) -> [String] {
        results.map { result in
            switch result {
            case .success(let act): "\(act)"
            case .failure(let error): error.code.rawValue
            }
        }
    }

    private func refusal(_ body: () async throws -> [Result<RecordCopier.Outcome, RecordError>]) async -> RecordError? {
        do {
            Issue.record("not refused: \(words(try await body()))")
            return nil
        } catch {
            return error as? RecordError
        }
    }

    @Test func allOrNoneIsThatOrRefused() async throws {
        let (here, open) = (try await database(), try await database(.public))
        // The target is not copied, so the record that requires it cannot be saved.
        let all = try await save(
            [record("a", ["rank": .int64(1)]), record("target"), record("b", needing: "target")], of: here)
        let picked = [all[0], all[2]]
        let whole = RecordCopier(from: here, Self.notes, to: here, Self.copies, existing: .refuse)
        #expect(words(try await whole.copy(picked, files: nil)) == ["ATOMIC_ERROR", "VALIDATING_REFERENCE_ERROR"])
        #expect(try await names(in: Self.copies, of: here, ["a", "b"]).isEmpty)
        let error = await refusal {
            try await RecordCopier(from: here, Self.notes, to: open, .default, existing: .refuse).copy(
                picked, files: nil)
        }
        #expect(error?.code == .badRequest && error?.reason.contains("no atomic batches") == true)
        #expect(try await names(in: .default, of: open, ["a", "b"]).isEmpty)
        // One by one, it copies every record that can be saved.
        let each = RecordCopier(from: here, Self.notes, to: open, .default, existing: .skip)
        #expect(words(try await each.copy(picked, files: nil)) == ["copied", "VALIDATING_REFERENCE_ERROR"])
    }

    @Test func recordsThatNeedEachOtherGoTogether() async throws {
        let (here, open) = (try await database(), try await database(.public))
        let circle = try await save(
            [
                record("a", needing: "b"), record("b", needing: "c"), record("c", needing: "a"),
                record("d", needing: "a"),
            ], of: here)
        let picked = [circle[3], circle[0], circle[1], circle[2]]
        for existing in [RecordCopier.Existing.skip, .refuse] {
            let there = ZoneID(zoneName: Name("Copies-\(existing)"))
            let copier = RecordCopier(from: here, Self.notes, to: here, there, existing: existing)
            #expect(words(try await copier.copy(picked, files: nil)) == ["copied", "copied", "copied", "copied"])
            #expect(try await names(in: there, of: here, ["a", "b", "c", "d"]) == ["a", "b", "c", "d"])
        }
        let refused = try await RecordCopier(from: here, Self.notes, to: open, .default, existing: .skip).copy(
            picked, files: nil)
        #expect(
            refused.dropFirst() == [
                .failure(RecordCopier.isInCircle), .failure(RecordCopier.isInCircle), .failure(RecordCopier.isInCircle),
            ])
        #expect(try await names(in: .default, of: open, ["a", "b", "c", "d"]).isEmpty)
        // An existing record breaks the cycle.
        try await save([record("b")], in: .default, of: open)
        let replaced = try await RecordCopier(from: here, Self.notes, to: open, .default, existing: .replace).copy(
            picked, files: nil)
        #expect(words(replaced) == ["copied", "copied", "replaced", "copied"])
        #expect(try await names(in: .default, of: open, ["a", "b", "c", "d"]).count == 4)
    }

    @Test func namesThatAreTaken() async throws {
        let here = try await database()
        let records = try await save([record("a", ["rank": .int64(1)]), record("b", ["rank": .int64(1)])], of: here)
        try await save([record("a", ["rank": .int64(2)]), record("b", type: "Other")], in: Self.copies, of: here)
        let error = await refusal {
            try await RecordCopier(from: here, Self.notes, to: here, Self.copies, existing: .refuse).copy(
                records, files: nil)
        }
        #expect(error?.code == .exists && error?.reason.contains("'a' and 1 more") == true)
        #expect(
            words(
                try await RecordCopier(from: here, Self.notes, to: here, Self.copies, existing: .skip).copy(
                    records, files: nil)) == ["left", "left"])
        // A record keeps its type.
        let replaced = try await RecordCopier(from: here, Self.notes, to: here, Self.copies, existing: .replace).copy(
            records, files: nil)
        #expect(words(replaced) == ["replaced", "BAD_REQUEST"])
        let copy = try #require(
            try await here.fetch([RecordID(recordName: "a", zoneID: Self.copies)], desiredKeys: nil).first
        ).get()
        #expect(
            copy.fields == records[0].fields && copy.created == records[0].created
                && copy.modified == records[0].modified)
    }

    @Test func whatIsTooMuchIsRefusedBeforeAnythingIsMade() async throws {
        let here = try await database()
        let signature = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "_ada", deviceID: "phone")
        func made(_ count: Int, _ fields: FieldsText) -> [StoredRecord] {
            (0..<count).map { number in
                StoredRecord(
                    recordID: RecordID(recordName: Name("r\(number)"), zoneID: Self.notes), recordType: "Note",
                    recordChangeTag: "1",
                    created: signature, modified: signature, fields: fields)
            }
        }
        let text = FieldsText([Field(name: "text", value: .string(String(repeating: "x", count: 1 << 20)))])
        let file = Asset(fileChecksum: String(repeating: "0", count: 64), size: 100 << 20)
        let cases: [([StoredRecord], String)] = [
            (made(201, .empty), "200 records can be copied at once"), (made(32, text), "more than 32 MB"),
            (made(3, FieldsText([Field(name: "file", value: .asset(file))])), "more than 256 MB"),
        ]
        for (records, words) in cases {
            let error = await refusal {
                try await RecordCopier(from: here, Self.notes, to: here, Self.copies, existing: .skip).copy(
                    records, files: nil)
            }
            #expect(error?.code == .badRequest && error?.reason.contains(words) == true, "\(words)")
        }
        // A record of the server's own type cannot be copied, and no zone is created for it.
        var user = made(1, .empty)
        user[0].recordType = Schema.usersType
        let outcome = try await RecordCopier(from: here, Self.notes, to: here, Self.copies, existing: .skip).copy(
            user, files: nil)
        #expect(outcome == [.failure(RecordCopier.isOfTheServer)])
        #expect(try await !here.zones().contains { $0.zoneID.zoneName == "Copies" })
    }

    // MARK: Files

    /// An asset transport that loses some files.
    private struct Lossy: AssetTransport {
        let whole: StoredAssets
        /// The size of the files that cannot be fetched.
        var unfetched: Int64?
        /// The names of files that cannot be read again.
        var unread: String?

        func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
            if let unread, fileName == unread { throw AssetFileError("file", "it is gone") }
            return try await whole.upload(file, with: grant, fileName: fileName)
        }

        func download(
            _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
        ) async throws {
            if size == unfetched { throw RecordError(.internalError, "The file is damaged") }
            try await whole.download(checksum, size: size, from: offset, take)
        }
    }

    private func save(_ name: Name, file: (name: String, bytes: [UInt8]), of database: any RecordDatabase) async throws
    {
        let request = UploadRequest(recordType: "Note", fieldName: "file", recordName: name)
        let grant = try await database.require(.uploadAssets).grantUploads([request], in: Self.notes)[0].get()
        let body = AsyncStream { continuation in
            continuation.yield(ByteBuffer(bytes: file.bytes))
            continuation.finish()
        }
        let store = try await stores.store(container, .development)
        let asset = try await store.receive(body, ticket: grant.ticket, fileName: file.name, declaredSize: nil)
        try await save([record(name, ["file": .asset(asset)])], of: database)
    }

    @Test func oneLostFileIsItsOwnRecordsMatter() async throws {
        let (here, theirs) = (try await database(), try await database(as: "_bob"))
        try await save([record("plain")], of: here)
        let names: [Name] = ["first", "second", "third"]
        for (length, name) in names.enumerated() {
            try await save(name, file: ("\(name).txt", [UInt8](repeating: 7, count: length + 1)), of: here)
        }
        let records = try await here.fetch(
            (names + ["plain"]).map { RecordID(recordName: $0, zoneID: Self.notes) }, desiredKeys: nil
        ).map { try $0.get() }
        let whole = StoredAssets(try await stores.store(container, .development))
        func files(_ source: Lossy, _ target: Lossy) -> RecordCopier.Files {
            RecordCopier.Files(
                folder: AssetFileFolder(folder.url.appending(path: UUID().uuidString)), from: source, to: target)
        }
        let (sound, unfetched, unread) = (
            Lossy(whole: whole), Lossy(whole: whole, unfetched: 1), Lossy(whole: whole, unread: "second.txt")
        )
        // No file can be fetched, so no zone is created.
        let skipping = RecordCopier(from: here, Self.notes, to: theirs, Self.copies, existing: .skip)
        #expect(words(try await skipping.copy([records[0]], files: files(unfetched, sound))) == ["INTERNAL_ERROR"])
        #expect(try await !theirs.zones().contains { $0.zoneID.zoneName == "Copies" })
        // An atomic copy fails as a whole.
        for (source, target) in [(unfetched, sound), (sound, unread)] {
            let copier = RecordCopier(from: here, Self.notes, to: theirs, Self.copies, existing: .refuse)
            let error = await refusal { try await copier.copy(records, files: files(source, target)) }
            #expect(error?.code == .internalError)
            #expect(try await self.names(in: Self.copies, of: theirs, names).isEmpty)
        }
        let outcome = words(try await skipping.copy(records, files: files(unfetched, unread)))
        #expect(outcome == ["INTERNAL_ERROR", "INTERNAL_ERROR", "copied", "copied"])
        #expect(
            words(try await skipping.copy(records, files: files(sound, sound))) == ["copied", "copied", "left", "left"])
        let copies = try await theirs.fetch(
            names.map { RecordID(recordName: $0, zoneID: Self.copies) }, desiredKeys: nil
        ).map { try $0.get() }
        #expect(try copies.map { try $0.fields.assets().map(\.asset.size) } == [[1], [2], [3]])
    }

    // MARK: References and order

    @Test func referencesMoveWithTheirZone() {
        func moved(_ zoneID: ZoneID?, to target: ZoneID = Self.copies, in scope: DatabaseScope = .private) -> ZoneID? {
            ReferenceMove(from: Self.notes, in: .private, of: "_ada", to: target, in: scope, of: "_bob").moved(
                Reference(recordName: "r", zoneID: zoneID)
            ).zoneID
        }
        func zone(_ name: Name, _ owner: Name? = nil) -> ZoneID { ZoneID(zoneName: name, ownerRecordName: owner) }
        #expect(moved(nil) == nil)
        #expect(moved(zone("Notes")) == zone("Copies"))
        #expect(moved(zone("Notes", "_ada")) == zone("Copies", "_bob"))
        #expect(moved(zone("Notes", "__defaultOwner__")) == zone("Copies", "__defaultOwner__"))
        #expect(moved(zone("Other")) == zone("Other"))
        #expect(moved(zone("Other", "_ada")) == zone("Other", "_bob"))
        // A reference into another user's zone is kept.
        #expect(moved(zone("Notes", "_carol")) == zone("Notes", "_carol"))
        #expect(
            moved(zone("Notes", "_ada"), to: .default, in: .public)
                == ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: ZoneID.publicOwner))
    }

    @Test func onlyOwnTargetsAreWaitedFor() {
        let move = ReferenceMove(from: Self.notes, in: .private, of: "_ada", to: Self.copies, in: .private, of: "_bob")
        func field(_ name: Name, _ reference: Reference) -> Field { Field(name: name, value: .reference(reference)) }
        let fields = [
            field("a", Reference(recordName: "here", action: .validate)),
            field("b", Reference(recordName: "named", zoneID: Self.copies, action: .validate)),
            field("c", Reference(recordName: "elsewhere", zoneID: ZoneID(zoneName: "Other"), action: .validate)),
            field("d", Reference(recordName: "loose")),
            Field(
                name: "e",
                value: .list([.reference(Reference(recordName: "listed", action: .validate))], of: .reference)),
        ]
        #expect(move.validated(by: fields) == ["here", "named", "listed"])
    }

    @Test func targetsComeFirst() {
        func groups(_ records: [(name: Name, validates: [Name])], there: Set<Name> = []) -> [[Int]] {
            CopyOrder(records, there: there).groups
        }
        #expect(groups([]).isEmpty)
        #expect(groups([("a", ["b"]), ("b", ["c"]), ("c", [])]) == [[2], [1], [0]])
        // References to itself and to records that are not copied do not affect the order.
        #expect(groups([("a", ["a", "nobody"]), ("b", [])]) == [[0], [1]])
        #expect(groups([("d", ["a"]), ("a", ["b"]), ("b", ["a", "e"]), ("e", [])]) == [[3], [1, 2], [0]])
        #expect(
            groups([("d", ["a"]), ("a", ["b"]), ("b", ["a", "e"]), ("e", [])], there: ["b"]) == [[1], [0], [3], [2]])
        let chain = (0..<RecordCopier.recordLimit).map { (name: Name("r\($0)"), validates: [Name("r\($0 + 1)")]) }
        #expect(groups(chain).flatMap(\.self) == Array((0..<RecordCopier.recordLimit).reversed()))
    }
}
