@testable import DataTransfer
import Foundation
import TestSupport
import Testing

@Suite struct CSVReaderTests {
    private struct Rows: Equatable {
        var cells: [[String]]
        var lines: [Int]
        var problems: [String?]
    }

    private func read(_ bytes: [UInt8], delimiter: UInt8 = UInt8(ascii: ",")) throws -> Rows {
        let folder = try TemporaryFolder()
        let file = try ImportFile(folder.write(bytes, to: "a.csv"), format: nil)
        var reader = CSVReader(try file.open(), path: "a.csv", delimiter: delimiter)
        var rows = Rows(cells: [], lines: [], problems: [])
        while let row = try reader.next() {
            rows.cells.append(row.cells)
            rows.lines.append(row.line)
            rows.problems.append(row.problem)
        }
        return rows
    }

    @Test(arguments: [
        ("", []),
        ("a", [["a"]]),
        ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
        ("a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]),
        ("a,b\r1,2\r", [["a", "b"], ["1", "2"]]),
        ("a,b\n1,2", [["a", "b"], ["1", "2"]]),
        ("\u{FEFF}a,b\n", [["a", "b"]]),
        ("\n\na\n\n\nb\n\n", [["a"], ["b"]]),
        (",\n,,\n", [["", ""], ["", "", ""]]),
        ("\"a,b\",c\n", [["a,b", "c"]]),
        ("\"say \"\"hi\"\"\"\n", [["say \"hi\""]]),
        ("\"two\nlines\",\"two\r\nlines\"\n", [["two\nlines", "two\r\nlines"]]),
        ("\"\",\"\"\n", [["", ""]]),
        ("\"\"\n", [[""]]),
        ("a\"b,c\n", [["a\"b", "c"]]),
        (" a , b \n", [[" a ", " b "]]),
        ("é,日本,👩‍💻\n", [["é", "日本", "👩‍💻"]]),
    ])
    func cells(text: String, expected: [[String]]) throws {
        let rows = try read(Array(text.utf8))
        #expect(rows.cells == expected)
        #expect(rows.problems.allSatisfy { $0 == nil })
    }

    @Test func linesCountThoseInsideQuotes() throws {
        let rows = try read(Array("a\n\"x\ny\r\nz\"\n\nb\r\nc\rd".utf8))
        #expect(rows.lines == [1, 2, 6, 7, 8])
    }

    @Test func textAfterAClosingQuoteIsAProblemOfItsRowAlone() throws {
        let rows = try read(Array("\"a\"b,c\n\"\"x\nd,e\n".utf8))
        #expect(rows.problems.map { $0 != nil } == [true, true, false])
        #expect(rows.cells.last == ["d", "e"])
    }

    @Test func bytesThatAreNotUTF8AreAProblemOfTheirRowAlone() throws {
        let rows = try read([0x61, 0xFF, 0x0A, 0x62, 0x0A])
        #expect(rows.problems[0]?.contains("UTF-8") == true)
        #expect(rows.cells[1] == ["b"])
    }

    @Test func anUnclosedQuoteNamesTheLineWhereItOpens() throws {
        let error = #expect(throws: ImportError.self) { try read(Array("a\nb\n\"c\nd\ne\n".utf8)) }
        #expect(error?.description.contains("a.csv:3: the quote that opens here") == true)
    }

    @Test func aRowHasALimit() throws {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: CSVReader.rowLimit + 10)
        let error = #expect(throws: ImportError.self) { try read(Array("a\n\"".utf8) + long) }
        #expect(error?.description.contains("4 MB") == true)
    }

    @Test func rowsAreReadAcrossChunks() throws {
        let text = (0..<60_000).map { "\($0),\"cell \($0)\"" }.joined(separator: "\r\n")
        let rows = try read(Array(text.utf8))
        #expect(rows.cells.count == 60_000)
        #expect(rows.cells[59_999] == ["59999", "cell 59999"])
        #expect(rows.lines[59_999] == 60_000)
    }

    @Test func utf16IsNamedAsSuch() throws {
        let error = #expect(throws: ImportError.self) { try read([0xFF, 0xFE, 0x61, 0x00]) }
        #expect(error?.description.contains("UTF-16") == true)
    }

    @Test(arguments: [
        ("", "the file is empty"), ("a,,b\n", "column 2 has no name"), ("a,b,a\n", "names the column 'a' twice"), ("a;b\n1;2\n", "separated by ';'"),
        ("a\tb\n", "separated by tabs"),
    ])
    func headersThatCannotWork(text: String, message: String) throws {
        let folder = try TemporaryFolder()
        let file = try ImportFile(folder.write(text, to: "a.csv"), format: nil)
        let error = #expect(throws: ImportError.self) { try FileRowReader(file) }
        #expect(error?.description.contains(message) == true)
    }
}
