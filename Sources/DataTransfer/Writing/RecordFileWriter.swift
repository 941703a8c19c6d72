internal import Foundation
package import Records

/// Writes records to a file in chunks, so that a long file never has to fit in memory.
package struct RecordFileWriter: Sendable {
    /// The columns of a CSV table; JSON needs none.
    package struct Columns: Sendable {
        package var fields: [Name]
        /// Options for records of several types, zones or owners.
        package var showsTypes = false
        package var showsZones = false
        package var showsOwners = false
        /// True if records were fetched by name and some are missing.
        package var showsErrors = false

        package init(fields: [Name], showsTypes: Bool = false, showsZones: Bool = false) {
            (self.fields, self.showsTypes, self.showsZones) = (fields, showsTypes, showsZones)
        }
    }

    /// The result for a requested record.
    package struct Item: Sendable {
        package let recordName: Name
        package let result: Result<StoredRecord, RecordError>

        package init(_ record: StoredRecord) {
            recordName = record.recordID.recordName
            result = .success(record)
        }

        package init(_ recordName: Name, _ result: Result<StoredRecord, RecordError>) {
            self.recordName = recordName
            self.result = result
        }
    }

    package let format: ResultFormat
    package let columns: Columns

    package init(format: ResultFormat, columns: Columns) {
        (self.format, self.columns) = (format, columns)
    }

    /// The fields in use, by name.
    /// - Throws: `RecordError` INTERNAL_ERROR if stored fields are damaged.
    package static func fields(in records: [StoredRecord]) throws -> [Name] {
        var names: Set<Name> = []
        for record in records { names.formUnion(try record.fields.decoded().map(\.name)) }
        return names.sorted()
    }

    /// The text before the first record.
    package func head() -> [UInt8] {
        switch format {
        case .json: return Array("{\"records\":[\n".utf8)
        case .ndjson: return []
        case .csv:
            var names: [Name] = ["recordName"]
            if columns.showsTypes { names.append("recordType") }
            if columns.showsZones { names.append("zoneName") }
            if columns.showsOwners { names.append("ownerRecordName") }
            names += columns.fields.map(ExportColumns.header(ofField:))
            names += [
                "parent", "recordChangeTag", "createdTimestamp", "createdUserRecordName", "modifiedTimestamp",
                "modifiedUserRecordName",
            ]
            if columns.showsErrors { names.append("serverErrorCode") }
            return Self.line(names.map { Self.quoted($0.string) })
        }
    }

    /// - Parameter isFirst: true if no record was written yet.
    /// - Throws: `RecordError` INTERNAL_ERROR if stored fields are damaged.
    package func rows(_ items: [Item], isFirst: Bool, address: AssetAddress?) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(items.reduce(64) { $0 + ((try? $1.result.get().fields.bytes.count) ?? 0) + 512 })
        for (index, item) in items.enumerated() {
            switch format {
            case .json:
                if !(isFirst && index == 0) { bytes += Array(",\n".utf8) }
                bytes += try Self.json(item, address)
            case .ndjson:
                bytes += try Self.json(item, address)
                bytes.append(UInt8(ascii: "\n"))
            case .csv: bytes += Self.line(try cells(item))
            }
        }
        return bytes
    }

    /// The text after the last record.
    /// - Parameter members: additional members, for JSON only.
    package func end(_ members: [JSONObject.Member] = []) -> [UInt8] {
        guard format == .json else { return [] }
        var bytes = Array("\n]".utf8)
        for member in members {
            bytes += [UInt8(ascii: ",")] + JSONWriter.bytes(of: .string(member.name.string)) + [UInt8(ascii: ":")]
            bytes += JSONWriter.bytes(of: member.value)
        }
        return bytes + Array("}\n".utf8)
    }

    /// An error line for a failure during the output; `nil` if the format does not support it.
    package func failure(_ error: RecordError) -> [UInt8]? {
        guard format == .ndjson else { return nil }
        return Self.error(error, of: nil) + [UInt8(ascii: "\n")]
    }

    // MARK: JSON

    private static func json(_ item: Item, _ address: AssetAddress?) throws -> [UInt8] {
        switch item.result {
        case .success(let record):
            var writer = JSONWriter(capacity: record.fields.bytes.count + 512)
            try writer.value(record, downloadURL: address)
            return writer.bytes
        case .failure(let failure): return error(failure, of: item.recordName)
        }
    }

    /// An error of a record or a request in the format of the web services.
    package static func error(_ error: RecordError, of recordName: Name?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if let recordName { writer.member("recordName", recordName) }
            writer.member("reason", error.reason)
            writer.member("serverErrorCode", error.code.rawValue)
            if let seconds = error.retryAfter { writer.member("retryAfter", Int64(seconds)) }
        }
        return writer.bytes
    }

    // MARK: Comma-separated values (RFC 4180)

    private func cells(_ item: Item) throws -> [String] {
        guard case .success(let record) = item.result else {
            var count = columns.fields.count + 6
            for isShown in [columns.showsTypes, columns.showsZones, columns.showsOwners] where isShown { count += 1 }
            var cells = [Self.quoted(item.recordName.string)] + Array(repeating: "", count: count)
            if columns.showsErrors, case .failure(let error) = item.result { cells.append(error.code.rawValue) }
            return cells
        }
        let values = columns.fields.isEmpty ? [:] : try record.fields.values(of: Set(columns.fields))
        var cells = [Self.quoted(record.recordID.recordName.string)]
        if columns.showsTypes { cells.append(Self.quoted(record.recordType.string)) }
        if columns.showsZones { cells.append(Self.quoted(record.recordID.zoneID.zoneName.string)) }
        if columns.showsOwners {
            cells.append(record.recordID.zoneID.ownerRecordName.map { Self.quoted($0.string) } ?? "")
        }
        cells += columns.fields.map { values[$0].map(Self.cell) ?? "" }
        cells += [
            record.parent.map { Self.quoted($0.string) } ?? "", record.recordChangeTag,
            Self.time(record.created.timestamp),
            Self.quoted(record.created.userRecordName.string), Self.time(record.modified.timestamp),
            Self.quoted(record.modified.userRecordName.string),
        ]
        if columns.showsErrors { cells.append("") }
        return cells
    }

    /// A value as text. An empty string and no bytes are written in quotes, to distinguish them from no value.
    private static func cell(_ value: FieldValue) -> String {
        switch value {
        case .string(let text): text.isEmpty ? "\"\"" : quoted(text)
        case .int64(let integer): String(integer)
        case .double(let double): double.description
        case .timestamp(let timestamp): time(timestamp)
        case .bytes(let bytes): bytes.isEmpty ? "\"\"" : Data(bytes).base64EncodedString()
        case .location(let location):
            location == Location(latitude: location.latitude, longitude: location.longitude)
                ? quoted("\(location.latitude), \(location.longitude)") : quoted(jsonText(value))
        case .reference(let reference): quoted(reference.recordName.string)
        case .asset, .list: quoted(jsonText(value))
        }
    }

    private static func time(_ timestamp: Timestamp) -> String {
        UTCTime(milliseconds: timestamp.milliseconds).isoTextWithMilliseconds
    }

    private static func jsonText(_ value: FieldValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func line(_ cells: [String]) -> [UInt8] {
        Array((cells.joined(separator: ",") + "\r\n").utf8)
    }

    /// The text, quoted if necessary. Works on bytes: CSV readers see a quotation mark even when a combining accent
    /// follows it.
    private static func quoted(_ text: String) -> String {
        let isPlain = !text.utf8.contains { byte in
            byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n")
                || byte == UInt8(ascii: "\r")
        }
        if isPlain, text.utf8.first != UInt8(ascii: " "), text.utf8.last != UInt8(ascii: " ") { return text }
        return text.csvQuoted
    }
}

// MARK: - Formats

/// The file format of exported records.
package enum ResultFormat: String, Sendable, CaseIterable {
    /// The format of web service answers.
    case json
    /// One record per line, in the format of the web services.
    case ndjson
    case csv

    package var mediaType: String {
        switch self {
        case .json: "application/json; charset=UTF-8"
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8"
        }
    }

    package var label: String { rawValue.uppercased() }
}
