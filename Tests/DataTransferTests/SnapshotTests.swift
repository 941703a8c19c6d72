import AssetStore
import Foundation
import NIOCore
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing
@testable import DataTransfer

/// Snapshots of an environment: saved, compared, restored and shared.
@Suite struct SnapshotTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let zoneID = ZoneID(zoneName: "Notes")
    private static let users: [Name] = ["_ada", "_grace"]

    /// A data folder.
    private struct Place: Sendable {
        let engine: SQLRecordEngine
        let stores: AssetStores
        let url: URL
        let container: ContainerID
        var environment = Records.Environment.development

        /// - Parameter user: the owner of the private database; `nil` for the public one.
        func database(_ user: Name?, as caller: Name? = nil) async throws -> any RecordDatabase {
            let address = DatabaseAddress(
                container: container, environment: environment, scope: user == nil ? .public : .private)
            return try await engine.database(
                address, as: Caller(userRecordName: user ?? caller ?? "_ada", deviceID: "phone"))
        }

        func source(production: Schema = .initial) async throws -> SnapshotSource {
            SnapshotSource(
                container, environment,
                users: SnapshotTests.users.map { ExportHeader.User(userRecordName: $0, handle: nil) },
                transport: StoredAssets(try await stores.store(container, environment)), production: production
            ) { [self] _, user in try await database(user?.userRecordName) }
        }

        var snapshots: SnapshotFolder { SnapshotFolder(in: url, container, environment) }

        func save(
            _ name: Name, _ text: String, type: Name = "Note", in zoneID: ZoneID = SnapshotTests.zoneID,
            of user: Name? = "_ada", file: [UInt8]? = nil
        ) async throws {
            let database = try await database(user)
            var fields: [Name: FieldInput] = ["text": FieldInput(.string(text))]
            if let file {
                let grant = try await database.require(.uploadAssets).grantUploads(
                    [UploadRequest(recordType: type, fieldName: "file", recordName: name)], in: zoneID)[0].get()
                let body = AsyncStream { continuation in
                    continuation.yield(ByteBuffer(bytes: file))
                    continuation.finish()
                }
                fields["file"] = FieldInput(
                    .asset(
                        try await stores.store(container, environment).receive(
                            body, ticket: grant.ticket, fileName: "f", declaredSize: nil)))
            }
            try await modify(
                RecordOperation(.forceReplace, recordName: name, recordType: type, fields: fields), in: zoneID, of: user
            )
        }

        func delete(_ name: Name, in zoneID: ZoneID = SnapshotTests.zoneID, of user: Name? = "_ada") async throws {
            try await modify(RecordOperation(.forceDelete, recordName: name), in: zoneID, of: user)
        }

        func modify(_ operation: RecordOperation, in zoneID: ZoneID = SnapshotTests.zoneID, of user: Name? = "_ada")
            async throws
        {
            for outcome in try await database(user).modify(ModifyRequest([operation], zoneID: zoneID)) {
                _ = try outcome.get()
            }
        }

        func makeZone(_ zoneID: ZoneID, of user: Name = "_ada") async throws {
            for outcome in try await database(user).modifyZones([.create(zoneID)]) { _ = try outcome.get() }
        }

        /// The names of the records of a zone.
        func names(in zoneID: ZoneID = SnapshotTests.zoneID, of user: Name? = "_ada") async throws -> [Name] {
            try await database(user).require(.listRecords).list(RecordListRequest(zoneID)).records.map(
                \.recordID.recordName)
        }

        func close() async {
            await stores.close()
            await engine.close()
        }
    }

    private func place(_ name: String = "data") throws -> Place {
        let url = folder.url.appending(path: name)
        let engine = try SQLRecordEngine(folder: url)
        return Place(
            engine: engine, stores: AssetStores(folder: url, engine: engine), url: url,
            container: try #require(ContainerID("iCloud.com.example.Notes")))
    }

    /// Two users, public records, an asset, a subscription and a key.
    private func fill(_ place: Place) async throws {
        for user in Self.users { try await place.makeZone(Self.zoneID, of: user) }
        try await place.save("one", "first", file: [1, 2, 3])
        try await place.save("two", "second")
        try await place.save("three", "third")
        try await place.save("hers", "of Grace", of: "_grace")
        try await place.save("all", "for all", in: .default, of: nil)
        let database = try await place.database("_ada")
        _ = try await database.require(.keepKeyValues).modifyKeyValues([.set("theme", .string("dark"))])
    }

    private func folders(_ place: Place) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.snapshots.url.path(percentEncoded: false)).sorted()
    }

    private func failure(_ body: () async throws -> Void) async -> SnapshotError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SnapshotError
        }
    }

    @Test func restoringBringsEverythingBackAndCanBeUndone() async throws {
        let place = try place()
        try await fill(place)
        let snapshots = place.snapshots
        let first = try await snapshots.save("First", of: place.source())
        #expect(first.recordCount == 5 && first.userCount == 2 && first.assets.references == 1)
        #expect(try await snapshots.compare(first, withPresentOf: place.source()).isEmpty)
        let token = try await place.database("_ada").require(.tellCurrentToken).currentToken()

        try await place.save("one", "changed", file: [9])
        try await place.delete("two")
        try await place.save("four", "later")
        try await place.save("pin", "of another type", type: "Pin", of: "_grace")
        try await place.makeZone(ZoneID(zoneName: "Later"))
        try await place.save("inLater", "x", in: ZoneID(zoneName: "Later"))
        try await place.delete("all", in: .default, of: nil)
        _ = try await place.database("_ada").require(.keepKeyValues).modifyKeyValues([
            .set("theme", .string("light")), .set("size", .integer(12)),
        ])

        let changes = try await snapshots.compare(first, withPresentOf: place.source())
        #expect(changes.types["Note"] == counts(added: 2, changed: 1, removed: 2))
        #expect(changes.types["Pin"] == counts(added: 1))
        #expect(changes.equal == 2)
        #expect(changes.zones.map(\.zoneName) == ["Later"] && changes.zones.map(\.kind) == [.added])
        #expect(changes.keyValues == counts(added: 1, changed: 1))
        #expect(changes.entries.first { $0.kind == .changed }?.fields == ["file", "text"])
        #expect(!changes.schema.isEmpty)

        let restorer = try SnapshotRestorer(first, in: snapshots, into: await place.source())
        let plan = try await restorer.plan()
        #expect(plan.records == counts(added: 2, changed: 1, removed: 3))
        #expect(try await place.names() == ["four", "one", "three"])
        let report = try await restorer.run()
        #expect(
            report.before == "Before restoring First" && report.hasExpiredTokens && report.notes.isEmpty, "\(report)")
        #expect(report.saved == 3 && report.deletedZones == 1)
        #expect(report.remaining?.isEmpty == true, "\(String(describing: report.remaining))")
        #expect(try await place.names() == ["one", "three", "two"])
        #expect(try await place.names(in: .default, of: nil) == ["all"])
        #expect(try await snapshots.compare(first, withPresentOf: place.source()).isEmpty)
        guard case .expired = try await place.database("_ada").require(.explainTokens).explain(token).validity else {
            return #expect(Bool(false), "The token is still good")
        }

        // The other way.
        let before = try snapshots.snapshot(named: "Before restoring First")
        let undone = try await SnapshotRestorer(before, in: snapshots, into: place.source()).run()
        #expect(undone.remaining?.isEmpty == true, "\(String(describing: undone.remaining))")
        #expect(try await place.names() == ["four", "one", "three"])
        #expect(try await place.names(in: ZoneID(zoneName: "Later")) == ["inLater"])
        #expect(try await snapshots.compare(before, withPresentOf: place.source()).isEmpty)
        #expect(try folders(place).count == 3)
        await place.close()
    }

    private func counts(added: Int = 0, changed: Int = 0, removed: Int = 0) -> SnapshotComparison.Counts {
        var counts = SnapshotComparison.Counts()
        (counts.added, counts.changed, counts.removed) = (added, changed, removed)
        return counts
    }

    /// What a deletion takes with it comes back, and what others need is deleted after them.
    @Test func referencesDoNotPreventARestore() async throws {
        let place = try place()
        try await fill(place)
        func save(_ name: Name, to target: Name, _ action: Reference.Action) async throws {
            let fields: [Name: FieldInput] = [
                "to": FieldInput(.reference(Reference(recordName: target, action: action)))
            ]
            try await place.modify(RecordOperation(.forceReplace, recordName: name, recordType: "Link", fields: fields))
        }
        try await save("checked", to: "two", .validate)
        let first = try await place.snapshots.save("First", of: place.source())
        try await place.delete("checked")
        try await place.delete("two")
        try await place.save("new", "x")
        try await save("newer", to: "new", .validate)
        try await save("checked", to: "new", .deleteSelf)
        let report = try await SnapshotRestorer(first, in: place.snapshots, into: place.source()).run()
        #expect(report.remaining?.isEmpty == true && report.notes.isEmpty, "\(report)")
        #expect(try await place.names() == ["checked", "one", "three", "two"])
        await place.close()
    }

    /// A share that was deleted comes back with its guest and its link, and a later one ends.
    @Test func sharesComeBack() async throws {
        let place = try place()
        try await fill(place)
        func share(_ name: Name, of root: Name) async throws {
            var operation = RecordOperation(.create, recordName: name, recordType: Share.recordType)
            let guest = ShareParticipant(
                participantID: "guest", lookupInfo: LookupInfo(userRecordName: "_grace"), permission: .readWrite)
            operation.share = ShareInput(
                root: .init(recordName: root, recordChangeTag: nil), publicPermission: SharePermission.none,
                participants: [guest])
            try await place.modify(operation)
            let link = try await place.database("_ada").fetch(
                [RecordID(recordName: name, zoneID: Self.zoneID)], desiredKeys: nil)[0].get().sharing?.shortGUID
            for answer in try await place.database(nil, as: "_grace").require(.shareRecords).accept(
                [link ?? ""], by: LookupInfo(userRecordName: "_grace"))
            { _ = try answer.get() }
        }
        func shared() async throws -> [Name] {
            let address = DatabaseAddress(container: place.container, environment: .development, scope: .shared)
            let database = try await place.engine.database(
                address, as: Caller(userRecordName: "_grace", deviceID: "phone"))
            return try await database.zones().isEmpty
                ? []
                : database.require(.listRecords).list(RecordListRequest(database.zones()[0].zoneID)).records.map(
                    \.recordID.recordName)
        }
        try await share("first", of: "one")
        let first = try await place.snapshots.save("First", of: place.source())
        #expect(try await shared() == ["first", "one"])
        try await place.delete("first")
        #expect(try await shared().isEmpty)
        try await share("second", of: "two")
        let report = try await SnapshotRestorer(first, in: place.snapshots, into: place.source()).run()
        #expect(report.remaining?.isEmpty == true && report.notes.isEmpty, "\(report)")
        #expect(try await shared() == ["first", "one"])
        await place.close()
    }

    @Test(arguments: ["", "  \n", String(repeating: "ä", count: 101), "two\nlines", "a\u{0}b"])
    func namesHaveRules(name: String) async throws {
        let place = try place()
        try await fill(place)
        let error = await failure { _ = try await place.snapshots.save(name, of: place.source()) }
        #expect(error?.kind == .invalid && error?.description.hasPrefix("'name'") == true)
        await place.close()
    }

    @Test func namesAreFree() async throws {
        let place = try place()
        try await fill(place)
        let names = ["../../etc", "a/b", ".", "é", "e\u{301}", String(repeating: "👩‍👩‍👧", count: 100)]
        for name in names { _ = try await place.snapshots.save(name, of: place.source()) }
        #expect(Set(try place.snapshots.all().map { Name($0.name) }) == Set(names.map { Name($0) }))
        #expect(try folders(place).allSatisfy { $0.utf8.count < 70 })
        let again = await failure { _ = try await place.snapshots.save(" a/b ", of: place.source()) }
        #expect(again?.kind == .exists)
        try place.snapshots.delete(try place.snapshots.snapshot(named: "a/b"))
        #expect(await failure { _ = try place.snapshots.snapshot(named: "a/b") }?.kind == .missing)
        #expect(try folders(place).count == names.count - 1)
        await place.close()
    }

    private struct NoTransport: AssetTransport {
        func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset {
            throw CocoaError(.fileWriteOutOfSpace)
        }
        func download(
            _ checksum: FileChecksum, size: Int64, from offset: Int64, _ take: (ByteBuffer) async throws -> Void
        ) async throws {
            try await take(ByteBuffer(bytes: [1]))
            throw CocoaError(.fileWriteOutOfSpace)
        }
    }

    @Test func aFailureLeavesNothing() async throws {
        let place = try place()
        try await fill(place)
        let broken = SnapshotSource(
            place.container, .development, users: Self.users.map { ExportHeader.User(userRecordName: $0, handle: nil) },
            transport: NoTransport(), production: .initial
        ) { _, user in try await place.database(user?.userRecordName) }
        #expect(await failure { _ = try await place.snapshots.save("Full", of: broken) }?.kind == .unwritable)
        #expect(try folders(place).isEmpty)
        // Remains of a killed process are no snapshot.
        try FileManager.default.createDirectory(
            at: place.snapshots.url.appending(path: ".partial-killed"), withIntermediateDirectories: true)
        #expect(try place.snapshots.all().isEmpty)
        await place.close()
    }

    @Test func aSharedFileGoesElsewhere() async throws {
        let here = try place("here")
        try await fill(here)
        let first = try await here.snapshots.save(
            "Failing: sync/1", of: here.source(), requests: [Array("{\"method\":\"POST\"}".utf8)])
        let archive = try SnapshotArchive(first)
        var bytes: [UInt8] = []
        try await archive.write { bytes += $0 }
        #expect(Int64(bytes.count) == archive.size && bytes.count % 512 == 0)
        let file = try folder.write(bytes, to: "shared.tar")
        #expect(try SnapshotArchive.describe(file).name == "Failing: sync/1")
        let there = try place("there")
        let added = try await there.snapshots.add(file)
        #expect(added.name == first.name && added.records == first.records && added.requests == 1)
        let report = try await SnapshotRestorer(added, in: there.snapshots, into: there.source()).run()
        #expect(report.before == nil && report.remaining?.isEmpty == true, "\(report)")
        #expect(try await there.names() == ["one", "three", "two"])
        #expect(try await there.names(of: "_grace") == ["hers"])
        #expect(try await there.snapshots.add(file).name == "Failing: sync/1 (2)")
        #expect(try there.snapshots.all().count == 2)
        await here.close()
        await there.close()
    }

    /// An archive with one file.
    private func archive(_ path: String, _ content: String) -> [UInt8] {
        let header = TarHeader(path: path, size: Int64(content.utf8.count))
        return header.block(modified: 0) + Array(content.utf8) + [UInt8](repeating: 0, count: header.padding + 1024)
    }

    @Test func otherFilesAreRefused() async throws {
        let place = try place()
        var spoilt = archive("x/snapshot.json", "{}")
        spoilt[3] ^= 1
        let files: [[UInt8]] = [
            [], Array("{\"skylight\":\"export\"}\n".utf8), archive("x/snapshot.json", "{}"), archive("x/evil.sh", "rm"),
            archive("../snapshot.json", "{\"skylight\":\"snapshot\"}"),
            archive("x/assets/name", "no checksum"), spoilt,
            Array(archive("x/public.ndjson", String(repeating: "x", count: 2000)).prefix(1000)),
        ]
        for (number, bytes) in files.enumerated() {
            let file = try folder.write(bytes, to: "\(number).tar")
            #expect(await failure { _ = try await place.snapshots.add(file) }?.kind == .damaged, "\(number)")
        }
        #expect(try folders(place).isEmpty)
        await place.close()
    }

    /// The parts of an archive without its end.
    private func member(_ path: String, _ content: String) -> [UInt8] { archive(path, content).dropLast(1024) }

    @Test func aDamagedArchiveNamesItsMember() async throws {
        let place = try place()
        let faults: [(bytes: [UInt8], member: String)] = [
            (
                member("x/snapshot.json", "{}") + member("x/public.ndjson", "1") + archive("x/public.ndjson", "2"),
                "it has 'x/public.ndjson' twice"
            ),
            // One in a folder and one without are the same file of the snapshot.
            (member("x/snapshot.json", "{}") + archive("y/snapshot.json", "{}"), "it has 'y/snapshot.json' twice"),
            (
                Array(archive("x/public.ndjson", String(repeating: "x", count: 2000)).prefix(1000)),
                "it ends within 'x/public.ndjson'"
            ),
            (member("x/snapshot.json", "{}"), "it ends too early"),
        ]
        for (number, fault) in faults.enumerated() {
            let file = try folder.write(fault.bytes, to: "\(number).tar")
            let problem = await failure { _ = try await place.snapshots.add(file) }
            #expect(
                problem?.kind == .damaged
                    && problem?.description.hasSuffix("is a damaged archive: \(fault.member)") == true,
                "\(String(describing: problem))")
        }
        #expect(try folders(place).isEmpty)
        await place.close()
    }

    /// An archive is unpacked into folders that nobody chose.
    @Test func aFileOfAnArchiveIsNamedByItsPlaceThere() async throws {
        let place = try place()
        let first = try await place.snapshots.save("First", of: place.source())
        let manifest = try String(contentsOf: first.url.appending(path: Snapshot.manifestFile), encoding: .utf8)
        for (number, (bytes, text)) in [
            (archive("x/snapshot.json", "{}"), "/snapshot.json' does not describe a snapshot: it is no JSON object"),
            (
                member("x/snapshot.json", manifest) + archive("x/public.ndjson", "{}\n"),
                "/public.ndjson' is not an export"
            ),
            (archive("x/snapshot.json", manifest), "/public.ndjson"),
        ].enumerated() {
            let file = try folder.write(bytes, to: "my \(number).tar")
            let shown = URL(filePath: file.lastPathComponent, relativeTo: file.deletingLastPathComponent())
            var problems = [await failure { _ = try await place.snapshots.add(shown) }]
            if number == 0 { problems.append(await failure { _ = try SnapshotArchive.describe(shown) }) }
            for problem in problems {
                let said = try #require(problem?.description)
                #expect(said.contains("my \(number).tar\(text)"), "\(said)")
                for path in [
                    FileManager.default.temporaryDirectory.path(percentEncoded: false), "partial", "skylight-",
                ] { #expect(!said.contains(path), "\(said)") }
            }
        }
        await place.close()
    }

    /// Snapshots come from other people too, so their descriptions may have any numbers.
    @Test(
        arguments: [([.max, .max], .max), ([.min, 3], 3), ([-1, 0], 0), ([1, .max], .max), ([2, 3], 5)]
            as [([Int64], Int)])
    func theCountsOfASnapshotMayBeAny(told: [Int64], count: Int) async throws {
        let place = try place()
        try await place.save("all", "for all", in: .default, of: nil)
        let first = try await place.snapshots.save("First", of: place.source())
        let file = first.url.appending(path: Snapshot.manifestFile)
        guard case .object(var manifest) = try JSONReader.value(of: Data(contentsOf: file)) else {
            throw SnapshotError(.damaged, "no object")
        }
        manifest["records"] = ["Note": .integer(told[0]), "Pin": .integer(told[1])]
        try Data(JSONWriter.bytes(of: .object(manifest))).write(to: file)
        #expect(try place.snapshots.snapshot(named: "First").recordCount == count)
        await place.close()
    }

    @Test func largeFilesHaveTheirSize() throws {
        for size in [0, 511, 512, 1 << 33, 1 << 40] as [Int64] {
            let header = try #require(
                try TarHeader(
                    TarHeader(path: "folder/assets/x", size: size).block(modified: 1_700_000_000), in: "a.tar"))
            #expect(header.size == size && header.path == "folder/assets/x")
        }
        #expect(try TarHeader([UInt8](repeating: 0, count: 512), in: "a.tar") == nil)
    }

    @Test func productionKeepsItsSchema() async throws {
        var place = try place()
        try await fill(place)
        let first = try await place.snapshots.save("First", of: place.source())
        // A type that was deployed later stays.
        try await place.save("pin", "x", type: "Pin")
        let deployed = try await place.database(nil).require(.showSchema).schema()
        let report = try await SnapshotRestorer(first, in: place.snapshots, into: place.source(production: deployed))
            .run()
        #expect(report.remaining?.hasEqualData == true)
        #expect(try await place.database(nil).require(.showSchema).schema().types["Pin"] != nil)
        place.environment = .production
        let shared = try folder.write(await bytes(of: first), to: "a.tar")
        let added = try await place.snapshots.add(shared)
        let refusal = await failure {
            _ = try await SnapshotRestorer(added, in: place.snapshots, into: place.source()).plan()
        }
        #expect(refusal?.kind == .refused && refusal?.description.contains("Note") == true)
        await place.close()
    }

    @Test func aPlanHasWhatTheRestorationDoesToTheSchema() async throws {
        let place = try place()
        try await fill(place)
        let editing = try await place.database(nil).require(.editSchema)
        let deployed = try await place.database(nil).require(.showSchema).schema()
        let index = CompositeIndex(filter: .custom("text"), sort: .system(.modTime))
        _ = try await editing.edit([.addCompositeIndex(index, in: "Note")])
        let first = try await place.snapshots.save("First", of: place.source())
        _ = try await editing.edit([.removeCompositeIndex(index, in: "Note")])
        try await place.save("pin", "x", type: "Pin")
        let restorer = try SnapshotRestorer(first, in: place.snapshots, into: await place.source(production: deployed))
        let plan = try await restorer.plan()
        #expect(plan.schema.lines.count == 1 && plan.otherSchemaChanges.count == 1, "\(plan.otherSchemaChanges)")
        #expect(try await restorer.run().schemaChanges == plan.schemaChanges)
        #expect(try await restorer.plan().isEmpty)

        // A field that development has no more stays away, though production has it.
        _ = try await editing.edit([.removeField("text", in: "Note")])
        let second = try await place.snapshots.save("Second", of: place.source())
        try await place.delete("two")
        let other = try SnapshotRestorer(second, in: place.snapshots, into: await place.source(production: deployed))
        #expect(try await other.plan().schemaChanges == 0)
        #expect(try await other.run().schemaChanges == 0)
        #expect(try await place.names() == ["one", "three", "two"])
        #expect(try await place.database(nil).require(.showSchema).schema().types["Note"]?.fields["text"] == nil)
        await place.close()
    }

    private func bytes(of snapshot: Snapshot) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await SnapshotArchive(snapshot).write { bytes += $0 }
        return bytes
    }
}
