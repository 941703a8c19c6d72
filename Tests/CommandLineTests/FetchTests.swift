import Crypto
import Foundation
import Records
import TestSupport
import Testing

@Suite(.serialized) struct FetchTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    private static let container = ["--container", "iCloud.com.example.X"]
    private static let zone = ["--zone", "Z"] + container

    private func run(_ arguments: [String], input: String? = nil) async throws -> Command.Result {
        try await Command.run(arguments + ["--data", path("data")], input: input)
    }

    private func fill(_ rows: String = "a,1,one\nb,2,two\n") async throws {
        let file = try folder.write("k,number,word\n" + rows, to: "rows.csv").path(percentEncoded: false)
        let result = try await run(["import", file, "--type", "T", "--name-field", "k"] + Self.zone)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test func recordsComeInTheOrderOfTheNames() async throws {
        try await fill()
        let table = try await run(["fetch", "b", "a"] + Self.zone)
        #expect(table.status == 0 && table.errors.isEmpty, "\(table.errors)")
        let lines = table.output.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].contains(/^Name +Type +k +number +word +Modified$/))
        #expect(lines[1].contains(/^b +T +b +2 +two +20/) && lines[2].contains(/^a +T +a +1 +one +20/))
        let csv = try await run(["fetch", "b", "a", "--csv"] + Self.zone)
        let rows = csv.output.split(separator: "\r\n")
        #expect(rows[0].hasPrefix("recordName,recordType,k,number,word,parent,") && rows[0].hasSuffix("UserRecordName"))
        #expect(rows.count == 3 && rows[1].hasPrefix("b,T,b,2,two,,"))
        let json = try await run(["fetch", "a", "--json", "--fields", "word"] + Self.zone).outputJSON
        #expect(json["recordName"] == "a" && json["recordType"] == "T")
        guard case .object(let fields)? = json["fields"] else {
            Issue.record("No fields: \(json)")
            return
        }
        #expect(fields["word"] != nil && fields["number"] == nil)
        let input = try await run(["fetch"] + Self.zone, input: "b\n\na\n")
        #expect(input.output == table.output)
        let server = try await Server(["--data", path("data")])
        #expect(
            try await Command.run(["fetch", "b", "a", "--csv", "--url", server.address] + Self.zone).output
                == csv.output)
        #expect(await server.end() == 0)
    }

    @Test func missingRecordsAreNamed() async throws {
        try await fill()
        let plain = try await run(["fetch", "a", "none", "b"] + Self.zone)
        #expect(plain.status == 1 && plain.output.split(separator: "\n").count == 3)
        #expect(
            plain.errors.contains(/^none: .+\n/)
                && plain.errors.contains("skylight: 1 of 3 records could not be fetched"), "\(plain.errors)")
        let json = try await run(["fetch", "a", "none", "--json"] + Self.zone)
        let lines = json.output.split(separator: "\n")
        #expect(lines.count == 2 && lines[1].contains("\"recordName\":\"none\""))
        #expect(lines[1].contains("\"serverErrorCode\":\"NOT_FOUND\""))
        #expect(json.status == 1)
        #expect(try json.errorJSON["code"] == "NOT_FOUND" && json.errorJSON["missing"] == 1)
        let csv = try await run(["fetch", "a", "none", "--csv"] + Self.zone)
        let rows = csv.output.split(separator: "\r\n")
        #expect(csv.status == 1 && rows.count == 3)
        #expect(rows[0].hasSuffix(",serverErrorCode") && rows[2].hasSuffix(",NOT_FOUND"))
    }

    @Test func moreNamesThanAPage() async throws {
        let names = (0..<450).map { "r\($0)" }
        try await fill(names.map { "\($0),1,w\n" }.joined())
        let input = names.map { $0 + "\n" }.joined()
        let json = try await run(["fetch", "--json"] + Self.zone, input: input)
        #expect(json.status == 0 && json.output.split(separator: "\n").count == 450, "\(json.errors)")
        #expect(try await run(["fetch"] + Self.zone, input: input).output.split(separator: "\n").count == 451)
        // The columns are chosen before the last record is read: those of all types.
        let csv = try await run(["fetch", "--csv"] + Self.zone, input: input + "none\n")
        let rows = csv.output.split(separator: "\r\n")
        #expect(csv.status == 1 && rows.count == 452 && rows[1].hasPrefix("r0,T,r0,1,"))
        #expect(rows[0].contains(",number,") && rows[0].contains(",word,") && rows[451].hasSuffix(",NOT_FOUND"))
    }

    @Test(arguments: [
        ([], Int32(64), "There are no record names"), (["a", "--csv", "--json"], 64, "remove one of them"),
        (["a", "--database", "shared"], 64, "add --zone-owner"), ([""], 64, "A record name is empty"),
        (["a", "--assets", "/dev/null/files"], 74, "/dev/null/files"),
    ])
    func whatCannotBeFetched(arguments: [String], status: Int32, message: String) async throws {
        try await fill()
        let result = try await run(["fetch"] + arguments + Self.container)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    // MARK: Files

    @Test(arguments: [false, true]) func filesAreContinued(throughServer: Bool) async throws {
        let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ ($0 >> 9)) }
        let server = try await Server(["--data", path("data")])
        try await server.save(bytes, named: "large.bin", in: "a", container: "iCloud.com.example.X")
        if !throughServer { #expect(await server.end() == 0) }
        let name = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
        let files = folder.url.appending(path: "files")
        let fetch = ["fetch", "a", "--assets", path("files")] + Self.container
        // A new file; one whose beginning is there; one whose beginning is damaged; one that is there.
        for start in [nil, Array(bytes.prefix(300_000)), [UInt8](repeating: 1, count: 1000), nil] {
            if let start {
                try FileManager.default.removeItem(at: files.appending(path: name))
                try Data(start).write(to: files.appending(path: "\(name).part"))
            }
            let result = try await run(fetch)
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output.contains("large.bin (683.6 KB)"))
            #expect(result.errors.contains("Assets: 1 file, with 683.6 KB, in \(path("files"))."), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: path("files")) == [name])
            #expect(try Data(contentsOf: files.appending(path: name)) == Data(bytes))
        }
        if throughServer { #expect(await server.end() == 0) }
    }
}
