import Foundation
import RecordStore
import Records
import Testing

/// Checks every cell of the tables of values in docs/schema.md: types, tags, flags and databases.
@Suite struct ValueTableTests {
    /// A value of each type as JSON.
    private static func sample(_ type: FieldType) -> JSONValue {
        let element: JSONValue =
            switch type.valueType {
            case .string: "x y"
            case .int64, .timestamp: 3
            case .double: 3.5
            case .bytes: "AQI="
            case .location: ["latitude": 1, "longitude": 2]
            case .reference: ["recordName": "r", "action": "NONE"]
            case .asset: ["fileChecksum": "c", "size": 1]
            }
        return type.isList ? .array([element, element]) : element
    }

    /// The rows of the table whose head begins so, without the head.
    private static func table(_ head: String) throws -> (columns: [String], rows: [[String]]) {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let lines = try String(contentsOf: root.appending(path: "docs/schema.md"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("| \(head) |") })
        func cells(_ line: String) -> [String] {
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        return (cells(lines[start]), lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map(cells))
    }

    /// What a cell says. Each has its source.
    private static func words(_ cell: String) throws -> String {
        let parts = cell.split(separator: " ")
        try #require(["A", "M", "C", "?"].contains(parts.last), "\(cell)")
        return parts.dropLast().joined(separator: " ")
    }

    /// The saved field, its type, and the reason of a refusal.
    private static func save(
        _ json: JSONValue, declared: FieldType?, in scope: DatabaseScope = .private
    ) -> (field: Field?, isCleared: Bool, type: FieldType?, reason: String?) {
        let fields = declared.map { ["f" as Name: FieldDefinition(type: $0)] } ?? [:]
        var justInTime = JustInTimeSchema(
            Schema(types: [RecordType(name: "Note", fields: fields)]), environment: .development)
        do {
            let (values, cleared) = try justInTime.resolve(
                ["f": FieldInput(json, field: "f")], from: .client(scope), in: "Note")
            return (values["f"], cleared.contains("f"), justInTime.schema.types["Note"]?.fields["f"]?.type, nil)
        } catch {
            return (nil, false, nil, (error as? RecordError)?.reason ?? "\(error)")
        }
    }

    @Test func eachTypeTakesWhatTheTableSays() throws {
        let (columns, rows) = try Self.table("JSON")
        #expect(
            columns.dropFirst().dropLast() == [
                "STRING", "INT64", "DOUBLE", "TIMESTAMP", "BYTES", "LOCATION", "REFERENCE", "ASSET",
            ])
        #expect(rows.count == 9)
        for row in rows {
            let json = try JSONReader.value(of: row[0].trimmingCharacters(in: CharacterSet(charactersIn: "`")))
            for (column, cell) in zip(columns, row).dropFirst().dropLast() {
                let plain = try #require(FieldType(schemaName: column))
                for type in [plain, .list(plain.valueType)] {
                    let value = type.isList ? JSONValue.array([json]) : json
                    let untyped = Self.save(["value": value], declared: type).field != nil
                    #expect(untyped == (Self.save(value, declared: type).field != nil))
                    let typed =
                        Self.save(["value": value, "type": .string(type.wireName)], declared: type).field != nil
                    #expect(
                        try (untyped ? (typed ? "✓" : "u") : (typed ? "t" : "–")) == Self.words(cell),
                        "\(row[0]) in \(type.wireName)")
                }
            }
            let made = Self.save(json, declared: nil).type
            #expect(try made == FieldType(schemaName: Self.words(row.last ?? "")), "\(row[0])")
        }
    }

    @Test func encryptedFieldsAreAsTheTableSays() throws {
        let (columns, rows) = try Self.table("sent")
        #expect(columns.count == 7 && rows.count == 6)
        let plain = ValueType.allCases.flatMap { [FieldType($0), .list($0)] }
        let encrypted = plain.filter(\.canBeEncrypted).map {
            FieldType($0.valueType, isList: $0.isList, isEncrypted: true)
        }
        var count = 0
        for row in rows {
            for (column, cell) in zip(columns, row).dropFirst() {
                let kind = column.components(separatedBy: ", ")[0]
                let scopes: [DatabaseScope] =
                    column.hasSuffix("public database")
                    ? [.public] : kind == "plain field" ? [.private, .shared, .public] : [.private, .shared]
                let types =
                    switch kind {
                    case "plain field": plain
                    case "encrypted field":
                        scopes == [.public] ? encrypted : encrypted.filter { $0.valueType != .bytes }
                    case "ENCRYPTED BYTES field": encrypted.filter { $0.valueType == .bytes }
                    default: plain.filter(\.canBeEncrypted)
                    }
                for type in types {
                    for scope in scopes {
                        let isNew = kind.hasPrefix("new field")
                        let answer = Self.save(Self.sent(row[0], type), declared: isNew ? nil : type, in: scope)
                        #expect(
                            try Self.outcome(answer, type, isNew) == Self.words(cell),
                            "\(row[0]) to \(type.wireName) as \(column): \(answer)")
                        count += 1
                    }
                }
            }
        }
        #expect(count > 700)
    }

    /// What a row sends to a field of the type.
    private static func sent(_ row: String, _ type: FieldType) -> JSONValue {
        let value = sample(type)
        let plain = FieldType(type.valueType, isList: type.isList).wireName
        return switch row {
        case "`value`": ["value": value]
        case "`value`, `type`": ["value": value, "type": .string(plain)]
        case "`value`, `type`, `isEncrypted`": ["value": value, "type": .string(plain), "isEncrypted": true]
        case "`value`, `ENCRYPTED_` type": ["value": value, "type": .string("ENCRYPTED_\(plain)")]
        case "`value`, `isEncrypted`": ["value": value, "isEncrypted": true]
        default: ["value": .null]
        }
    }

    /// An answer in the words of the table.
    private static func outcome(
        _ answer: (field: Field?, isCleared: Bool, type: FieldType?, reason: String?), _ type: FieldType, _ isNew: Bool
    ) -> String {
        if answer.isCleared { return isNew && answer.type == nil ? "nothing" : "cleared" }
        if let field = answer.field {
            if isNew { return field.isEncrypted && answer.type?.isEncrypted == true ? "encrypted" : "plain" }
            return field.isEncrypted == type.isEncrypted ? "saved" : "with another encryption"
        }
        let bytes = type.isList ? "ENCRYPTED_BYTES_LIST" : "ENCRYPTED_BYTES"
        return switch answer.reason {
        case "invalid attempt to set value type \(bytes) for field 'f' for type 'Note', defined to be: \(type.wireName)":
            "bytes"
        case "Attempt to save encrypted data in non encrypted field type. Field: 'f'": "not encrypted"
        case "encrypted fields are not supported in the public database": "public"
        case "Field 'f' is new and its encrypted value has no type; send a type such as STRING beside isEncrypted":
            "no type"
        default: answer.reason ?? ""
        }
    }
}
