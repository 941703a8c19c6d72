import Records
import Testing

@Suite struct JSONReaderTests {
    static let readable: [(String, JSONValue)] = [
        ("null", .null),
        (" true ", true),
        ("1", .integer(1)),
        ("1.0", .double(1)),
        ("-0", .integer(0)),
        ("1e2", .double(100)),
        ("9223372036854775807", .integer(.max)),
        ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .double(9223372036854775808)),
        (#""a\u00e9\n\ud83d\ude00\/""#, "aé\n😀/"),
        (#"[1,"x",[],{}]"#, [.integer(1), "x", [], [:]]),
        (#"{"a":{"b":[null]}}"#, ["a": ["b": [nil]]]),
    ]

    @Test(arguments: readable)
    func reads(text: String, value: JSONValue) throws {
        #expect(try JSONReader.value(of: text) == value)
    }

    @Test(arguments: [
        ("", JSONError.Problem.unexpectedEnd),
        ("{", .unexpectedEnd),
        ("[1,]", .unexpectedCharacter),
        ("{\"a\":1,}", .unexpectedCharacter),
        ("{'a':1}", .unexpectedCharacter),
        ("1 2", .trailingText),
        ("01", .invalidNumber),
        ("1.", .unexpectedEnd),
        ("1.x", .invalidNumber),
        ("-", .unexpectedEnd),
        ("1e999", .invalidNumber),
        ("\"\u{01}\"", .invalidString),
        (#""\ud83d""#, .invalidString),
        (#""\udc00""#, .invalidString),
        (#""\x""#, .unexpectedCharacter),
        (#"{"a":1,"a":2}"#, .duplicateName("a")),
        ("nul", .unexpectedEnd),
        ("NaN", .unexpectedCharacter),
    ])
    func refuses(text: String, problem: JSONError.Problem) {
        #expect { try JSONReader.value(of: text) } throws: { ($0 as? JSONError)?.problem == problem }
    }

    @Test func refusesBytesThatAreNotUTF8() {
        #expect(throws: JSONError.self) { try JSONReader.value(of: [0x22, 0xFF, 0x22]) }
    }

    @Test func findsADuplicateAmongManyNames() {
        let members = (0..<40).map { "\"m\($0)\":\($0)" } + ["\"m3\":0"]
        #expect { try JSONReader.value(of: "{\(members.joined(separator: ","))}") } throws: {
            ($0 as? JSONError)?.problem == .duplicateName("m3")
        }
    }

    @Test func refusesDeepNesting() throws {
        let limit = JSONReader.depthLimit
        _ = try JSONReader.value(of: String(repeating: "[", count: limit) + String(repeating: "]", count: limit))
        #expect { try JSONReader.value(of: String(repeating: "[", count: 100_000)) } throws: {
            ($0 as? JSONError)?.problem == .tooDeep(limit: limit)
        }
    }

    @Test func tellsComposedFromDecomposedNames() throws {
        let value = try JSONReader.value(of: "{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(value == ["\u{e9}": .integer(1), "e\u{301}": .integer(2)])
    }

    @Test func slicesMembersWithoutDecodingThem() throws {
        let text = Array(#"{"a":{"value":"x\"}","type":"STRING"},"b": [1,{"c":2}] ,"d":-1.5}"#.utf8)
        let slices = try JSONReader.memberSlices(of: text[...])
        #expect(slices.map(\.name) == ["a", "b", "d"])
        #expect(
            slices.map { String(decoding: $0.value, as: UTF8.self) } == [
                #"{"value":"x\"}","type":"STRING"}"#, #"[1,{"c":2}]"#, "-1.5",
            ])
    }

    @Test func slicesElementsWithoutDecodingThem() throws {
        let text = Array(#" [{"a":"]"}, [1,2] ,"x\"]",-1.5,null]"#.utf8)
        let slices = try JSONReader.elementSlices(of: text[...])
        #expect(
            slices.map { String(decoding: $0, as: UTF8.self) } == [#"{"a":"]"}"#, "[1,2]", #""x\"]""#, "-1.5", "null"])
        #expect(try JSONReader.elementSlices(of: Array("[]".utf8)[...]).isEmpty)
        #expect(throws: JSONError.self) { try JSONReader.elementSlices(of: Array("{}".utf8)[...]) }
    }

    /// Any bytes give a value or an error. A value survives writing and reading.
    @Test func survivesMutatedText() throws {
        let seed = Array(
            #"{"operations":[{"operationType":"create","record":{"fields":{"a":{"value":-1.5e3}},"x":"\u00e9\ud83d\ude00"}}]}"#
                .utf8)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            var text = seed
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: text[index] = UInt8.random(in: 0...255, using: &random)
                case 1: text.remove(at: index)
                default: text.insert(contentsOf: text.prefix(index), at: index)
                }
            }
            if let value = try? JSONReader.value(of: text) {
                #expect(try JSONReader.value(of: JSONWriter.bytes(of: value)) == value)
            }
            _ = try? JSONReader.memberSlices(of: text[...])
            _ = try? JSONReader.elementSlices(of: text[...])
        }
    }
}

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

@Suite struct NameTests {
    @Test func comparesByBytes() {
        let composed: Name = "\u{e9}"
        let decomposed: Name = "e\u{301}"
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
        #expect(("Z" as Name) < "a")
        #expect(("a" as Name) < "aa")
        // Above the surrogates, the UTF-16 order differs from the byte order.
        #expect(("\u{FFFD}" as Name) < "\u{10000}")
    }

    @Test func hasPrefixByBytes() {
        #expect(("e\u{301}t" as Name).hasPrefix("e"))
        #expect(!("\u{e9}t" as Name).hasPrefix("e"))
    }
}
