import HTTPServing
import NIOCore
import Records
import Testing

@testable import WebServices

/// The file in a form, with any division into pieces.
@Suite("Files in forms")
struct MultipartFileTests {
    private static let boundary = "----Skylight7MA4YWxk"

    /// The file in a body that arrives in pieces of a size.
    private static func file(_ body: [UInt8], size: Int) async throws -> [UInt8] {
        let pieces = AsyncStream { continuation in
            var rest = body[...]
            while !rest.isEmpty {
                continuation.yield(ByteBuffer(bytes: rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            continuation.finish()
        }
        let found = try #require(try MultipartBoundary(contentType: "multipart/form-data; boundary=\(boundary)"))
        return try await MultipartFile(base: pieces, boundary: found).reduce(into: []) { $0 += $1.readableBytesView }
    }

    private static func part(_ headers: String, _ content: [UInt8]) -> [UInt8] {
        Array("--\(boundary)\r\n\(headers)\r\n\r\n".utf8) + content + Array("\r\n".utf8)
    }

    private static func end() -> [UInt8] { Array("--\(boundary)--".utf8) }

    private static let fileHeaders =
        #"Content-Disposition: form-data; name="files"; filename="a.bin""#
        + "\r\nContent-Type: application/octet-stream"

    @Test(
        "The file is the part with a file name, or that is called files",
        arguments: [
            #"Content-Disposition: form-data; name="files""#, #"Content-Disposition: form-data; name=files"#,
            #"content-disposition:form-data; name="photo"; filename="a \"b\"; c.jpg""#,
            #"Content-Disposition: form-data; name=x; filename*=UTF-8''%C3%A4.txt"#,
            "Content-Disposition: form-data;\r\n  name=\"files\"",
            "Content-Type: text/plain\r\nContent-Disposition: form-data; filename=\"\"",
            #"Content-Disposition: form-data; name="files""# + "\r\nContent-Transfer-Encoding: Binary",
        ])
    func fileParts(headers: String) async throws {
        let field = Self.part(#"Content-Disposition: form-data; name="a""#, [4])
        #expect(try await Self.file(field + Self.part(headers, [1, 2, 3]) + field + Self.end(), size: 5) == [1, 2, 3])
    }

    private struct Refused: Sendable, CustomTestStringConvertible {
        let words: String
        let body: [UInt8]
        var testDescription: String { words }
    }

    private static let refusedForms: [Refused] = [
        Refused(words: "has no file", body: end()),
        Refused(words: "has no file", body: part(#"Content-Disposition: form-data; name="a""#, [1]) + end()),
        Refused(words: "has no file", body: Array("--\(boundary)\r\n\r\nno headers\r\n".utf8) + end()),
        Refused(words: "more than one file", body: part(fileHeaders, [1]) + part(fileHeaders, [2]) + end()),
        Refused(words: "has no end", body: part(fileHeaders, [1, 2, 3])),
        Refused(words: "has no end", body: []),
        Refused(
            words: "more than 65536 bytes besides the file",
            body: part("X: y", Array(repeating: 0, count: 70_000)) + part(fileHeaders, [1]) + end()),
        Refused(
            words: "more than 65536 bytes besides the file",
            body: part(fileHeaders, [1]) + end() + Array(repeating: 0, count: 70_000)),
        Refused(
            words: "transfer encoding 'base64'",
            body: part(fileHeaders + "\r\nContent-Transfer-Encoding: base64", [1]) + end()),
    ]

    @Test("A form that is not whole, or has not one file, is refused with a word", arguments: refusedForms)
    private func refuses(_ refused: Refused) async throws {
        for size in [1, 17, Int.max] {
            await #expect {
                _ = try await Self.file(refused.body, size: size)
            } throws: { error in
                guard let error = error as? RecordError else { return false }
                return error.code == .badRequest && error.reason.contains(refused.words)
            }
        }
    }
}
