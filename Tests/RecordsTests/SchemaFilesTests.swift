import Foundation
import Records
import Testing

/// Files that were made for CloudKit. They are not part of the project; without them the tests do nothing.
@Suite struct SchemaFilesTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../shared/schemas")
        .standardizedFileURL

    static let files: [URL] = {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        if files.isEmpty { print("No schema files at \(folder.path(percentEncoded: false)): they are not tried") }
        return files.filter { $0.pathExtension == "ckdb" }.sorted { $0.path < $1.path }
    }()

    @Test(arguments: files) func filesComeBackToTheByte(file: URL) throws {
        let read = SchemaText(utf8: Array(try Data(contentsOf: file)))
        #expect(read.errors == [] && read.notes == [])
        let schema = try read.schema()
        #expect(!schema.types.isEmpty)
        let text = schema.text
        let again = try Schema(text: text)
        #expect(again.text == text)
        for (name, type) in schema.types { #expect(again.types[name] == type) }
        #expect(again.roles == schema.roles)
    }

    /// Apple's tools exported one of them.
    @Test(.enabled(if: files.contains { $0.lastPathComponent == "tides.ckdb" })) func printingIsAsApplePrints() throws {
        let file = Self.folder.appending(path: "tides.ckdb")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(try Schema(text: text).text == text)
    }

    @Test(.enabled(if: files.contains { $0.lastPathComponent == "department.ckdb" })) func aFileSaysWhatItSays() throws
    {
        let schema = try Schema(
            text: String(decoding: try Data(contentsOf: Self.folder.appending(path: "department.ckdb")), as: UTF8.self))
        #expect(schema.roles == ["DeptManager"])
        #expect(schema.types.keys.sorted() == ["Department", "Employee"])
        let department = try #require(schema.types["Department"])
        #expect(department.fields["employees"] == FieldDefinition(type: .list(.reference)))
        #expect(department.systemIndexes == [.createTime: [.queryable, .sortable], .recordID: .queryable])
        #expect(
            department.grants.map(\.schemaText) == [
                "GRANT READ, CREATE, WRITE TO DeptManager", "GRANT WRITE TO \"_creator\"",
                "GRANT CREATE TO \"_icloud\"", "GRANT READ TO \"_world\"",
            ])
    }

    /// An error at any place in a file is reported, or the file is still a valid schema.
    @Test(arguments: files) func aWrongLineIsFound(file: URL) throws {
        let lines = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.contains("STRING") {
            var spoilt = lines
            spoilt[index] = Substring(line.replacing("STRING", with: "STRNG", maxReplacements: 1))
            let error = try #require(SchemaText(spoilt.joined(separator: "\n")).errors.first)
            #expect(error.line == index + 1)
            #expect(error.sourceLine == spoilt[index])
            #expect(error.sourceLine.dropFirst(error.column - 1).hasPrefix("STRNG"))
        }
    }
}
