import AssetStore
import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing
@testable import DataTransfer

/// The content of exports, and their import without loss.
@Suite struct ExportTests {
    enum Kind: String, CaseIterable, Sendable {
        case memory, file
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func engine(_ kind: Kind, _ name: String) throws -> any RecordEngine {
        kind == .memory ? InMemoryRecordEngine() : try SQLRecordEngine(folder: folder.url.appending(path: name))
    }

    private func database(
        of engine: any RecordEngine, _ scope: DatabaseScope = .private,
        container: String = "iCloud.com.example.Everything", as user: Name = "_ada",
        on device: String = "phone"
    ) async throws -> any RecordDatabase {
        try await engine.database(
            DatabaseAddress(container: #require(ContainerID(container)), environment: .development, scope: scope),
            as: Caller(userRecordName: user, deviceID: device))
    }

    /// A database of a server that reports any numbers.
    private struct ReportingDatabase: ForwardingDatabase, RecordListing {
        let base: any RecordDatabase

        func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
            ZoneCounts(records: ["Item": .max, "Note": .max], deletions: 0)
        }

        func list(_ request: RecordListRequest) async throws -> RecordListPage {
            try await base.require(.listRecords).list(request)
        }
    }

    @Test func theTotalOfAnExportStopsAtTheLargestNumber() async throws {
        let database = try await ReportingDatabase(base: database(of: InMemoryRecordEngine()))
        var totals: Set<Int?> = []
        _ = try await Exporter(database).run(progress: { totals.insert($0.total) }, write: { _ in })
        #expect(totals == [Int.max])
    }

    private func exported(_ database: any RecordDatabase, _ options: ExportOptions = ExportOptions()) async throws
        -> [UInt8]
    {
        var bytes: [UInt8] = []
        _ = try await Exporter(database, options: options).run { bytes += $0 }
        return bytes
    }

    private func file(_ bytes: [UInt8], _ name: String = "export.ndjson") throws -> ExportFile {
        try #require(try ExportFile(folder.write(bytes, to: name)))
    }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func stop(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    private static let composed: Name = "caf\u{E9}"
    private static let decomposed: Name = "cafe\u{301}"

    /// A value of every type, including those that are easily corrupted.
    private static let everything: [Name: FieldValue] = {
        var place = Location(latitude: 48.2082, longitude: -16.3738)
        place.horizontalAccuracy = 5
        place.altitude = 151.5
        place.course = 359.999
        place.timestamp = Timestamp(milliseconds: 1_700_000_000_123)
        return [
            "text": .string("line\nquote\" back\\slash / \u{0}NUL \u{7F} \u{2028} 👩‍👩‍👧 \u{FEFF}"), "empty": .string(""),
            "composed": .string(composed.string), "decomposed": .string(decomposed.string),
            "big": .int64(.max), "small": .int64(.min), "one": .int64(1), "oneAsDouble": .double(1),
            "tiny": .double(.leastNonzeroMagnitude),
            "huge": .double(1.7976931348623157e308), "third": .double(1.0 / 3), "minusZero": .double(-0.0),
            "precise": .double(9_007_199_254_740_992),
            "bytes": .bytes([0, 255, 10, 34, 92]), "noBytes": .bytes([]),
            "date": .timestamp(Timestamp(milliseconds: -62_135_596_800_001)),
            "future": .timestamp(Timestamp(milliseconds: 253_402_300_799_999)),
            "place": .location(place), "pole": .location(Location(latitude: -90, longitude: 180)),
            "link": .reference(Reference(recordName: "nobody")),
            "owned": .reference(Reference(recordName: decomposed, action: .deleteSelf)),
            "checked": .reference(Reference(recordName: "zz-last", action: .validate)),
            "elsewhere": .reference(
                Reference(recordName: "x", zoneID: ZoneID(zoneName: "Other", ownerRecordName: "_ada"))),
            "here": .reference(Reference(recordName: "x", zoneID: ZoneID(zoneName: "Häuser", ownerRecordName: "_ada"))),
            "strings": .list([.string("b"), .string(""), .string("a\u{0}")], of: .string),
            "numbers": .list([.int64(.max), .int64(-1)], of: .int64),
            "doubles": .list([.double(1), .double(0.1)], of: .double),
            "dates": .list([.timestamp(Timestamp(milliseconds: 0))], of: .timestamp),
            "blobs": .list([.bytes([1]), .bytes([])], of: .bytes), "places": .list([.location(place)], of: .location),
            "links": .list(
                [
                    .reference(Reference(recordName: "zz-last", action: .validate)),
                    .reference(Reference(recordName: "q")),
                ], of: .reference),
            "nothing": .list([], of: .timestamp),
        ]
    }()

    private static let zoneID = ZoneID(zoneName: "Häuser")

    /// Fills a database so that in any order of import, some record refers to one that does not exist yet.
    private func fill(_ database: any RecordDatabase) async throws {
        for outcome in try await database.modifyZones([.create(Self.zoneID), .create(ZoneID(zoneName: "Empty"))]) {
            _ = try outcome.get()
        }
        _ = try await database.require(.editSchema).edit([
            .addRole("Keepers"),
            .addType(
                RecordType(
                    name: "House",
                    fields: [
                        "text": FieldDefinition(type: .string, indexes: .searchable),
                        "secret": FieldDefinition(type: FieldType(.string, isEncrypted: true)),
                    ],
                    systemIndexes: [.recordID: .queryable, .modTime: [.queryable, .sortable]],
                    grants: [
                        Grant(role: "Keepers", permissions: [.write]),
                        Grant(role: "_world", permissions: [.read, .create]),
                    ],
                    compositeIndexes: [CompositeIndex(filter: .custom("text"), sort: .system(.modTime))])),
            .addType(
                RecordType(
                    name: "Unused",
                    fields: [
                        "never": FieldDefinition(type: .list(.asset)),
                        "count": FieldDefinition(type: FieldType(.int64, number: .int64)),
                        "size": FieldDefinition(type: FieldType(.double, number: NumberPreference.none)),
                    ])),
        ])
        func save(_ name: Name, _ type: Name, _ fields: [Name: FieldValue], parent: Name? = nil) -> RecordOperation {
            RecordOperation(
                .forceReplace, recordName: name, recordType: type, fields: fields.mapValues { FieldInput($0) },
                parent: parent.map { .record($0) } ?? .cleared)
        }
        var secret = save("with a secret", "House", [:])
        secret.fields["secret"] = .tagged(.string("🤫"), .string, isEncrypted: true)
        let batch = [
            save("zz-last", "House", ["back": .reference(Reference(recordName: "aa", action: .validate))]),
            save("aa", "Thing", Self.everything, parent: "zz-last"),
            save(Self.composed, "Thing", ["n": .int64(1)], parent: "zz-last"),
            save(Self.decomposed, "Thing", ["n": .int64(2)], parent: Self.composed),
            save("nothing at all", "Thing", [:]), secret,
        ]
        for outcome in try await database.modify(ModifyRequest(batch, zoneID: Self.zoneID)) { _ = try outcome.get() }
        // Children come before their parents, and some have none, as in an export.
        let stamp = Signature(
            timestamp: Timestamp(milliseconds: 1_700_000_000_000), userRecordName: "_ada00000000000000000000000000000",
            deviceID: "iPhone")
        let others = (0..<450).map { number in
            var other = save(
                Name("record \(number)"), "Numbered", ["n": .int64(Int64(number))],
                parent: Name("record \(449 - number)"))
            other.provenance = Provenance(created: stamp, modified: stamp)
            return other
        }
        for start in stride(from: 0, to: 450, by: 200) {
            let request = ModifyRequest(
                Array(others[start..<min(450, start + 200)]), zoneID: start == 200 ? .default : Self.zoneID)
            for outcome in try await database.modify(request) { _ = try outcome.get() }
        }
        // Exports contain no deletions.
        for outcome in try await database.modify(
            ModifyRequest([RecordOperation(.forceDelete, recordName: "record 100")], zoneID: Self.zoneID))
        {
            _ = try outcome.get()
        }
    }

    @Test(arguments: Kind.allCases, Kind.allCases)
    func everythingComesBackToTheByte(from: Kind, into: Kind) async throws {
        let source = try await database(of: engine(from, "source"))
        try await fill(source)
        let first = try await exported(source, ExportOptions(userHandle: "ada"))
        // Another device restores at a later time. Neither affects the result.
        let target = try await database(of: engine(into, "target"), on: "laptop")
        let report = try await Restorer(file(first), into: target).run()
        #expect(report.saved == 455)
        #expect(report.madeZones.map(\.zoneName) == ["Empty", "Häuser"])
        #expect(report.changedTypes == ["House", "Numbered", "Thing", "Unused"])
        let second = try await exported(target, ExportOptions(userHandle: "ada"))
        #expect(lines(second) == lines(first))
        #expect(second == first)
        let (before, after) = (source, target)
        #expect(try await after.require(.showSchema).schema() == before.require(.showSchema).schema())
        // Restoring over the same data changes nothing.
        let again = try await Restorer(file(first), into: target).run()
        #expect(again.saved == 455)
        #expect(again.madeZones.isEmpty && again.changedTypes.isEmpty)
        #expect(try await exported(target, ExportOptions(userHandle: "ada")) == first)
    }

    @Test func fieldsAreCopiedAsTheyAreStored() async throws {
        let source = try await database(of: engine(.file, "source"))
        try await fill(source)
        let lines = lines(try await exported(source))
        let record = try await #require(
            source.fetch([RecordID(recordName: "aa", zoneID: Self.zoneID)], desiredKeys: nil).first
        ).get()
        #expect(lines.contains { $0.contains("\"fields\":" + String(decoding: record.fields.bytes, as: UTF8.self)) })
        #expect(
            lines[0].hasPrefix("{\"skylight\":\"export\",\"version\":1,\"container\":\"iCloud.com.example.Everything\"")
        )
        // The default zone first, then by zone and name, by the bytes of the names.
        let names = try lines.dropFirst().map { line in
            guard case .object(let object) = try JSONReader.value(of: line),
                case .string(let name)? = object["recordName"],
                case .object(let zone)? = object["zoneID"], case .string(let zoneName)? = zone["zoneName"]
            else { throw CocoaError(.coderReadCorrupt) }
            return [Name(zoneName), Name(name)]
        }
        #expect(names.count == 455)
        #expect(names.filter { $0[0] == "_defaultZone" }.count == 200)
        #expect(names.first?.first == "_defaultZone")
        let inZone = names.filter { $0[0] == "Häuser" }.map { $0[1] }
        #expect(inZone == inZone.sorted())
        #expect(inZone.contains(Self.composed) && inZone.contains(Self.decomposed))
    }

    @Test func theDemoComesBack() async throws {
        let clock = SettableClock()
        let people = DemoData.People(developer: "_developer", ada: "_ada", grace: "_grace")
        let engine = try SQLRecordEngine(folder: folder.url.appending(path: "demo"), clock: { clock.now() })
        let assets = AssetStores(folder: folder.url.appending(path: "demo"), engine: engine, clock: { clock.now() })
        _ = try await DemoData(engine: engine, assets: assets, clock: clock, people: people).fill()
        let copies = try SQLRecordEngine(folder: folder.url.appending(path: "copies"))
        let copiedAssets = AssetStores(folder: folder.url.appending(path: "copies"), engine: copies)
        let files = AssetFileFolder(folder.url.appending(path: "files"))
        var count = 0
        var assetCount = ExportReport.AssetCount()
        for container in try await engine.require(.listContainers).containers() {
            for scope in [DatabaseScope.private, .public] {
                for user in scope == .private ? ["_developer", "_ada", "_grace"] as [Name] : ["_developer"] {
                    let source = try await database(of: engine, scope, container: container.description, as: user)
                    let exchange = AssetExchange(
                        folder: files, transport: StoredAssets(try await assets.store(container, .development)))
                    var bytes: [UInt8] = []
                    let report = try await Exporter(source, assets: exchange).run { bytes += $0 }
                    #expect(report.leftOut == ExportReport.AssetCount())
                    assetCount.references += report.assets.references
                    assetCount.bytes += report.assets.bytes
                    let target = try await database(of: copies, scope, container: container.description, as: user)
                    let back = AssetExchange(
                        folder: files, transport: StoredAssets(try await copiedAssets.store(container, .development)))
                    count += try await Restorer(file(bytes), assets: back, into: target).run().saved
                    var again: [UInt8] = []
                    _ = try await Exporter(target, assets: back).run { again += $0 }
                    #expect(again == bytes, "\(container) \(scope) \(user)")
                }
            }
            let verification = try await copiedAssets.store(container, .development).verify { _ in }
            #expect(verification.problems.isEmpty)
            #expect(try await assets.store(container, .development).verify { _ in }.filesDone == verification.filesDone)
        }
        #expect(count > 1000)
        #expect(assetCount.references > 30 && assetCount.bytes > 20 << 20)
        await assets.close()
        await copiedAssets.close()
        await engine.close()
        await copies.close()
    }

    @Test func zonesAndTypesCanBeChosen() async throws {
        let source = try await database(of: engine(.memory, ""))
        try await fill(source)
        let things = lines(try await exported(source, ExportOptions(zones: [Self.zoneID], recordTypes: ["Thing"])))
        #expect(things.count == 5)
        #expect(things[0].contains("\"Thing\"") && !things[0].contains("\"Numbered\"") && !things[0].contains("Empty"))
        let byDefault = lines(try await exported(source, ExportOptions(zones: [.default])))
        #expect(byDefault.count == 201)
        let noZone = await stop { _ = try await exported(source, ExportOptions(zones: [ZoneID(zoneName: "Häuse")])) }
        #expect(noZone == "There is no zone 'Häuse'; choose one of '_defaultZone', 'Empty', 'Häuser'")
        let noType = await stop { _ = try await exported(source, ExportOptions(recordTypes: ["Thin"])) }
        #expect(noType.hasPrefix("There is no record type 'Thin'; choose one of House"))
    }

    @Test func aPublicDatabaseComesBack() async throws {
        let source = try await database(of: engine(.file, "source"), .public)
        let operations = ["b", "a", "c"].map {
            RecordOperation(.forceReplace, recordName: $0, recordType: "T", fields: ["n": FieldInput(.double(2))])
        }
        for outcome in try await source.modify(ModifyRequest(operations)) { _ = try outcome.get() }
        let bytes = try await exported(source)
        let target = try await database(of: engine(.memory, ""), .public, as: "_grace")
        _ = try await Restorer(file(bytes), into: target).run()
        #expect(try await exported(target) == bytes)
    }

    @Test(arguments: Kind.allCases) func pagesOfAListingHoldEveryRecordOnce(kind: Kind) async throws {
        let source = try await database(of: engine(kind, "source"))
        try await fill(source)
        func names(_ records: Int, _ types: Set<Name>?, bytes: Int = 8 << 20) async throws -> [Name] {
            var request = RecordListRequest(
                Self.zoneID, recordTypes: types, limit: PageLimit(records: records, bytes: bytes))
            var names: [Name] = []
            repeat {
                let page = try await source.require(.listRecords).list(request)
                #expect(page.records.count <= records)
                names += page.records.map(\.recordID.recordName)
                request.after = page.last
            } while request.after != nil
            return names
        }
        let all = try await names(1000, nil)
        #expect(all.count == 255 && all == all.sorted() && !all.contains("record 100"))
        for limit in [1, 7, 254, 255] { #expect(try await names(limit, nil) == all) }
        #expect(try await names(1000, nil, bytes: 1) == all)
        #expect(
            try await names(2, ["Thing", "None"]) == ["aa", Self.decomposed, Self.composed, "nothing at all"].sorted())
        #expect(try await names(2, ["None"]).isEmpty)
        let empty = try await source.require(.listRecords).list(RecordListRequest(ZoneID(zoneName: "Empty")))
        #expect(empty.records.isEmpty && empty.last == nil)
        let missing = await stop {
            _ = try await source.require(.listRecords).list(RecordListRequest(ZoneID(zoneName: "Missing")))
        }
        #expect(missing.contains("ZONE_NOT_FOUND"))
    }

    // MARK: Other places

    @Test func recordsCanGoIntoAnotherZoneOfAnotherUser() async throws {
        let source = try await database(of: engine(.memory, ""))
        try await fill(source)
        let bytes = try await exported(source, ExportOptions(zones: [Self.zoneID]))
        let target = try await database(of: engine(.file, "target"), as: "_grace")
        let moved = ZoneID(zoneName: "Moved")
        let report = try await Restorer(file(bytes), zoneID: moved, into: target).run()
        #expect(report.madeZones == [moved])
        let record = try await #require(
            target.fetch([RecordID(recordName: "aa", zoneID: moved)], desiredKeys: nil).first
        ).get()
        #expect(record.created.userRecordName == "_ada")
        let values = try record.fields.values(of: ["here", "elsewhere", "text"])
        #expect(values["text"] == Self.everything["text"])
        // A reference into the record's own zone follows the zone. One into another zone of the same user refers to
        // that zone of the new user.
        #expect(
            values["here"]
                == .reference(Reference(recordName: "x", zoneID: ZoneID(zoneName: "Moved", ownerRecordName: "_grace"))))
        #expect(
            values["elsewhere"]
                == .reference(Reference(recordName: "x", zoneID: ZoneID(zoneName: "Other", ownerRecordName: "_grace"))))
    }

    @Test(arguments: Kind.allCases) func aKeyValueStoreGoesAlong(kind: Kind) async throws {
        let source = try await database(of: engine(kind, "source"))
        let notes = ZoneID(zoneName: "Notes")
        _ = try await source.modifyZones([.create(notes)])
        let values: [Name: PropertyValue] = [
            "a": .string("x"), "b": .dictionary(["list": .array([.bytes([1]), .date(Timestamp(milliseconds: 5))])]),
        ]
        _ = try await source.require(.keepKeyValues).modifyKeyValues(values.map { .set($0.key, $0.value) })
        let bytes = try await exported(source)
        let target = try await database(of: engine(kind, "target"))
        _ = try await target.require(.keepKeyValues).modifyKeyValues([.set("a", .integer(1)), .set("own", .bool(true))])
        let report = try await Restorer(file(bytes), into: target).run()
        #expect(report.keyValues == 2 && report.refusedKeyValues == nil)
        let kept = try await target.require(.keepKeyValues).keyValues(since: nil).changes
        #expect(
            Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
                == values.merging(["own": .bool(true)]) { first, _ in first })
        _ = try await target.require(.keepKeyValues).modifyKeyValues([.remove("own")])
        #expect(try await exported(target) == bytes)
        // A part has none, and a copy into one zone sets none.
        let part = try await exported(source, ExportOptions(zones: [notes]))
        #expect(try file(part, "part.ndjson").header.keyValues.isEmpty)
        let beside = try await Restorer(
            file(bytes), zoneID: ZoneID(zoneName: "Copy"), into: database(of: engine(kind, "beside"))
        ).run()
        #expect(beside.keyValues == 0)
        // Without room, the records are restored, and no key is set.
        let full = try await database(of: engine(kind, "full"))
        _ = try await full.require(.keepKeyValues).modifyKeyValues([
            .set("all", .bytes([UInt8](repeating: 0, count: KeyValueLimits.bytes)))
        ])
        let refused = try await Restorer(file(bytes), into: full).run()
        #expect(refused.keyValues == 0 && refused.refusedKeyValues?.reason.contains("the limit is 1048576") == true)
        #expect(try await full.require(.keepKeyValues).keyValues(since: nil).changes.map(\.key) == ["all"])
        // A database without one gets the records, and the report says what it lacks.
        var header = try file(bytes).header
        header.zones = []
        let lines = try file(header.line + [UInt8(ascii: "\n")], "plain.ndjson")
        let open = try await Restorer(lines, into: database(of: engine(kind, "open"), .public)).run()
        #expect(open.keyValues == 0 && open.refusedKeyValues?.reason.contains("keeps none") == true)
        // Keys that no store takes are found before anything is saved.
        header.keyValues[Name(String(repeating: "k", count: 65))] = .bool(true)
        let empty = try await database(of: engine(kind, "empty"))
        let wrong = try file(header.line + [UInt8(ascii: "\n")], "wrong.ndjson")
        let reason = await stop { _ = try await Restorer(wrong, into: empty).run() }
        #expect(reason.contains("65 bytes of UTF-8"), "\(reason)")
        #expect(try await empty.require(.keepKeyValues).keyValues(since: nil).changes.isEmpty)
    }

    @Test(arguments: Kind.allCases) func subscriptionsGoAlong(kind: Kind) async throws {
        let source = try await database(of: engine(kind, "source"))
        let (notes, other) = (ZoneID(zoneName: "Notes"), ZoneID(zoneName: "Other"))
        _ = try await source.modifyZones([.create(notes), .create(other)])
        _ = try await source.modify(
            ModifyRequest(
                [RecordOperation(.create, recordName: "r", recordType: "Item", fields: ["n": FieldInput(.int64(1))])],
                zoneID: notes))
        var info = NotificationInfo()
        (info.alertBody, info.additionalFields) = ("New", ["n"])
        let query = Query(recordType: "Item", filters: [.init("n", .greaterThan, FieldInput(.int64(0)))])
        let subject = Subscription.Subject.query(
            Subscription.RecordSubject(query, firesOn: [.create, .delete], zoneID: notes))
        let subscriptions = [
            Subscription("all", to: .database(recordType: nil)),
            Subscription("other", to: .zone(other, recordType: "Item")),
            Subscription("some", to: subject, notificationInfo: info),
        ]
        for result in try await source.require(.keepSubscriptions).modifySubscriptions(subscriptions.map { .save($0) })
        { _ = try result.get() }
        let bytes = try await exported(source)
        let target = try await database(of: engine(kind, "target"))
        let report = try await Restorer(file(bytes), into: target).run()
        #expect(report.subscriptions == ["all", "other", "some"] && report.refusedSubscriptions == [])
        #expect(
            try await target.require(.keepSubscriptions).subscriptions()
                == source.require(.keepSubscriptions).subscriptions())
        #expect(try await exported(target) == bytes)
        // A part has those that are about it.
        let part = try await exported(source, ExportOptions(zones: [notes]))
        #expect(try file(part, "part.ndjson").header.subscriptions.map(\.subscriptionID) == ["some"])
        // A copy beside the original takes none away from it.
        let beside = try await Restorer(file(part, "part.ndjson"), zoneID: ZoneID(zoneName: "Copy"), into: source).run()
        #expect(beside.subscriptions == [] && beside.refusedSubscriptions.count == 1)
        #expect(
            try await source.require(.keepSubscriptions).subscriptions().map { $0.zoneID?.zoneName } == [
                nil, "Other", "Notes",
            ])
        let copy = try await exported(source, ExportOptions(zones: [notes], hasSubscriptions: false))
        #expect(try file(copy, "copy.ndjson").header.subscriptions == [])
        // The user already has one to the same, under another id.
        let taken = try await database(of: engine(kind, "taken"))
        _ = try await Restorer(file(part, "part.ndjson"), into: taken).run()
        let renamed = Subscription("mine", to: subject)
        for result in try await taken.require(.keepSubscriptions).modifySubscriptions([.delete("some"), .save(renamed)])
        { _ = try result.get() }
        let refused = try await Restorer(file(part, "part.ndjson"), into: taken).run()
        #expect(refused.subscriptions == [] && refused.refusedSubscriptions.map(\.line) == [1])
        #expect(try await taken.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ["mine"])
    }

    /// References that name the owner as the current user.
    @Test(arguments: ["_defaultOwner", "__defaultOwner__"] as [Name]) func referencesToOnesOwnZonesGoAlong(owner: Name)
        throws
    {
        func placed(_ scope: DatabaseScope, from source: DatabaseScope, to zoneID: ZoneID?) throws -> Reference? {
            let container = try #require(ContainerID("iCloud.com.example.X"))
            func address(_ scope: DatabaseScope) -> DatabaseAddress {
                DatabaseAddress(container: container, environment: .development, scope: scope)
            }
            let user = source == .public ? nil : ExportHeader.User(userRecordName: "_ada", handle: nil)
            let header = ExportHeader(address: address(source), user: user, zones: [], schema: Schema())
            let places = try RestoreTargets(
                header, into: address(scope), as: Caller(userRecordName: "_grace"), zoneID: zoneID)
            let by = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_ada", deviceID: "")
            let json = try JSONReader.value(of: line("a", zone: "_defaultZone"))
            guard case .object(let object) = json else { return nil }
            var record = try RestoredRecord(Row(line: 2, cells: object.map { ($0.name, .json($0.value)) }))
            record.provenance = Provenance(created: by, modified: by)
            let named = Reference(
                recordName: "x", zoneID: ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: owner))
            record.fields = ["r": FieldInput(.reference(named))]
            guard case .tagged(.reference(let reference), _, _)? = places.placed(record).fields["r"] else { return nil }
            return reference
        }
        let moved = ZoneID(zoneName: "Moved")
        // The alias refers to the new owner there, and is kept.
        #expect(
            try placed(.private, from: .private, to: moved)?.zoneID == ZoneID(zoneName: "Moved", ownerRecordName: owner)
        )
        #expect(
            try placed(.private, from: .public, to: moved)?.zoneID == ZoneID(zoneName: "Moved", ownerRecordName: owner))
        #expect(
            try placed(.public, from: .public, to: nil)?.zoneID
                == ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: owner))
        // In a shared database the alias would refer to the reader.
        let shared = ZoneID(zoneName: "Moved", ownerRecordName: "_lin")
        #expect(try placed(.shared, from: .private, to: shared)?.zoneID == shared)
    }

    @Test func severalZonesDoNotFitIntoOne() async throws {
        let source = try await database(of: engine(.memory, ""))
        try await fill(source)
        let bytes = try await exported(source)
        let target = try await database(of: engine(.memory, ""))
        let refused = await stop {
            _ = try await Restorer(file(bytes), zoneID: ZoneID(zoneName: "One"), into: target).run()
        }
        #expect(refused.contains("a second zone, 'Häuser', begins here; --zone accepts only one"))
        let isPublic = try await database(of: engine(.memory, ""), .public)
        let noZones = await stop { _ = try Restorer(file(bytes), into: isPublic) }
        #expect(noZones.contains("The public database has only its default zone"))
    }

    @Test func aSharedDatabaseGoesIntoAPrivateOne() async throws {
        let engine = InMemoryRecordEngine()
        let owner = try await database(of: engine)
        try await fill(owner)
        try await owner.share(
            Self.zoneID, with: ZoneParticipant(userRecordName: "_grace", permission: .readWrite), on: engine)
        let bytes = try await exported(database(of: engine, .shared, as: "_grace"))
        #expect(lines(bytes)[0].contains("\"ownerRecordName\":\"_ada\""))
        let target = try await database(of: self.engine(.memory, ""), as: "_grace")
        let report = try await Restorer(file(bytes), into: target).run()
        #expect(report.saved == 255)
        #expect(report.madeZones == [Self.zoneID])
    }

    // MARK: Malformed files

    private static let header = """
        {"skylight":"export","version":1,"container":"iCloud.com.example.X","environment":"development","database":"private",\
        "userRecordName":"_ada","zones":[{"zoneName":"Z"}],"schema":{"types":[{"name":"T","fields":{"n":{"type":"INT64"}}}],"roles":[]}}
        """

    private func line(_ name: String, zone: String = "Z", fields: String = "{}", more: String = "") -> String {
        let by = "{\"timestamp\":1,\"userRecordName\":\"_ada\",\"deviceID\":\"phone\"}"
        return
            "{\"recordName\":\"\(name)\",\"recordType\":\"T\",\"zoneID\":{\"zoneName\":\"\(zone)\"},\"fields\":\(fields),\"created\":\(by),\"modified\":\(by)\(more)}"
    }

    private func restore(_ lines: [String], into target: any RecordDatabase) async throws -> RestoreReport {
        try await Restorer(file(Array((lines.joined(separator: "\n") + "\n").utf8)), into: target).run()
    }

    @Test func mistakesAreNamedByLineAndNothingIsSaved() async throws {
        let target = try await database(of: engine(.memory, ""))
        let bad = [
            Self.header, line("a", fields: "{\"n\":{\"value\":1,\"type\":\"INT64\"}}"), line("a"),
            line("b", fields: "{\"n\":{\"value\":1.5,\"type\":\"DOUBLE\"}}"),
            line("c", fields: "{\"n\":1}"), "{", line("d", zone: "Y"), line("e", more: ",\"recordChangeTag\":\"1\""),
            line("f", fields: "[]"),
            line("g", more: ",\"parent\":{}"), line("\\u0000"),
            line("h", fields: "{\"n\":{\"value\":null,\"type\":\"INT64\"}}"), "",
            line("i").replacing("\"deviceID\":\"phone\"", with: "\"deviceID\":7"),
        ]
        let refused = await stop { _ = try await restore(bad, into: target) }
        let file = folder.url.appending(path: "export.ndjson").relativePath
        for (number, reason) in [
            (3, "the record 'a' is already on line 2"), (4, "the field 'n' does not have the declared type INT64"),
            (5, "the field 'n' has no value with its type"), (6, "bad JSON"),
            (7, "the zone 'Y' is not among the header's 'zones'"),
            (8, "a record of an export has no 'recordChangeTag'"),
            (9, "'fields' is an array where an object is expected"), (10, "'recordName' is missing"),
            (11, "Invalid recordName"), (12, "the field 'n' has no value with its type"),
            (14, "'deviceID' is a number where a string is expected"),
        ] {
            #expect(refused.contains("\(file):\(number): \(reason)"), "\(refused)")
        }
        #expect(refused.contains("11 bad rows"))
        #expect(try await target.zones().allSatisfy { $0.zoneID.isDefault })
    }

    @Test func linesMayComeInAnyOrder() async throws {
        let target = try await database(of: engine(.memory, ""))
        let report = try await restore([Self.header, line("b"), line("a"), "", line("c")], into: target)
        #expect(report.saved == 3)
        let refused = await stop {
            _ = try await restore([Self.header, line("b"), line("a"), line("c"), line("a")], into: target)
        }
        #expect(refused.contains(":5: the record 'a' is already on line 3"))
    }

    @Test func whatTheStoreRefusesIsNamedByLine() async throws {
        let target = try await database(of: engine(.memory, ""))
        _ = try await restore([Self.header, line("b")], into: target)
        let other = Self.header.replacing("\"T\"", with: "\"U\"")
        let refused = await stop {
            _ = try await restore(
                [other, line("a").replacing("\"T\"", with: "\"U\""), line("b").replacing("\"T\"", with: "\"U\"")],
                into: target)
        }
        #expect(refused.contains(":3: the database refused the row after 0 records were saved"), "\(refused)")
        #expect(refused.contains("has type 'T', which can't be changed to 'U'"))
    }

    private func validating(_ name: String, _ target: String) -> String {
        line(
            name,
            fields: "{\"r\":{\"value\":{\"recordName\":\"\(target)\",\"action\":\"VALIDATE\"},\"type\":\"REFERENCE\"}}")
    }

    @Test(arguments: Kind.allCases) func aMissingTargetHasNoSayInTheReferencesOfOthers(kind: Kind) async throws {
        let target = try await database(of: engine(kind, "target"))
        // More than one batch, the missing one in the first.
        let others = (0..<250).map { validating(String(format: "r%03d", $0), "z") }
        let report = try await restore([Self.header, validating("a", "nobody")] + others + [line("z")], into: target)
        #expect(report.saved == 252)
        #expect(report.unvalidatedCount == 1 && report.unvalidated.map(\.line) == [2])
        #expect(report.unvalidated.first?.reason.contains("VALIDATE and its target 'nobody' does not exist") == true)
        func action(of name: Name) async throws -> Reference.Action? {
            let recordID = RecordID(recordName: name, zoneID: ZoneID(zoneName: "Z"))
            let record = try await #require(target.fetch([recordID], desiredKeys: nil).first).get()
            guard case .reference(let reference)? = try record.fields.values(of: ["r"])["r"] else { return nil }
            return reference.action
        }
        #expect(try await action(of: "a") == Reference.Action.none)
        for name in ["r000", "r001", "r249"] as [Name] { #expect(try await action(of: name) == .validate) }
        // Importing the same file again repairs it once the target exists.
        _ = try await restore([Self.header, line("nobody")], into: target)
        #expect(try await restore([Self.header, validating("a", "nobody")], into: target).unvalidatedCount == 0)
        #expect(try await action(of: "a") == .validate)
    }

    @Test func aFileThatChangesWhileItsRecordsAreSavedSaysWhatWasSaved() async throws {
        let target = try await database(of: engine(.memory, ""))
        let text = ([Self.header] + (0..<3000).map { line(String(format: "r%04d", $0)) }).joined(separator: "\n")
        let url = try folder.write(text, to: "export.ndjson")
        let restorer = try Restorer(#require(try ExportFile(url)), into: target)
        do {
            _ = try await restorer.run { progress in
                guard progress.phase == .saving, progress.count > 0, let handle = try? FileHandle(forWritingTo: url)
                else { return }
                _ = try? handle.seekToEnd()
                try? handle.write(contentsOf: Data("\n".utf8))
            }
            Issue.record("The import should have broken off")
        } catch ImportError.brokenOff(let saved, let reason) {
            #expect(reason.contains("the file was changed while it was being imported"))
            #expect(saved > 0 && saved < 3000)
            #expect(try await target.require(.countRecords).counts(in: ZoneID(zoneName: "Z")).records["T"] == saved)
        }
    }

    @Test func aHeaderMayBeMuchLongerThanARecord() throws {
        let header = Self.header.replacing(
            "\"zones\":", with: "\"zones\":" + String(repeating: " ", count: JSONLinesReader.lineLimit))
        #expect(try file(Array((header + "\n").utf8)).header.zones == [ZoneID(zoneName: "Z")])
        let long = try folder.write(
            Self.header + "\n" + line("a") + String(repeating: " ", count: JSONLinesReader.lineLimit), to: "long.ndjson"
        )
        var lines = try #require(try ExportFile(long)).file.exportedLines()
        _ = try lines.next()
        #expect(throws: ImportError.self) { try lines.next() }
    }

    @Test(arguments: [
        ("\"version\":1", "\"version\":2", "written by a newer version of Skylight"),
        ("iCloud.com", "com", "'container' is not a container name"),
        ("development", "staging", "is not development or production"),
        ("\"private\"", "\"secret\"", "is not public, private or shared"),
        ("INT64", "INT63", "Expected the 'type' of the field 'n' to be a field type"),
        ("\"schema\"", "\"scheme\"", "has no 'schema'"),
    ])
    func aHeaderThatCannotBeUsed(old: String, new: String, reason: String) async throws {
        let url = try folder.write(Self.header.replacing(old, with: new) + "\n", to: "bad.ndjson")
        let refused = await stop { _ = try ExportFile(url) }
        #expect(refused.contains("bad.ndjson:1: ") && refused.contains(reason), "\(refused)")
    }

    @Test(arguments: [
        "{\"a\":1}\n", "", "a,b\n1,2\n", "[{\"skylight\":\"export\"}]", "{\"name\":\"skylight\",\"kind\":\"export\"}\n",
    ])
    func otherFilesAreNoExports(text: String) throws {
        #expect(try ExportFile(folder.write(text, to: "other.json")) == nil)
    }

    @Test func provenanceIsCheckedAndKept() async throws {
        let target = try await database(of: engine(.file, "target"))
        func save(_ provenance: Provenance?) async throws -> StoredRecord {
            let operation = RecordOperation(.forceReplace, recordName: "p", recordType: "T", provenance: provenance)
            guard case .saved(let record)? = try await target.modify(ModifyRequest([operation])).first?.get() else {
                throw RecordError.recordNotFound
            }
            return record
        }
        let old = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_grace", deviceID: "tablet")
        let newer = Signature(timestamp: Timestamp(milliseconds: 2), userRecordName: "_ada", deviceID: "")
        let restored = try await save(Provenance(created: old, modified: newer))
        #expect(restored.created == old && restored.modified == newer)
        // The next regular save continues from there.
        let saved = try await save(nil)
        #expect(
            saved.created == old && saved.modified.deviceID == "phone" && saved.modified.timestamp > newer.timestamp)
        let spoilt = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_grace", deviceID: "a\u{0}b")
        let refused = await stop { _ = try await save(Provenance(created: old, modified: spoilt)) }
        #expect(refused.contains("Invalid 'modified': its deviceID"))
    }

    /// A mirror has the origin's checksum of a file that it does not have.
    @Test(arguments: Kind.allCases)
    func filesOfAnOriginAreLeftOut(kind: Kind) async throws {
        let engine = try engine(kind, "mirror")
        let (database, zone) = (try await database(of: engine), ZoneID(zoneName: "Notes"))
        for result in try await database.modifyZones([.create(zone)]) { _ = try result.get() }
        let signature = Signature(timestamp: Timestamp(milliseconds: 1000), userRecordName: "_ada", deviceID: "phone")
        let fields = [
            Field(name: "file", value: .asset(Asset(fileChecksum: "AQ+/c3Q=", size: 7))),
            Field(name: "text", value: .string("a")),
        ]
        let record = StoredRecord(
            recordID: RecordID(recordName: "r", zoneID: zone), recordType: "Note", recordChangeTag: "1",
            created: signature, modified: signature,
            fields: FieldsText(fields))
        _ = try await database.require(.mirrorRecords).mirror(
            MirrorBatch(zone, changes: [MirrorBatch.Change(.saved(record))]))
        var bytes: [UInt8] = []
        let report = try await Exporter(database).run { bytes += $0 }
        #expect(report.leftOut == ExportReport.AssetCount(references: 1, files: 1, bytes: 7))
        let line = try #require(lines(bytes).last)
        #expect(line.contains(#""text""#) && !line.contains("AQ+"))
        await engine.close()
    }
}
