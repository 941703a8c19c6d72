import DataTransfer
import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import TestSupport
import Testing

/// A CSV file of records, imported again, gives the same records: any texts, any types of fields, any names.
///
/// References have the action NONE here, and no record has an asset: a table has only the names of records, and no
/// files.
@Suite struct RecordFileRoundTripTests {
    private static let zoneID = ZoneID(zoneName: "Notes")
    private static let scalars: [Unicode.Scalar] = Array(
        "ab1 ,;\t|\"'\n\r=+-@[]{}:.éß日👩\u{301}\u{200D}\u{202E}\u{FEFF}\u{0}\u{7}\u{2028}\\".unicodeScalars)
    private static let texts = [
        "", " ", "\"", "\"\"", "null", "007", "1E5", "+49", "2026-01-31", "1.5, 2.5", "[]", "{}", "\r\n",
        "fields.parent", ",",
    ]
    /// Names of fields that an export has as columns of its own, beside usual ones.
    private static let names: [Name] = [
        "recordName", "parent", "share", "recordType", "zoneName", "ownerRecordName", "serverErrorCode",
        "recordChangeTag",
    ]

    private struct Source {
        var random: SeededRandom

        mutating func text() -> String {
            if Bool.random(using: &random) { return RecordFileRoundTripTests.texts.randomElement(using: &random) ?? "" }
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                text.append(RecordFileRoundTripTests.scalars.randomElement(using: &random) ?? "a")
            }
            return String(text)
        }

        mutating func recordName() -> Name {
            Name(
                "r"
                    + String(
                        text().unicodeScalars.filter { $0.properties.generalCategory != .control }.map(Character.init)))
        }

        mutating func double() -> Double {
            let double = Double(bitPattern: .random(in: .min ... .max, using: &random))
            return double.isFinite
                ? double : [0, -0.0, 1e20, .leastNonzeroMagnitude, 0.1].randomElement(using: &random) ?? 0
        }

        mutating func value(_ type: FieldType) -> FieldValue {
            if type.isList {
                return .list(
                    (0..<Int.random(in: 0...3, using: &random)).map { _ in value(FieldType(type.valueType)) },
                    of: type.valueType)
            }
            switch type.valueType {
            case .string: return .string(text())
            case .int64:
                return .int64(
                    [.min, .max, 0, -1, .random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0)
            case .double: return .double(double())
            case .bytes:
                return .bytes(
                    (0..<Int.random(in: 0...5, using: &random)).map { _ in .random(in: 0...255, using: &random) })
            case .timestamp:
                let times: [Int64] = [
                    0, -1, .min, .max, 253_402_300_800_000, .random(in: -1 << 45...1 << 45, using: &random),
                ]
                return .timestamp(Timestamp(milliseconds: times.randomElement(using: &random) ?? 0))
            case .location:
                var location = Location(
                    latitude: .random(in: -90...90, using: &random), longitude: .random(in: -180...180, using: &random))
                if Bool.random(using: &random) { location.altitude = .random(in: -10...9000, using: &random) }
                if Bool.random(using: &random) {
                    location.timestamp = Timestamp(milliseconds: .random(in: 0...1 << 40, using: &random))
                }
                return .location(location)
            case .reference, .asset: return .reference(Reference(recordName: recordName()))
            }
        }
    }

    @Test(arguments: Chance.seeds(12))
    func anExportGivesTheSameRecords(seed: UInt64) async throws {
        var source = Source(random: SeededRandom(seed: seed))
        var types: [Name: FieldType] = [:]
        for valueType in ValueType.allCases where valueType != .asset {
            types[Name("one" + valueType.rawValue)] = FieldType(valueType)
            types[Name("many" + valueType.rawValue)] = .list(valueType)
        }
        for name in Self.names {
            types[name] = FieldType([.string, .int64, .bytes].randomElement(using: &source.random) ?? .string)
        }
        let type = RecordType(name: "Note", fields: types.mapValues { FieldDefinition(type: $0) })
        let original = try await database(of: InMemoryRecordEngine(), type)
        let names = Array(Set((0..<20).map { _ in source.recordName() })).sorted()
        var operations: [RecordOperation] = []
        for (index, name) in names.enumerated() {
            var fields: [Name: FieldInput] = [:]
            for (field, type) in types.sorted(by: { $0.key < $1.key }) where Bool.random(using: &source.random) {
                fields[field] = FieldInput(source.value(type))
            }
            let parent =
                index > 0 && Bool.random(using: &source.random)
                ? RecordOperation.Parent.record(names[Int.random(in: 0..<index, using: &source.random)]) : .unchanged
            operations.append(
                RecordOperation(.create, recordName: name, recordType: "Note", fields: fields, parent: parent))
        }
        for outcome in try await original.modify(ModifyRequest(operations, zoneID: Self.zoneID)) {
            _ = try outcome.get()
        }
        let records = try await contents(of: original, names)
        let writer = RecordFileWriter(
            format: .csv,
            columns: RecordFileWriter.Columns(fields: types.keys.sorted(), showsTypes: true, showsZones: true))
        let file =
            try writer.head() + writer.rows(records.map { RecordFileWriter.Item($0) }, isFirst: true, address: nil)
            + writer.end()

        let copy = try await database(of: InMemoryRecordEngine(), type)
        let folder = try TemporaryFolder()
        var options = ImportOptions(recordType: "Note", zoneID: Self.zoneID)
        let url = try folder.write(file, to: "notes.csv")
        let report = try await Importer([url], options: options, into: copy).run()
        #expect(report.saved == names.count)
        let copies = try await contents(of: copy, names)
        #expect(copies.map { $0.fields.bytes } == records.map { $0.fields.bytes })
        #expect(copies.map(\.parent) == records.map(\.parent))
        // The same file has nothing to change.
        options.keepsFields = true
        let again = try await Importer([url], options: options, into: copy).run()
        #expect(again.saved == 0 && again.unchanged == names.count)
        #expect(try await contents(of: copy, names) == copies)
    }

    private func contents(of database: any RecordDatabase, _ names: [Name]) async throws -> [StoredRecord] {
        try await database.fetch(names.map { RecordID(recordName: $0, zoneID: Self.zoneID) }, desiredKeys: nil).map {
            try $0.get()
        }
    }

    private func database(of engine: InMemoryRecordEngine, _ type: RecordType) async throws -> any RecordDatabase {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let database = try await engine.database(
            DatabaseAddress(container: container, environment: .development, scope: .private),
            as: Caller(userRecordName: "_ada"))
        _ = try await database.require(.editSchema).edit([.addType(type)])
        _ = try await database.modifyZones([.create(Self.zoneID)])
        return database
    }
}
