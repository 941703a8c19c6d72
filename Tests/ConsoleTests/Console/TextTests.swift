import Foundation
import Records
import Testing

@testable import AdminPages
@testable import Console

/// Texts for pages and URLs.
@Suite struct TextTests {
    // MARK: Forms

    @Test(arguments: ["", "a", "a b", "a+b", "a=b&c=d", "100 %", "%zz", "%", "%4", "Ä\u{301}🙂", "line\r\nline", "\0"])
    func formsKeepTheirValues(text: String) {
        let url = FormFields.url("/x", [("name", text), ("second", "2")])
        let fields = FormFields(encoded: url.dropFirst("/x?".count).utf8)
        #expect(fields["name"].map { Name($0) } == Name(text))
        #expect(fields["second"] == "2")
    }

    @Test func oddFormsAreRead() {
        let fields = FormFields(encoded: "a=1&a=2&&b&=3&c=x%2&d=%zz%41+%".utf8)
        #expect(fields.all("a") == ["1", "2"])
        #expect(fields["b"] == "")
        #expect(fields.text("b") == nil)
        #expect(fields["c"] == "x%2")
        #expect(fields["d"] == "%zzA %")
        #expect(FormFields(encoded: "x=%ff%fe".utf8)["x"] == "\u{FFFD}\u{FFFD}")
    }

    @Test(
        arguments: [
            ("", nil), ("1", 1), ("0", 1), ("-1", 1), ("+2", 2), ("20", 20), ("21", 20), ("9223372036854775807", 20),
            ("-9223372036854775808", 1),
            ("9223372036854775808", nil), ("1.0", nil), ("1e2", nil), ("0x10", nil), ("NaN", nil), (" 1", nil),
            ("１", nil),
        ] as [(String, Int?)])
    func aNumberIsBroughtIntoItsRange(text: String, number: Int?) {
        #expect(FormFields([("page", text), ("page", "7")]).number("page", in: 1...20) == number)
        #expect(FormFields().number("page", in: 1...20) == nil)
    }

    // MARK: Places

    private static func place(_ scope: DatabaseScope, zone: Place.Zone) throws -> Place {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        return Place(
            address: DatabaseAddress(container: container, environment: .development, scope: scope), user: "ada & co",
            zone: zone)
    }

    @Test(arguments: ["Chats", "a/b", "_x/y", "with space & more", "ü"])
    func zonesSurviveTheirURL(name: String) throws {
        let owner: Name = "_0123456789abcdef0123456789abcdef"
        for scope in [DatabaseScope.private, .shared] {
            let zoneID = ZoneID(zoneName: Name(name), ownerRecordName: scope == .shared ? owner : nil)
            let place = try Self.place(scope, zone: .one(zoneID))
            let fields = FormFields(encoded: place.link("query").split(separator: "?", maxSplits: 1)[1].utf8)
            #expect(Place.zone(fields["zone"], owner: fields["owner"], in: scope) == .one(zoneID))
            #expect(fields["user"] == "ada & co")
        }
    }

    @Test func zonesOfOthersAreFoundByOwnerToo() {
        #expect(Place.zone("List", owner: "_me", in: .shared) == .one(ZoneID(zoneName: "List", ownerRecordName: "_me")))
        #expect(Place.zone(nil, owner: nil, in: .private) == .unspecified)
        #expect(Place.zone("", owner: nil, in: .private) == .all)
    }

    // MARK: Moments

    @Test(
        arguments: [
            0, 1, -1, 1_700_000_000_123, -62_135_596_800_000, 253_402_300_799_999, 951_782_400_000, 4_107_542_400_000,
        ] as [Int64])
    func momentsReadBackAsWritten(milliseconds: Int64) {
        let timestamp = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(utcText: timestamp.utcText) == timestamp)
        #expect(Timestamp(utcText: timestamp.isoText) == timestamp)
    }

    @Test func momentsAgreeWithFoundation() {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let milliseconds = Int64.random(in: -12_219_292_800_000...253_402_300_799_999, using: &generator)
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            let expected = formatter.string(from: date)
            let text = Timestamp(milliseconds: milliseconds).isoText
            // Foundation rounds milliseconds of distant years, so only the seconds are compared.
            #expect(text.prefix(19) == expected.prefix(19))
        }
    }

    @Test func extremeMomentsDoNotTrap() {
        #expect(Timestamp(milliseconds: .max).isoText.hasPrefix("+"))
        #expect(Timestamp(milliseconds: .min).isoText.hasPrefix("-"))
        #expect(Timestamp(milliseconds: .min).agoText(at: Timestamp(milliseconds: .max)) == "long ago")
    }

    @Test(arguments: [
        ("2026-11-01", 1_793_491_200_000 as Int64?), ("2026-11-01 00:00", 1_793_491_200_000),
        ("2026-11-01T01:00:00+01:00", 1_793_491_200_000),
        ("2026-11-01 00:00:00.5", 1_793_491_200_500), ("1793491200000", 1_793_491_200_000), ("2026-02-30", nil),
        ("yesterday", nil), ("", nil),
        ("2026-13-01", nil), ("2026-11-01 24:00", nil), ("2026", nil),
    ])
    func momentsAreReadAsPeopleWriteThem(text: String, milliseconds: Int64?) {
        #expect(Timestamp(utcText: text)?.milliseconds == milliseconds)
    }

    // MARK: Numbers

    @Test func numbersAreGrouped() {
        #expect(
            [0, 7, 999, 1000, 48_210, -1234, Int.min].map { Digits.grouped($0) } == [
                "0", "7", "999", "1,000", "48,210", "-1,234", "-9,223,372,036,854,775,808",
            ])
        // Sizes and limits are in one unit, so that they can be compared.
        let sizes: [Int64] = [
            0, 1, 999, 1000, 8_800_000, 412_000, 999_999, 1500, 50 << 20, 52 << 20, 2 << 30, 128 << 40,
        ]
        #expect(
            sizes.map { Digits.bytes($0) } == [
                "0 bytes", "1 byte", "999 bytes", "1,000 bytes", "8.4 MB", "402 KB", "977 KB", "1.5 KB", "50 MB",
                "52 MB", "2 GB", "128 TB",
            ])
        #expect(
            Digits.bytes((50 << 20) - 1) == "50.0 MB" && Digits.bytes(1023) == "1,023 bytes"
                && Digits.bytes(.max) == "8192 PB")
        #expect(Digits.fixed(-0.04, 1) == "0.0")
        #expect(Digits.fixed(12.345, 2) == "12.35" || Digits.fixed(12.345, 2) == "12.34")
        #expect(Digits.fixed(.infinity, 2) == "inf")
        // Scaled, they would be beyond 64 bits.
        #expect(
            [9e12, -9.9e14, 1e308, .nan].map { Digits.fixed($0, 6) } == [
                "9000000000000.000000", "-990000000000000.0", "1e+308", "nan",
            ])
    }

    // MARK: Ways back

    @Test(arguments: [
        ("/c/iCloud.x/development/private/query?type=A", true), ("//example.com/c/", false),
        ("https://example.com", false), ("/c/\\example.com", false),
        ("/c/x\r\nSet-Cookie: a=b", false), ("", false), ("/other", false),
    ])
    func aWayBackStaysInTheConsole(url: String, isLocal: Bool) {
        #expect((Place.local(url) != nil) == isLocal)
    }

    // MARK: JSON

    @Test func jsonIsLaidOut() throws {
        let value = try JSONReader.value(
            of: #"{"a":1,"b":{"value":"x","type":"STRING"},"empty":{},"list":[],"n":9007199254740993}"#)
        #expect(
            RecordJSON.laidOut(value) == """
                {
                  "a": 1,
                  "b": { "value": "x", "type": "STRING" },
                  "empty": {},
                  "list": [],
                  "n": 9007199254740993
                }
                """)
        let long = try JSONReader.value(of: #"{"list":["\#(String(repeating: "x", count: 80))",1.0]}"#)
        #expect(try JSONReader.value(of: RecordJSON.laidOut(long)) == long)
    }
}
