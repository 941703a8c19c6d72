import RecordStore
import Records
import TestSupport

/// Random changes of a private database, repeatable by their seed.
struct OriginHistory {
    private static let zones = ["A", "B", "C"].map { ZoneID(zoneName: Name($0)) }
    private static let types: [Name] = ["Item", "Note", "Other"]

    private var random: SeededRandom
    private let database: any RecordDatabase
    private let names: Int

    init(seed: UInt64, _ database: any RecordDatabase, names: Int = 40) {
        random = SeededRandom(seed: seed)
        self.database = database
        self.names = names
    }

    mutating func run(_ count: Int) async throws {
        for _ in 0..<count { try await step() }
    }

    private mutating func step() async throws {
        let zone = Self.zones[Int.random(in: 0..<Self.zones.count, using: &random)]
        let exists = if case .success? = try await database.fetchZones([zone]).first { true } else { false }
        guard exists else { return try await database.make(zone) }
        let name = anyName()
        switch Int.random(in: 0..<100, using: &random) {
        case 0: for result in try await database.modifyZones([.delete(zone)]) { _ = try result.get() }
        case 1: try await database.require(.purgeZones).purge(zone)
        case 2: try await database.require(.expireTokens).expireTokens()
        case 3..<25: try await modify([RecordOperation(.forceDelete, recordName: name)], in: zone)
        case 25..<85: try await modify([save(name)], in: zone)
        default:
            let several = Set((0..<6).map { _ in anyName() }).sorted()
            try await modify(
                several.map {
                    Int.random(in: 0..<4, using: &random) == 0
                        ? RecordOperation(.forceDelete, recordName: $0) : save($0)
                }, in: zone)
        }
    }

    /// Some saves are refused: a record keeps its type as long as it is there, and so does a parent.
    private mutating func modify(_ operations: [RecordOperation], in zone: ZoneID) async throws {
        _ = try await database.modify(ModifyRequest(operations, zoneID: zone, atomic: Bool.random(using: &random)))
    }

    private mutating func anyName() -> Name { Name("r\(Int.random(in: 0..<names, using: &random))") }

    private mutating func save(_ name: Name) -> RecordOperation {
        var fields: [Name: FieldInput] = [:]
        for field in ["text", "number", "date", "list", "place", "bytes", "link"] as [Name]
        where Bool.random(using: &random) {
            fields[field] = Int.random(in: 0..<6, using: &random) == 0 ? .cleared : FieldInput(value(of: field))
        }
        let type = Self.types[Int.random(in: 0..<Self.types.count, using: &random)]
        let kinds: [RecordOperation.Kind] = [.forceUpdate, .forceReplace]
        let parents: [RecordOperation.Parent] = [.unchanged, .unchanged, .cleared, .record(anyName())]
        return RecordOperation(
            kinds[Int.random(in: 0..<2, using: &random)], recordName: name, recordType: type, fields: fields,
            parent: parents[Int.random(in: 0..<parents.count, using: &random)])
    }

    private mutating func value(of field: Name) -> FieldValue {
        let number = Int64.random(in: -1000...1000, using: &random)
        switch field {
        case "text": return .string(["", "Milk", "a \"quote\" \u{301}", "日本", "line\nline"][Int(number.magnitude % 5)])
        case "number": return number == 0 ? .int64(.max) : .int64(number)
        case "date": return .timestamp(Timestamp(milliseconds: number))
        case "list": return .list((0..<number.magnitude % 3).map { .string("s\($0)") }, of: .string)
        case "place": return .location(Location(latitude: Double(number) / 20, longitude: Double(number) / 10))
        case "bytes": return .bytes(random.bytes(Int(number.magnitude % 20)))
        // Few of them delete with their target, or hardly anything would stay.
        default:
            return .reference(
                Reference(
                    recordName: Name("r\(number.magnitude % 40)"),
                    action: number.magnitude % 5 == 0 ? .deleteSelf : .none))
        }
    }
}
