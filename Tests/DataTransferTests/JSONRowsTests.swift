import Records
import TestSupport
import Testing
@testable import DataTransfer

@Suite struct JSONRowsTests {
    /// The rows as text: the cells of good rows, `!line: reason` for bad ones.
    private func read(_ text: String, as format: FileFormat) throws -> [String] {
        let folder = try TemporaryFolder()
        let file = try ImportFile(folder.write(text, to: "a.json"), format: format)
        var reader = try FileRowReader(file)
        var rows: [String] = []
        while let outcome = try reader.next() {
            switch outcome {
            case .row(let row):
                let cells = row.cells.map { column, cell in
                    if case .json(let json) = cell {
                        "\(column)=\(String(decoding: JSONWriter.bytes(of: json), as: UTF8.self))"
                    } else {
                        "?"
                    }
                }
                rows.append("\(row.line): " + cells.joined(separator: " "))
            case .bad(let line, let reason): rows.append("!\(line): \(reason)")
            }
        }
        return rows
    }

    @Test(arguments: [
        ("[]", []),
        (" [ ] ", []),
        ("[{\"a\":1}]", ["1: a=1"]),
        ("[{\"a\":1},\n{\"a\":2.5}]\n", ["1: a=1", "2: a=2.5"]),
        (
            "[\n  {\n    \"a\": \"],}\\\"{\"\n  },\n  {\"b\": [1, {\"c\": 2}]}\n]",
            ["2: a=\"],}\\\"{\"", "5: b=[1,{\"c\":2}]"]
        ),
        ("[{\"a\":1}, 7, {\"a\":2}]", ["1: a=1", "!1: a number where an object is expected", "1: a=2"]),
    ])
    func arrays(text: String, expected: [String]) throws {
        #expect(try read(text, as: .json) == expected)
    }

    @Test func aBadElementSpoilsNoOther() throws {
        let rows = try read("[{\"a\":1},\n{\"a\":\n tru},\n{\"a\":3}]", as: .json)
        #expect(rows[0] == "1: a=1")
        #expect(rows[1].hasPrefix("!3: bad JSON"))
        #expect(rows[2] == "4: a=3")
    }

    @Test(arguments: [
        ("", "the file is empty"), ("{\"a\":1}\n{\"a\":2}", "use --format ndjson"),
        ("[{\"a\":1}", "ends in the middle"), ("[{\"a\":1},", "not closed"),
        ("[{\"a\":1},]", "expected an object before ]"), ("[,{}]", "expected an object before ,"),
        ("[] x", "text after the end"),
        ("[{\"a\":\"x}]", "ends in the middle"),
    ])
    func arraysThatCannotBeRead(text: String, message: String) throws {
        let error = #expect(throws: ImportError.self) { try read(text, as: .json) }
        #expect(error?.description.contains(message) == true, "\(String(describing: error))")
    }

    @Test func lines() throws {
        let rows = try read("{\"a\":1}\r\n\n  \n{\"a\":\"é\"}\n[1]\n{\"a\":1,\"a\":2}\n{\"a\"", as: .ndjson)
        #expect(rows[0] == "1: a=1")
        #expect(rows[1] == "4: a=\"é\"")
        #expect(rows[2] == "!5: an array where an object is expected")
        #expect(rows[3].hasPrefix("!6: bad JSON: the member 'a' appears twice"))
        #expect(rows[4].hasPrefix("!7: bad JSON"))
        #expect(rows.count == 5)
    }
}
