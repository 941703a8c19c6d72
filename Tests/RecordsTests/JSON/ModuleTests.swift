import JSON
import Testing

/// Programs that use the library import the module that JSON was in before it became a part of Records.
@Suite struct ModuleTests {
    @Test func aProgramThatImportsJSONFindsIt() throws {
        var writer = JSONWriter()
        writer.value("text")
        #expect(writer.bytes == Array("\"text\"".utf8))
    }
}
