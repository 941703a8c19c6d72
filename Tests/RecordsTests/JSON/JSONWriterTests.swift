import Records
import Testing

@Suite struct JSONWriterTests {
    static let writable: [(JSONValue, String)] = [
        (.null, "null"),
        (.double(1), "1.0"),
        (.double(0.1), "0.1"),
        (.double(1e300), "1e+300"),
        (.double(.infinity), "null"),
        (.integer(.min), "-9223372036854775808"),
        ("a\"\\\n\t\u{1f}é😀", #""a\"\\\n\t\u001fé😀""#),
        ([1, [], ["a": true, "b": [:]]], #"[1,[],{"a":true,"b":{}}]"#),
    ]

    @Test(arguments: writable)
    func writes(value: JSONValue, text: String) {
        #expect(String(decoding: JSONWriter.bytes(of: value), as: UTF8.self) == text)
    }

    @Test func placesCommasAroundCopiedText() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("a", Int64(1))
            writer.name("b")
            writer.text(Array("{\"c\":2}".utf8))
            writer.name("d")
            writer.array { writer in
                writer.text(Array("3".utf8))
                writer.value("x")
            }
        }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"{"a":1,"b":{"c":2},"d":[3,"x"]}"#)
    }
}
