import RequestLog
import Testing

@Suite struct ArchiveTests {
    private static let token: [UInt8] = Array(0..<52)

    private static func outline(_ bytes: [UInt8]) throws -> PropertyListOutline {
        PropertyListOutline(of: try BinaryPropertyList(bytes))
    }

    @Test func anArchiveIsRecognisedInEveryForm() throws {
        let archive = ArchiveWriter.tokenArchive(Self.token)
        for form in TextForm.allCases {
            let text = form.text(of: archive)
            let bytes: [UInt8]
            switch PastedText(text).reading {
            case .bytes(let pasted):
                bytes = pasted.bytes
                guard case .propertyList(let outline) = pasted.content else {
                    Issue.record("\(form): no property list")
                    continue
                }
                #expect(outline.isKeyedArchive && outline.rootClass == "CKServerChangeToken")
                #expect(
                    outline.tokens.map(\.bytes) == [Self.token] && outline.tokens.map(\.path) == ["root.ChangeToken"])
            case .json(let tokens, _): bytes = tokens.first?.bytes ?? []
            default: bytes = []
            }
            #expect(bytes == archive, "\(form)")
        }
    }

    @Test func theOutlineShowsWhatIsThere() throws {
        let outline = try Self.outline(ArchiveWriter.tokenArchive(Self.token))
        #expect(outline.lines.map(\.name) == ["root", "ChangeToken"])
        #expect(outline.lines.map(\.kind) == ["CKServerChangeToken", "data"])
        #expect(outline.lines.map(\.depth) == [0, 1])
        #expect(outline.lines[1].bytes == Self.token && !outline.isCut)
    }

    @Test func dataOfOtherClassesIsNoToken() throws {
        let outline = try Self.outline(ArchiveWriter.tokenArchive(Self.token, className: "CKRecordID"))
        #expect(outline.tokens.isEmpty && outline.rootClass == "CKRecordID")
    }

    @Test func tokensAreFoundWithinDictionariesAndWithinData() throws {
        let archive = ArchiveWriter.tokenArchive(Self.token)
        let defaults = ArchiveWriter.bytes(
            .dictionary([
                ("serverChangeToken", .data(archive)), ("größe", .integer(7)), ("zones", .array([.data(archive)])),
            ]))
        let outline = try Self.outline(defaults)
        #expect(!outline.isKeyedArchive && outline.rootClass == nil)
        #expect(outline.tokens.map(\.path) == ["serverChangeToken › root.ChangeToken", "zones[0] › root.ChangeToken"])
        #expect(outline.lines.contains { $0.name == "größe" && $0.kind == "integer" && $0.text == "7" })
    }

    @Test func archivedDictionariesAreShownByTheirKeys() throws {
        let archive = ArchiveWriter.bytes(
            .dictionary([
                ("$archiver", .string("NSKeyedArchiver")), ("$top", .dictionary([("tokens", .uid(1))])),
                (
                    "$objects",
                    .array([
                        .string("$null"),
                        .dictionary([
                            ("NS.keys", .array([.uid(2), .uid(3)])), ("NS.objects", .array([.uid(4), .uid(0)])),
                            ("$class", .uid(5)),
                        ]),
                        .string("Notes"), .dictionary([("ZoneName", .uid(2)), ("$class", .uid(7))]),
                        .dictionary([("ChangeToken", .uid(8)), ("$class", .uid(6))]),
                        .dictionary([("$classname", .string("NSDictionary"))]),
                        .dictionary([("$classname", .string("CKServerChangeToken"))]),
                        .dictionary([("$classname", .string("CKRecordZoneID"))]), .data(Self.token),
                    ])
                ),
            ]))
        let outline = try Self.outline(archive)
        #expect(outline.lines.map(\.name) == ["tokens", "Notes", "ChangeToken", "CKRecordZoneID Notes"])
        #expect(outline.lines.last?.kind == "nil")
        #expect(outline.tokens.map(\.path) == ["tokens.Notes.ChangeToken"])
        #expect(outline.rootClass == "NSDictionary")
    }

    @Test func whatRefersToItselfEnds() throws {
        // An array that contains itself.
        let loop: [UInt8] =
            Array("bplist00".utf8) + [0xA2, 0, 0] + [8] + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
            + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 11]
        let outline = try Self.outline(loop)
        #expect(outline.lines.count == 3 && outline.lines.last?.text == "the same object as before")
    }

    @Test func longListsAreCut() throws {
        let outline = try Self.outline(ArchiveWriter.bytes(.array((0..<200).map { _ in .integer(1) })))
        #expect(outline.lines.count == 201 && !outline.isCut)
        var nested = ArchiveWriter.Item.integer(1)
        for _ in 0..<60 { nested = .array([nested]) }
        #expect(try Self.outline(ArchiveWriter.bytes(nested)).isCut)
    }

    @Test(arguments: [
        ("bplist00", "ends before"), ("bplist99" + String(repeating: "x", count: 40), "begin with"),
    ])
    func whatIsNoListSaysSo(text: String, words: String) {
        #expect { _ = try BinaryPropertyList(Array(text.utf8)) } throws: { "\($0)".contains(words) }
    }

    @Test func cutArchivesAreRefused() {
        let archive = ArchiveWriter.tokenArchive(Self.token)
        for length in 0..<archive.count {
            #expect(throws: BinaryPropertyListError.self) { try BinaryPropertyList(Array(archive.prefix(length))) }
        }
    }

    /// Random damage: each archive is read or refused, in bounded time and memory.
    @Test func damagedArchivesDoNoHarm() {
        let archive = ArchiveWriter.tokenArchive(Self.token)
        var random = SmallRandom(state: 7)
        var read = 0
        for round in 0..<6_000 {
            var bytes = archive
            for _ in 0..<(round % 5 + 1) {
                bytes[Int.random(in: 8..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if let list = try? BinaryPropertyList(bytes) {
                read += 1
                let outline = PropertyListOutline(of: list)
                #expect(outline.lines.count <= PropertyListOutline.lineLimit + 1)
            }
        }
        #expect(read > 200)
        for _ in 0..<2_000 {
            _ = try? BinaryPropertyList(Array("bplist00".utf8) + random.bytes(Int.random(in: 0...120, using: &random)))
        }
    }

    /// A key of 30 KB that a dictionary uses 20,000 times. Lines show a part of it, and only displayed lines are made.
    @Test func aLongKeyIsNamedOften() throws {
        let (count, length) = (20_000, 30_000)
        func two(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 255), UInt8(value & 255)] }
        func eight(_ value: Int) -> [UInt8] { (0..<8).reversed().map { UInt8(value >> ($0 * 8) & 255) } }
        var bytes = Array("bplist00".utf8) + [0xDF, 0x11] + two(count)
        bytes += [UInt8](repeating: 1, count: count) + [UInt8](repeating: 2, count: count)
        let key = bytes.count
        bytes += [0x5F, 0x11] + two(length) + [UInt8](repeating: 0x6B, count: length)
        let value = bytes.count
        bytes += [0x10, 7]
        let table = bytes.count
        for offset in [8, key, value] { bytes += [0] + eight(offset).suffix(3) }
        bytes += [0, 0, 0, 0, 0, 0, 4, 1] + eight(3) + eight(0) + eight(table)
        let outline = try Self.outline(bytes)
        #expect(outline.isCut && outline.lines.count == PropertyListOutline.lineLimit)
        #expect(outline.lines.allSatisfy { $0.name.utf8.count < 2000 })
    }

    @Test func overlappingObjectsAreRefused() {
        // 100 objects at the same large array: reading each would take quadratic time.
        var bytes: [UInt8] = Array("bplist00".utf8) + [0xAF, 0x11, 0x01, 0x00] + [UInt8](repeating: 0, count: 256)
        let table = bytes.count
        bytes +=
            [UInt8](repeating: 8, count: 100) + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 100] + [
                0, 0, 0, 0, 0, 0, 0, 0,
            ]
        bytes += [0, 0, 0, 0, 0, 0, UInt8(table >> 8), UInt8(table & 255)]
        #expect { _ = try BinaryPropertyList(bytes) } throws: { "\($0)".contains("overlap") }
    }

    @Test func dumpsHaveSixteenBytesInALine() {
        let dump = HexDump(Array("CloudKit tokens\u{0}A".utf8))
        #expect(dump.lines.map(\.offset) == ["00000000", "00000010"])
        #expect(dump.lines[0].digits == "43 6c 6f 75 64 4b 69 74  20 74 6f 6b 65 6e 73 00")
        #expect(dump.lines[0].characters == "CloudKit tokens." && dump.lines[1].digits == "41")
        #expect(HexDump(Self.token, limit: 32).leftOut == 20)
    }

    @Test func bytesAreCompared() {
        let same = ByteComparison(Self.token, Self.token)
        #expect(same.areEqual && same.common == 52)
        let other = ByteComparison([1, 2, 3, 4], [1, 2, 9])
        #expect(!other.areEqual && other.common == 2 && other.different == 1 && other.left == 4 && other.right == 3)
    }
}
