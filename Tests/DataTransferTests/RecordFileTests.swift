import DataTransfer
import Records
import Testing

/// Records as files.
@Suite struct RecordFileTests {
    private static func record(_ name: Name, _ fields: [Name: FieldValue]) -> StoredRecord {
        let signature = Signature(
            timestamp: Timestamp(milliseconds: 1_767_225_600_000), userRecordName: "_user", deviceID: "Mac")
        return StoredRecord(
            recordID: RecordID(recordName: name, zoneID: ZoneID(zoneName: "Notes")), recordType: "Note",
            recordChangeTag: "1a", created: signature,
            modified: signature, fields: FieldsText(fields.map { Field(name: $0.key, value: $0.value) }))
    }

    private static let system =
        "parent,recordChangeTag,createdTimestamp,createdUserRecordName,modifiedTimestamp,modifiedUserRecordName"
    private static let signed = ",1a,2026-01-01T00:00:00.000Z,_user,2026-01-01T00:00:00.000Z,_user"

    private func csv(_ fields: [Name: FieldValue], _ names: [Name]) throws -> String {
        let writer = RecordFileWriter(format: .csv, columns: RecordFileWriter.Columns(fields: names))
        return String(
            decoding: try writer.head()
                + writer.rows([RecordFileWriter.Item(Self.record("one", fields))], isFirst: true, address: nil)
                + writer.end(), as: UTF8.self)
    }

    @Test(arguments: [
        (FieldValue.string("plain"), "plain"), (.string("a,b"), "\"a,b\""),
        (.string("say \"hi\""), "\"say \"\"hi\"\"\""), (.string(""), "\"\""),
        (.string("two\nlines"), "\"two\nlines\""), (.string(" x"), "\" x\""), (.string("\"\u{301}"), "\"\"\"\u{301}\""),
        (.int64(.max), "9223372036854775807"),
        (.double(0.1), "0.1"), (.timestamp(Timestamp(milliseconds: 1500)), "1970-01-01T00:00:01.500Z"),
        (.bytes([1, 2]), "AQI="),
        (.location(Location(latitude: 1.5, longitude: -2)), "\"1.5, -2.0\""),
        (.reference(Reference(recordName: "a,b")), "\"a,b\""),
        (.list([.string("a"), .string("b")], of: .string), "\"[\"\"a\"\",\"\"b\"\"]\""),
        // Values are exported byte for byte, even if a spreadsheet would treat them as formulas, so that they can be
        // imported unchanged.
        (.string("=1+1"), "=1+1"), (.string("+1"), "+1"), (.string("-1"), "-1"), (.string("@SUM(A1)"), "@SUM(A1)"),
        (.string("\tx"), "\tx"),
        (.string("=HYPERLINK(\"x\")"), "\"=HYPERLINK(\"\"x\"\")\""), (.string("\rx"), "\"\rx\""),
    ])
    func cells(value: FieldValue, text: String) throws {
        #expect(
            try csv(["f": value], ["f", "none"])
                == "recordName,f,none,\(Self.system)\r\none,\(text),,\(Self.signed)\r\n")
    }

    @Test func whatIsNotThereHasALineOfAsManyCells() throws {
        var columns = RecordFileWriter.Columns(fields: ["f"])
        (columns.showsTypes, columns.showsZones, columns.showsOwners, columns.showsErrors) = (true, true, true, true)
        let writer = RecordFileWriter(format: .csv, columns: columns)
        let items = [
            RecordFileWriter.Item(Self.record("one", [:])), RecordFileWriter.Item("gone", .failure(.recordNotFound)),
        ]
        let lines = String(decoding: try writer.head() + writer.rows(items, isFirst: true, address: nil), as: UTF8.self)
            .split(separator: "\r\n")
        #expect(lines.count == 3)
        #expect(Set(lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).count }) == [12])
        #expect(lines[2].hasPrefix("gone,") && lines[2].hasSuffix(",NOT_FOUND"))
    }

    /// JSON written in two parts forms one valid text.
    @Test func partsOfJSONFitTogether() throws {
        let writer = RecordFileWriter(format: .json, columns: RecordFileWriter.Columns(fields: []))
        let one = RecordFileWriter.Item(Self.record("one", ["f": .int64(1)]))
        let two = RecordFileWriter.Item("two", .failure(.recordNotFound))
        var bytes =
            try writer.head() + writer.rows([one], isFirst: true, address: nil)
            + writer.rows([], isFirst: false, address: nil)
        bytes +=
            try writer.rows([two, one], isFirst: false, address: nil)
            + writer.end([JSONObject.Member(name: "continuationMarker", value: "x")])
        guard case .object(let object) = try JSONReader.value(of: bytes), case .array(let records)? = object["records"]
        else {
            Issue.record("no records")
            return
        }
        #expect(records.count == 3 && object["continuationMarker"] == "x")
        let nothing = writer.head() + writer.end()
        #expect(try JSONReader.value(of: nothing) == ["records": []])
    }

    @Test func linesOfJSON() throws {
        let writer = RecordFileWriter(format: .ndjson, columns: RecordFileWriter.Columns(fields: []))
        let text = String(
            decoding: try writer.head()
                + writer.rows(
                    [
                        RecordFileWriter.Item(Self.record("one", [:])),
                        RecordFileWriter.Item("two", .failure(.recordNotFound)),
                    ], isFirst: true, address: nil)
                + writer.end(), as: UTF8.self)
        let lines = text.split(separator: "\n")
        #expect(
            lines.count == 2 && lines[0].hasPrefix("{\"recordName\":\"one\"")
                && lines[1].contains("\"serverErrorCode\":\"NOT_FOUND\""))
    }
}
