import Crypto
@testable import DataTransfer
import Foundation
import Testing

/// The demo's files have the format that their names promise, as checked from the viewpoint of other programs.
@Suite struct DemoFileTests {
    private func integer(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private func little(_ bytes: ArraySlice<UInt8>) -> Int { integer(ArraySlice(bytes.reversed())) }

    @Test(arguments: [DemoFile.landscape("a", seed: 4), .portrait("ada"), .pattern("b", seed: 2)])
    func picturesArePNG(file: DemoFile) throws {
        let bytes = file.bytes()
        #expect(Array(bytes.prefix(8)) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var place = 8
        var chunks: [String] = []
        while place < bytes.count {
            let length = integer(bytes[place..<place + 4])
            chunks.append(String(decoding: bytes[place + 4..<place + 8], as: UTF8.self))
            place += length + 12
        }
        #expect(place == bytes.count)
        #expect(chunks == ["IHDR", "IDAT", "IEND"])
        #expect(bytes.count > 300)
    }

    @Test func theMelodyIsASoundOfSomeSeconds() {
        let bytes = DemoFile.melody.bytes()
        #expect(String(decoding: bytes[0..<4] + bytes[8..<16], as: UTF8.self) == "RIFFWAVEfmt ")
        #expect(little(bytes[4..<8]) == bytes.count - 8)
        let (rate, length) = (little(bytes[28..<32]), little(bytes[40..<44]))
        #expect(length == bytes.count - 44)
        #expect((8...20).contains(length / rate))
    }

    @Test func bothPropertyListsHoldTheSame() throws {
        func read(_ file: DemoFile) throws -> (NSDictionary, PropertyListSerialization.PropertyListFormat) {
            var format = PropertyListSerialization.PropertyListFormat.xml
            let list = try PropertyListSerialization.propertyList(from: Data(file.bytes()), format: &format)
            return (try #require(list as? NSDictionary), format)
        }
        let (text, binary) = (try read(.textPreferences), try read(.binaryPreferences))
        #expect(text.0 == binary.0)
        #expect(text.1 == .xml && binary.1 == .binary)
        #expect(binary.0["badge"] as? String == "naïve ☕️")
        #expect((binary.0["columns"] as? [Int]) == [3, 300, 70_000])
    }

    @Test func theLeafletKnowsWhereItsObjectsAre() throws {
        let text = String(decoding: DemoFile.leaflet.bytes(), as: UTF8.self)
        let start = try #require(text.firstMatch(of: /startxref\n(\d+)\n%%EOF/).flatMap { Int($0.output.1) })
        #expect(Array(text.utf8)[start...].starts(with: Array("xref\n".utf8)))
        for match in text.matches(of: /(\d{10}) 00000 n/) {
            let offset = try #require(Int(match.output.1))
            #expect(String(decoding: Array(text.utf8)[offset...].prefix(8), as: UTF8.self).contains(/^\d 0 obj/))
        }
        let length = try #require(text.firstMatch(of: /Length (\d+)/).flatMap { Int($0.output.1) })
        let content = try #require(text.firstMatch(of: /(?s)stream\n(.*?)endstream/)).output.1
        #expect(content.utf8.count == length)
    }

    @Test func largeFilesHaveTheirSizes() {
        let log = DemoFile.syncLog.bytes()
        #expect((7 << 20..<10 << 20).contains(log.count))
        let lines = String(decoding: log.prefix(4000), as: UTF8.self).split(separator: "\n").dropLast()
        for line in lines {
            #expect(
                line.contains(
                    /^2026-10-30T\d\d:\d\d:\d\d\.\d{3}Z [A-Z]+ +sync\[4312\] device=\S+ zone="[^"]+": [^%]+; token EQEAAAAB\d{8}$/
                ), "\(line)")
        }
        #expect(DemoFile.backup.bytes().count == 12 << 20)
    }

    /// A changed file would change everyone's demo data.
    @Test(arguments: [
        DemoFile.backup, .syncLog, .melody, .settings, .drawingWithScript, .binaryPreferences, .prices, .leaflet,
    ])
    func aFileIsTheSameEachTime(file: DemoFile) {
        #expect(SHA256.hash(data: file.bytes()) == SHA256.hash(data: file.bytes()))
        #expect(!file.name.contains("/"))
    }
}

extension DemoFile: CustomTestStringConvertible {
    public var testDescription: String { name }
}
