import Foundation
import Records
import TestSupport
import Testing
@testable import DataTransfer

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
        // A valid character says that the file is UTF-8.
        let rows = try read([0x61, 0xFF, 0x0A, 0x62, 0x0A, 0xC3, 0xA9, 0x0A])
        #expect(rows.problems[0]?.contains("UTF-8") == true)
        #expect(rows.cells[1] == ["b"])
    }

    @Test func anUnclosedQuoteNamesTheLineWhereItOpens() throws {
        let error = #expect(throws: ImportError.self) { try read(Array("a\nb\n\"c\nd\ne\n".utf8)) }
        #expect(error?.description.contains("a.csv:3: the quote that opens here") == true)
    }

    @Test(arguments: ["\"", "", "\"\"", ","]) func aRowHasALimit(beginning: String) throws {
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: CSVReader.rowLimit + 10)
        let error = #expect(throws: ImportError.self) { try read(Array("a\n\(beginning)".utf8) + long) }
        #expect(error?.description.contains("4 MB") == true)
    }

    @Test func rowsAreReadAcrossChunks() throws {
        let text = (0..<60_000).map { "number \($0),\"cell \($0)\"" }.joined(separator: "\r\n")
        let rows = try read(Array(text.utf8))
        #expect(rows.cells == (0..<60_000).map { ["number \($0)", "cell \($0)"] })
        #expect(rows.lines == Array(1...60_000))
    }

    /// The columns and rows of a file, and what was guessed about it.
    private func table(_ bytes: [UInt8], _ name: String = "a.csv") throws -> (rows: [[String]], guess: String?) {
        let folder = try TemporaryFolder()
        let file = try ImportFile(folder.write(bytes, to: name), format: nil)
        var reader = try FileRowReader(file)
        var rows = [reader.header.map(\.string)]
        while let outcome = try reader.next() {
            if case .row(let row) = outcome {
                rows.append(row.cells.map { cell in if case .text(let text) = cell.cell { text } else { "?" } })
            }
        }
        return (rows, file.guess)
    }

    private static func utf16(_ text: String, mark: Bool = true, swapped: Bool = false) -> [UInt8] {
        (Array((mark ? "\u{FEFF}" : "").utf16) + Array(text.utf16)).flatMap { unit in
            let bytes = [UInt8(unit & 0xFF), UInt8(unit >> 8)]
            return swapped ? bytes.reversed() : bytes
        }
    }

    @Test(
        arguments: [
            (Array("a;b\n1,5;2\n".utf8), "a.csv", [["a", "b"], ["1,5", "2"]], "with ';' between the cells"),
            (Array("a;b\n".utf8), "a.csv", [["a", "b"]], "with ';' between the cells"),
            (Array("a\tb\n1\t2\n".utf8), "a.csv", [["a", "b"], ["1", "2"]], "with tabs between the cells"),
            (Array("a|b\n1|2\n".utf8), "a.csv", [["a", "b"], ["1", "2"]], "with '|' between the cells"),
            (Array("a,b\n1,2\n".utf8), "a.tsv", [["a", "b"], ["1", "2"]], "with ',' between the cells"),
            // The usual separator at a tie, and where only one row has another one.
            (Array("a;b,c\n1;2,3\n".utf8), "a.csv", [["a;b", "c"], ["1;2", "3"]], nil),
            (Array("a,b\n1,2;3;4\n".utf8), "a.csv", [["a", "b"], ["1", "2;3;4"]], nil),
            (Array("\"a;b;c\",d\n1,2\n".utf8), "a.csv", [["a;b;c", "d"], ["1", "2"]], nil),
            (Array("\u{FEFF}a,b\n1,2\n".utf8), "a.csv", [["a", "b"], ["1", "2"]], nil),
            ([0x6E, 0x2C, 0x62, 0x0A, 0xC3, 0xA9, 0x2C, 0x32, 0x0A], "a.csv", [["n", "b"], ["é", "2"]], nil),
            // é and € in Windows-1252.
            (
                [0x6E, 0x2C, 0x62, 0x0A, 0xE9, 0x2C, 0x80, 0x0A], "a.csv", [["n", "b"], ["é", "€"]],
                "as Windows-1252 (Latin-1)"
            ),
            (utf16("n,b\né,👩‍💻\n"), "a.csv", [["n", "b"], ["é", "👩‍💻"]], "as UTF-16, little-endian"),
            (
                utf16("n;b\né;👩‍💻\n", swapped: true), "a.csv", [["n", "b"], ["é", "👩‍💻"]],
                "as UTF-16, big-endian, with ';' between the cells"
            ),
            (utf16("n,b\n1,2\n", mark: false), "a.csv", [["n", "b"], ["1", "2"]], "as UTF-16, little-endian"),
            (utf16("[{\"n\":\"é\"}]"), "a.json", [[], ["?"]], "as UTF-16, little-endian"),
        ] as [([UInt8], String, [[String]], String?)])
    func dialects(bytes: [UInt8], name: String, rows: [[String]], guess: String?) throws {
        let table = try table(bytes, name)
        #expect(table.rows == rows)
        #expect(
            table.guess == nil ? guess == nil : table.guess?.hasSuffix(" is read \(guess ?? "")") == true,
            "\(table.guess ?? "")")
    }

    /// A character of two units and one of two chunks.
    @Test func utf16IsReadAcrossChunks() throws {
        let text = "n\n" + String(repeating: "👩‍💻é\n", count: 60_000)
        let rows = try table(Self.utf16(text)).rows
        #expect(rows.count == 60_001 && rows.dropFirst().allSatisfy { $0 == ["👩‍💻é"] })
    }

    @Test(
        arguments: [
            ([0xFF, 0xFE, 0x61, 0x00, 0x3D, 0xD8], "not valid UTF-16"),
            (Array("PK\u{3}\u{4}xl".utf8), "Excel workbook"),
        ] as [([UInt8], String)])
    func filesThatAreNoText(bytes: [UInt8], message: String) throws {
        let error = #expect(throws: ImportError.self) { try table(bytes) }
        #expect(error?.description.contains(message) == true, "\(error.map { "\($0)" } ?? "")")
    }

    @Test(arguments: [
        ("", "the file is empty"), ("a,,b\n", "column 2 has no name"), ("a,b,a\n", "names the column 'a' twice"),
        ("a\u{0}b,c\n", "has NUL bytes"),
    ])
    func headersThatCannotWork(text: String, message: String) throws {
        let folder = try TemporaryFolder()
        let file = try ImportFile(folder.write(text, to: "a.csv"), format: nil)
        let error = #expect(throws: ImportError.self) { try FileRowReader(file) }
        #expect(error?.description.contains(message) == true)
    }
}
