import Foundation
import Testing

/// GRDB's `row["column"]` traps on NULL and on values of the wrong type. Every column must be decoded by a throwing
/// form.
@Suite struct DecodingFormTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
        .standardizedFileURL

    /// A subscript with the name or the number of a column, on a row.
    private static func trapping(in text: String) throws -> [String] {
        let form = try Regex(#"(row|\$0|last|self)\??\[("[A-Za-z]+"|[0-9]+)\]"#)
        return text.split(separator: "\n").filter {
            $0.contains(form) && !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//")
        }.map(String.init)
    }

    @Test("No column is decoded by a form that ends the process", arguments: ["SQLRecordStore", "Accounts"])
    func noForm(target: String) throws {
        let files = try #require(
            FileManager.default.enumerator(at: Self.sources.appending(path: target), includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard text.contains("import GRDB") else { continue }
            count += 1
            #expect(try Self.trapping(in: text) == [], "\(file.lastPathComponent)")
        }
        #expect(count > 0)
    }

    @Test("The forms are found")
    func forms() throws {
        for line in [
            #"let name = row["name"] as String"#, #"rows.map { $0["number"] as Int64 }"#, "sums[row[0]]",
            #"rows.last?["id"]"#,
        ] {
            #expect(try Self.trapping(in: line).count == 1, "\(line)")
        }
        #expect(try Self.trapping(in: #"let name: String = try row.value("name", in: "users")"#) == [])
    }
}
