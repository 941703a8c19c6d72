import Records
import RequestLog
import Testing

@Suite struct PastedTextTests {
    private static func bytes(_ text: String) -> PastedBytes? {
        if case .bytes(let bytes) = PastedText(text).reading { bytes } else { nil }
    }

    private static func problem(_ text: String) -> String? {
        if case .unreadable(let error) = PastedText(text).reading { error.description } else { nil }
    }

    @Test func everyFormReadsBackAsTheBytesItWasWrittenFrom() {
        var random = SmallRandom(state: 6)
        // Two or three bytes are ambiguous.
        for length in Array(8...40) + [278] {
            let bytes = random.bytes(length)
            for form in TextForm.allCases where form != .json {
                let text = form.text(of: bytes)
                let read = Self.bytes(text)
                #expect(read?.bytes == bytes, "\(form) of \(length) bytes: \(text)")
                #expect(read?.gap == nil)
                // Some formats look the same: base64 without its special digits, and URL-encoded text with nothing to
                // encode.
                if form == .dataDump || form == .lengthDump || form == .hex { #expect(read?.forms == [form]) }
            }
            guard case .json(let tokens, 0) = PastedText(TextForm.json.text(of: bytes)).reading else {
                Issue.record("JSON of \(length) bytes")
                continue
            }
            #expect(tokens.map(\.bytes) == [bytes] && tokens.map(\.path) == ["syncToken"])
        }
    }

    @Test(arguments: [
        ("EQEAAA", [TextForm.base64URL]), ("EQEAAAA=", [.base64]), ("-_-_", [.base64URL]), ("+/+/", [.base64]),
        ("deadBEEF", [.hex]), ("0xdead", [.hex]),
        ("%2B%2F%2B%2F", [.percentEncoded, .base64]),
        ("%252B%252F%252B%252F", [.percentEncoded, .percentEncoded, .base64]),
        ("\"+/+/\",\n", [.base64]), ("  'EQEA AAA=' ", [.base64]), ("<62706c69\n 7374>", [.dataDump]),
        ("{ length=2,bytes=0xFFFF }", [.lengthDump]),
        ("<CKServerChangeToken: 0x600000; data=AQAAAAAAAA8=>", [.base64]),
        ("<CKServerChangeToken: 0x6; data=<0102 03>>", [.dataDump]),
    ])
    func formsAreRecognised(text: String, forms: [TextForm]) {
        #expect(Self.bytes(text)?.forms == forms)
    }

    @Test func theLimitsOfADumpAreExplained() throws {
        let cut = try #require(
            Self.bytes("{length = 42, bytes = 0x62706c69 73743030 d4010203 04050607 ... 00000000 00000146 }"))
        #expect(cut.bytes.count == 24 && cut.gap?.offset == 16 && cut.gap?.count == 18)
        let old = try #require(Self.bytes("<62706c69 … 0146>"))
        #expect(old.bytes.count == 6 && old.gap?.offset == 4 && old.gap?.count == nil)
        let short = try #require(Self.bytes("{length = 8, bytes = 0x0102}"))
        #expect(short.gap?.offset == 2 && short.gap?.count == 6)
        guard case .brokenPropertyList(let error) = cut.content else { throw Missing() }
        #expect(error.description.contains("leaves out"))
    }

    private struct Missing: Error {}

    @Test(arguments: [
        ("A", "one is missing, or there is one too many"), ("AB!D", "‘!’ at character 3"),
        ("ABéD", "‘é’ at character 3"), ("+-+-", "mixes the two alphabets"),
        ("42 bytes", "base64EncodedString()"), ("Optional(42 bytes)", "base64EncodedString()"),
        ("<12 3>", "two digits for each byte"),
        ("{length = 1, bytes = 0x0102}", "states 1 bytes"), ("<01 ... 02 ... 03>", "cut in at most one place"),
        ("AAA=AAA=", "one value only"),
        ("hello world garbage", "no token of any kind"), ("Hello world garbages", "no token of any kind"),
        ("0xzz", "‘z’ at character 1"), (String(repeating: "A", count: PastedText.limit + 1), "longer than"),
    ])
    func whatCanNotBeReadSaysWhy(text: String, words: String) {
        #expect(Self.problem(text)?.contains(words) == true, "\(Self.problem(text) ?? "it was read")")
    }

    @Test func whiteSpaceIsNothing() {
        for text in ["", " \n\t"] { #expect(PastedText(text).reading == .empty) }
    }

    @Test func tokensOfAnAnswerComeWithTheirPathsAndZones() {
        let answer = """
            {"zones":[{"zoneID":{"zoneName":"Notes","ownerRecordName":"_ada"},"records":[{"recordName":"syncToken"}],"syncToken":"AQID","moreComing":false},
            {"syncToken":"BAUG","zoneID":{"zoneName":"Família"}},{"zoneID":{"zoneName":"Lost"},"serverErrorCode":"ZONE_NOT_FOUND"}],"syncToken":"BwgJ"}
            """
        guard case .json(let tokens, 0) = PastedText(answer).reading else {
            Issue.record("no JSON")
            return
        }
        #expect(tokens.map(\.path) == ["zones[0].syncToken", "zones[1].syncToken", "syncToken"])
        #expect(tokens.map(\.zoneName) == ["Notes", "Família", nil])
        #expect(tokens.map(\.bytes) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    }

    @Test(arguments: [
        ("\"syncToken\":\"AQID\",\"moreComing\":true}]}", "syncToken"),
        ("\"zoneID\":{\"zoneName\":\"N\"},\"metaSyncToken\" : \"AQID", "metaSyncToken"),
        ("{\n    zones = (\n        {\n syncToken = \"AQID\";\n }\n );\n}", "zones.syncToken"),
        ("{\"a\":{\"b\":[[],[{\"syncToken\":\"\\u0041QID\"}]]}}", "a.b[1][0].syncToken"),
    ])
    func tokensOfFragmentsAreFound(text: String, path: String) {
        guard case .json(let tokens, 0) = PastedText(text).reading else {
            Issue.record("no JSON")
            return
        }
        #expect(tokens.map(\.bytes) == [[1, 2, 3]])
        #expect(tokens.map(\.path) == [path])
    }

    @Test func aContinuationMarkerIsDistinguishedFromAToken() {
        guard case .json(let tokens, 0) = PastedText("{\"records\":[],\"continuationMarker\":\"AQID\"}").reading else {
            Issue.record("no JSON")
            return
        }
        #expect(tokens.map(\.kind) == [.continuationMarker])
        #expect(PastedText("{\"records\":[]}").reading == .json([], leftOut: 0))
    }

    @Test func manyTokensAreCountedAndDeepOnesDoNoHarm() {
        let many = "[" + String(repeating: "{\"syncToken\":\"AQID\"},", count: PastedText.tokenLimit + 7) + "]"
        guard case .json(let tokens, let leftOut) = PastedText(many).reading else {
            Issue.record("no JSON")
            return
        }
        #expect(tokens.count == PastedText.tokenLimit && leftOut == 7)
        let deep = String(repeating: "{\"a\":[", count: 50_000) + "{\"syncToken\":\"AQID\"}"
        guard case .json(let found, 0) = PastedText(deep).reading else {
            Issue.record("no JSON")
            return
        }
        #expect(found.count == 1)
    }

    /// Any pasted text gets an answer, and none crashes.
    @Test func anythingCanBePasted() {
        var random = SmallRandom(state: 60)
        let pieces = [
            "{", "}", "[", "]", "<", ">", "\"", "\\", "%", "%2", "%41", "syncToken", ":", "=", ",", " ", "\n", "…",
            "...", "length = 3", "bytes = 0x", "AQID", "62706c697374", "é", "\u{0}",
            "bplist00", "0x", "42 bytes", "zoneID", "zoneName", ";", "data=",
        ]
        for _ in 0..<4_000 {
            let text = (0..<Int.random(in: 1...14, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
            if case .bytes(let bytes) = PastedText(text).reading { _ = bytes.content }
            _ = ErrorText(text)
        }
    }
}
