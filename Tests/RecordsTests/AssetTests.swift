import Records
import Testing

@Suite struct AssetTests {
    private static let zeros = String(repeating: "0", count: 64)

    @Test func checksumsAreSixtyFourDigits() {
        #expect(FileChecksum(Self.zeros)?.bytes == Array(repeating: 0, count: 32))
        let text = "00ff" + Self.zeros.dropFirst(4)
        #expect(FileChecksum(text)?.description == text)
        for wrong in [
            "", "0", String(Self.zeros.dropLast()), Self.zeros + "0", Self.zeros.dropLast() + "G",
            Self.zeros.dropLast() + "A", "é" + Self.zeros.dropFirst(2),
        ] {
            #expect(FileChecksum(wrong) == nil)
        }
    }

    @Test func sizesMayBeTextsOfDigits() throws {
        func asset(_ size: String) throws -> FieldInput {
            try FieldInput(
                JSONReader.value(of: #"{"value":{"fileChecksum":"x","size":\#(size)},"type":"ASSETID"}"#), field: "f")
        }
        let expected = FieldInput.tagged(.asset(Asset(fileChecksum: "x", size: 12)), .asset, isEncrypted: false)
        #expect(try asset("12") == expected)
        #expect(try asset(#""12""#) == expected)
        for wrong in ["-1", "1.5", #""x""#, #""-1""#, #""+1""#, "\"\"", #""9223372036854775808""#, "true", "[]"] {
            #expect { try asset(wrong) } throws: {
                ($0 as? RecordError)?.reason.contains("'size' must be a whole number") == true
            }
        }
        for missing in ["null"] {
            #expect { try asset(missing) } throws: { ($0 as? RecordError)?.reason.contains("are required") == true }
        }
    }

    @Test(arguments: [
        ("a.txt", "a.txt"), ("Été 💬.txt", "Été 💬.txt"), ("../../etc/passwd", ".._.._etc_passwd"),
        ("a\u{202E}gpj.exe", "agpj.exe"),
        ("C:\\x|y?\"<>*", "C__x_y_____"), ("a\r\n\0b\u{2028}", "ab"), ("", "asset"), (".", "asset"), ("..", "asset"),
        ("\u{200B}", "asset"),
        (String(repeating: "é", count: 128), String(repeating: "é", count: 127)),
    ])
    func namesOfFilesAreMadeHarmless(name: String, safe: String) {
        #expect(Name(AssetFileName.safe(name)) == Name(safe))
        #expect(Name(AssetFileName.safe(safe)) == Name(safe))
    }

    @Test func downloadURLsArePutIntoAssetsAlone() throws {
        let fields = [
            Field(
                name: "file",
                value: .asset(Asset(fileChecksum: Self.zeros, size: 12, wrappingKey: "key", fileName: "a \"b\".txt"))),
            Field(
                name: "files",
                value: .list(
                    [.asset(Asset(fileChecksum: "x", size: 1)), .asset(Asset(fileChecksum: "y", size: 2))], of: .asset)),
            Field(name: "text", value: .string(#"{"value":1,"type":"ASSETID"}"#)),
            Field(name: "whole", value: .double(1)),
        ]
        let record = Self.record(FieldsText(fields))
        var plain = JSONWriter()
        try plain.value(record)
        var linked = JSONWriter()
        try linked.value(record) { asset, field in "http://x/\(field)/\(asset.size)" }
        let expected = String(decoding: plain.bytes, as: UTF8.self)
            .replacing(
                #""fileName":"a \"b\".txt"}"#, with: #""fileName":"a \"b\".txt","downloadURL":"http://x/file/12"}"#
            )
            .replacing(#""size":1}"#, with: #""size":1,"downloadURL":"http://x/files/1"}"#)
            .replacing(#""size":2}"#, with: #""size":2,"downloadURL":"http://x/files/2"}"#)
        #expect(String(decoding: linked.bytes, as: UTF8.self) == expected)
        #expect(expected.contains("files/2"))
    }

    @Test func recordsWithoutAssetsAreCopied() throws {
        let text = FieldsText([Field(name: "text", value: .string(#""type":"ASSETID"#))])
        #expect(!text.mayHoldAssets)
        #expect(FieldsText.empty.mayHoldAssets == false)
        #expect(try text.assets().isEmpty)
        var writer = JSONWriter()
        try writer.value(Self.record(text)) { _, _ in "never" }
        #expect(!String(decoding: writer.bytes, as: UTF8.self).contains("never"))
    }

    @Test func assetsAreFoundWithTheirFields() throws {
        let asset = Asset(fileChecksum: Self.zeros, size: 1, fileName: "n")
        let text = FieldsText([
            Field(name: "b", value: .asset(asset)), Field(name: "a", value: .list([.asset(asset)], of: .asset)),
            Field(name: "c", value: .int64(1)),
        ])
        #expect(try text.assets().map(\.field) == ["a", "b"])
        #expect(try text.assets().map(\.asset) == [asset, asset])
    }

    @Test func sizesAreTextWhereNumbersAre() throws {
        var writer = JSONWriter()
        try writer.value(
            Self.record(FieldsText([Field(name: "file", value: .asset(Asset(fileChecksum: "x", size: 7)))])),
            numbersAsStrings: true
        ) { _, _ in "u" }
        #expect(
            String(decoding: writer.bytes, as: UTF8.self).contains(
                #"{"fileChecksum":"x","size":"7","downloadURL":"u"}"#))
    }

    private static func record(_ fields: FieldsText) -> StoredRecord {
        let signature = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_a", deviceID: "")
        return StoredRecord(
            recordID: RecordID(recordName: "r"), recordType: "Item", recordChangeTag: "1", created: signature,
            modified: signature, fields: fields)
    }
}
