import BenchmarkRecords
import Records

/// The records that every side of the benchmarks saves.
enum NoteRecords {
    static let typeName: Name = "Note"
    static let zoneID = ZoneID(zoneName: "Bench")

    /// Six index entries for each record: its name and five fields; `text` has no index.
    static var type: RecordType {
        let sortable: Indexes = [.queryable, .sortable]
        return RecordType(
            name: typeName,
            fields: [
                "at": FieldDefinition(type: .timestamp, indexes: sortable),
                "author": FieldDefinition(type: .string, indexes: sortable),
                "done": FieldDefinition(type: .int64, indexes: sortable),
                "rank": FieldDefinition(type: .int64, indexes: sortable),
                "text": FieldDefinition(type: .string), "title": FieldDefinition(type: .string, indexes: sortable),
            ],
            systemIndexes: [.recordID: .queryable])
    }

    static func name(_ number: UInt64) -> Name {
        Name(text(of: Int(BENCHMARK_NAME_SIZE)) { benchmark_name(number, $0) })
    }

    /// The save of a note, its fields read from the JSON that a client would send.
    static func save(_ number: UInt64, version: UInt64) throws -> RecordOperation {
        let json = text(of: Int(BENCHMARK_FIELDS_SIZE)) { benchmark_fields(number, version, $0) }
        guard case .object(let members) = try JSONReader.value(of: Array(json.utf8)) else {
            throw RecordError(.internalError, "The fields of note \(number) are no object")
        }
        let fields = try members.map { ($0.name, try FieldInput($0.value, field: $0.name)) }
        return RecordOperation(
            .forceReplace, recordName: name(number), recordType: typeName,
            fields: Dictionary(fields, uniquingKeysWith: { first, _ in first }))
    }

    private static func text(of size: Int, _ write: (UnsafeMutablePointer<CChar>?) -> Int) -> String {
        String(unsafeUninitializedCapacity: size) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { write($0.baseAddress) }
        }
    }
}
