import JSON
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
        let name = Name("r\(Int.random(in: 0..<names, using: &random))")
        switch Int.random(in: 0..<100, using: &random) {
        case 0: for result in try await database.modifyZones([.delete(zone)]) { _ = try result.get() }
        case 1: try await database.purge(zone)
        case 2: try await database.expireTokens()
        case 3..<25: try await database.remove(name, in: zone)
        default: try await save(name, in: zone)
        }
    }

    private mutating func save(_ name: Name, in zone: ZoneID) async throws {
        var fields: [Name: FieldInput] = [:]
        for field in ["text", "number", "date", "list", "place", "bytes", "link"] as [Name] where Bool.random(using: &random) {
            fields[field] = Int.random(in: 0..<6, using: &random) == 0 ? .cleared : FieldInput(value(of: field))
        }
        let type = Self.types[Int.random(in: 0..<Self.types.count, using: &random)]
        let kinds: [RecordOperation.Kind] = [.forceUpdate, .forceReplace]
        let operation = RecordOperation(kinds[Int.random(in: 0..<2, using: &random)], recordName: name, recordType: type, fields: fields)
        // A record keeps its type as long as it is there: the other types are refused.
        _ = try await database.modify(ModifyRequest([operation], zoneID: zone))
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
        default: return .reference(Reference(recordName: Name("r\(number.magnitude % 40)")))
        }
    }
}
