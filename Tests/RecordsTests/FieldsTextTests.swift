import Records
import Testing

@testable import Records

@Suite struct FieldsTextTests {
    private static let fields: [Field] = {
        var place = Location(latitude: 47.6, longitude: -122.3)
        place.altitude = 12.5
        place.timestamp = Timestamp(milliseconds: 5)
        return [
            Field(name: "text", value: .string("é\n\"😀\u{0}")),
            Field(name: "int", value: .int64(.max)),
            Field(name: "whole", value: .double(1)),
            Field(name: "tiny", value: .double(.leastNonzeroMagnitude)),
            Field(name: "bytes", value: .bytes([0, 1, 255])),
            Field(name: "when", value: .timestamp(Timestamp(milliseconds: -1))),
            Field(name: "where", value: .location(place)),
            Field(
                name: "link",
                value: .reference(
                    Reference(recordName: "r", zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_o"), action: .validate))
            ),
            Field(name: "file", value: .asset(Asset(fileChecksum: "abc", size: 12))),
            Field(name: "secret", value: .string("s"), isEncrypted: true),
            Field(name: "sealed", value: .bytes([1, 2]), isEncrypted: true),
            Field(name: "sealedMany", value: .list([.bytes([1]), .bytes([2])], of: .bytes), isEncrypted: true),
            Field(name: "none", value: .list([], of: .string)),
            Field(name: "whens", value: .list([.timestamp(Timestamp(milliseconds: 7))], of: .timestamp)),
            Field(
                name: "links",
                value: .list(
                    [.reference(Reference(recordName: "a")), .reference(Reference(recordName: "b"))], of: .reference)),
        ]
    }()

    @Test func bringsEveryValueBack() throws {
        let decoded = try FieldsText(Self.fields).decoded()
        #expect(decoded == Self.fields.sorted { $0.name < $1.name })
    }

    @Test("Encrypted bytes are spelled as live answers have them, also where they were stored otherwise")
    func encryptedBytes() throws {
        let answered =
            #"{"a":{"value":"\"type\":\"BYTES\",\"isEncrypted\":true","type":"STRING"},"b":{"value":"AQI=","type":"ENCRYPTED_BYTES"},"c":{"value":["AQ=="],"type":"ENCRYPTED_BYTES_LIST"},"d":{"value":"x","type":"STRING","isEncrypted":true}}"#
        let former = answered.replacing(#""ENCRYPTED_BYTES""#, with: #""BYTES","isEncrypted":true"#).replacing(
            #""ENCRYPTED_BYTES_LIST""#, with: #""BYTES_LIST","isEncrypted":true"#)
        #expect(former != answered)
        for text in [answered, former] {
            let fields = FieldsText(bytes: Array(text.utf8))
            #expect(String(decoding: try fields.spelledAsAnswered().bytes, as: UTF8.self) == answered)
            #expect(String(decoding: FieldsText(try fields.decoded()).bytes, as: UTF8.self) == answered)
            let record = StoredRecord(
                recordID: RecordID(recordName: "r"), recordType: "T", recordChangeTag: "1", created: Self.signature,
                modified: Self.signature, fields: fields)
            var writer = JSONWriter()
            try writer.value(record)
            #expect(String(decoding: writer.bytes, as: UTF8.self).contains(#""fields":\#(answered),"#))
        }
    }

    private static let signature = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "_u", deviceID: "d")

    @Test(
        "Plain values and damaged ones decode as the parser of JSON decodes them",
        arguments: [
            #"{"value":"a b","type":"STRING"}"#, #"{"value":"a\"b","type":"STRING"}"#, #"{"value":"","type":"STRING"}"#,
            #"{"value":"x","type":"BYTES"}"#,
            #"{"value":-12,"type":"INT64"}"#, #"{"value":9223372036854775807,"type":"INT64"}"#,
            #"{"value":-9223372036854775808,"type":"TIMESTAMP"}"#,
            #"{"value":0,"type":"TIMESTAMP"}"#, #"{"value":1.5,"type":"DOUBLE"}"#, #"{"value":1,"type":"DOUBLE"}"#,
            #"{"type":"INT64","value":1}"#,
            #"{"value":"s","type":"STRING","isEncrypted":true}"#, #"{"value":012,"type":"INT64"}"#,
            #"{"value":1x,"type":"INT64"}"#, #"{"value":-,"type":"INT64"}"#,
            #"{"value":,"type":"INT64"}"#, #"{"value":1e2,"type":"INT64"}"#, #"{"value":"s","type":"INT64"}"#,
            #"{"value":"1","type":"STRING"#,
            "{\"value\":\"a\nb\",\"type\":\"STRING\"}",
        ])
    func plainValues(text: String) throws {
        let parsed = try? Field(storedName: "f", json: JSONReader.value(of: text))
        #expect((try? FieldsText.field("f", Array("  \(text)".utf8)[2...])) == parsed, "\(text)")
    }

    @Test func decodesOnlyWhatIsAskedFor() throws {
        let values = try FieldsText(Self.fields).values(of: ["int", "none", "absent"])
        #expect(values == ["int": .int64(.max), "none": .list([], of: .string)])
    }

    @Test func keepsDesiredKeys() throws {
        let text = FieldsText([Field(name: "a", value: .int64(1)), Field(name: "b", value: .string("x"))])
        #expect(
            String(decoding: try text.keeping(["b", "z"]).bytes, as: UTF8.self)
                == #"{"b":{"value":"x","type":"STRING"}}"#)
        #expect(try text.keeping([]) == .empty)
        #expect(try text.keeping(["a", "b"]) == text)
    }

    @Test(arguments: [
        #"{"a":"#, #"{"a":V-"b":V}"#, "{}x", #"{"a":V}}"#, #"{"a":V]"#, #"{"a":V"#, #"{"a":V,"a":V}"#,
        #"{"b":V,"a":V,"b":V}"#, #"{"a":V}{"b":V}"#,
    ])
    func saysWhenStoredTextIsDamaged(shape: String) {
        let fields = FieldsText(bytes: Array(shape.replacing("V", with: #"{"value":1,"type":"INT64"}"#).utf8))
        #expect(throws: RecordError.self) { try fields.decoded() }
        #expect(throws: RecordError.self) { try fields.keeping(["a"]) }
    }

    @Test func aFieldThatIsStoredTwiceIsNotTakenForAnother() {
        let fields = FieldsText(
            bytes: Array(#"{"a":V,"a":V,"b":V}"#.replacing("V", with: #"{"value":1,"type":"INT64"}"#).utf8))
        #expect(throws: RecordError.self) { try fields.values(of: ["a", "b"]) }
    }
}
