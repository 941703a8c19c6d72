import Crypto
@testable import DataTransfer
import Foundation
import Records
import Testing

/// The demo's files have the format that their names promise, as checked from the viewpoint of other programs.
@Suite struct DemoFileTests {
    private func little(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }

    /// A file that is missing in the list in C would be empty.
    @Test func theProgramHasAllFilesOfTheFolder() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/CEmbeddedFiles/Demo")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(names) == Set(StoredDemoFiles.bytes.keys))
        for name in names {
            #expect(
                try [UInt8](Data(contentsOf: folder.appending(path: name))) == StoredDemoFiles.bytes[name], "\(name)")
        }
    }

    @Test func noFileOfARecordIsEmpty() {
        let people = DemoData.People(developer: "_a", ada: "_b", grace: "_c")
        let stories = [
            ChatDemo(people: people).story, ShoppingDemo(people: people).story, JournalDemo(people: people).story,
        ]
        var files = 0
        for event in stories.flatMap(\.events) {
            guard case .save(_, let attachments, _, _, _) = event.action else { continue }
            for file in attachments.flatMap(\.files) {
                #expect(!file.bytes().isEmpty, "\(file.name)")
                files += 1
            }
        }
        #expect(files > 30)
    }

    @Test func theMelodyIsASoundOfSomeSeconds() {
        let bytes = DemoFile.melody.bytes()
        #expect(String(decoding: bytes[0..<4] + bytes[8..<16], as: UTF8.self) == "RIFFWAVEfmt ")
        #expect(little(bytes[4..<8]) == bytes.count - 8)
        let (rate, length) = (little(bytes[28..<32]), little(bytes[40..<44]))
        #expect(length == bytes.count - 44)
        #expect((8...20).contains(length / rate))
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
    @Test(arguments: [DemoFile.backup, .syncLog, .melody])
    func aFileIsTheSameEachTime(file: DemoFile) {
        #expect(SHA256.hash(data: file.bytes()) == SHA256.hash(data: file.bytes()))
        #expect(!file.name.contains("/"))
    }
}

extension DemoFile: CustomTestStringConvertible {
    public var testDescription: String { name }
}
