import NIOCore
import Records
import TestSupport
import Testing

@testable import WebServices

/// Files in multipart/form-data, with any division into pieces.
@Suite("Files in forms")
struct MultipartParserTests {
    private static let boundary = "----Skylight7MA4YWxk"

    /// The file in a body that arrives in pieces of the given sizes, used in rotation.
    private static func file(_ body: [UInt8], boundary: String = boundary, sizes: [Int] = [.max]) throws -> [UInt8] {
        let found = try #require(try MultipartBoundary(contentType: "multipart/form-data; boundary=\"\(boundary)\""))
        var parser = MultipartParser(boundary: found)
        var file: [UInt8] = []
        var rest = body[...]
        var number = 0
        while !rest.isEmpty {
            let piece = rest.prefix(max(1, sizes[number % sizes.count]))
            parser.take(ByteBuffer(bytes: piece))
            while let bytes = try parser.next() { file += bytes.readableBytesView }
            rest = rest.dropFirst(piece.count)
            number += 1
        }
        try parser.finish()
        return file
    }

    private static func part(_ headers: String, _ content: [UInt8], boundary: String = boundary) -> [UInt8] {
        Array("--\(boundary)\r\n\(headers)\r\n\r\n".utf8) + content + Array("\r\n".utf8)
    }

    private static func end(_ boundary: String = boundary) -> [UInt8] { Array("--\(boundary)--".utf8) }

    private static let fileHeaders =
        #"Content-Disposition: form-data; name="files"; filename="a.bin""#
        + "\r\nContent-Type: application/octet-stream"

    /// Contents that resemble a delimiter.
    private static let hardContents: [[UInt8]] = [
        [], [13], [10], [13, 10], [13, 10, 13, 10], Array("--".utf8), Array("\r\n--".utf8),
        Array("--\(boundary)x".utf8), Array("\r\n--\(boundary)x\r\n".utf8),
        Array("\r\n--\(boundary.dropLast())\r\n".utf8), Array("\r\n--\(boundary) \t x".utf8),
        Array("\r\n--\(boundary)\r".utf8), Array("a\r\n--\(boundary)-".utf8),
        Array("\r\r\n\r\n--\(boundary)-\r\n--".utf8), Array("\n--\(boundary)--\n".utf8), Array(0...255),
    ]

    @Test("Every content comes out as it went in, whatever it looks like", arguments: hardContents)
    func contents(_ content: [UInt8]) throws {
        let body = Self.part(Self.fileHeaders, content) + Self.end()
        for size in [1, 2, 3, 7, 31, 64, Int.max] {
            #expect(try Self.file(body, sizes: [size]) == content, "pieces of \(size)")
        }
        // In two pieces, cut at every position.
        for place in body.indices { #expect(try Self.file(body, sizes: [place, .max]) == content, "cut at \(place)") }
    }

    @Test("Random contents in random pieces, with parts and text around them")
    func random() throws {
        var random = SeededRandom(seed: 20)
        for round in 0..<400 {
            let boundary = String(
                (0..<Int.random(in: 1...70, using: &random)).compactMap { _ in "ab-'".randomElement(using: &random) })
            let pool = Array("\r\n--\(boundary)ab-".utf8)
            // Content must not contain a boundary line.
            let content = (0..<Int.random(in: 0...3000, using: &random)).map { _ in
                pool.randomElement(using: &random) ?? 0
            }
            let lines = content.split(separator: 10, omittingEmptySubsequences: false)
            if lines.contains(where: { $0.starts(with: Array("--\(boundary)".utf8)) }) { continue }
            var body: [UInt8] = []
            if Bool.random(using: &random) { body += Array("This is a form.\r\n".utf8) }
            if Bool.random(using: &random) {
                body += Self.part(
                    #"Content-Disposition: form-data; name="a""#, Array("one\r\ntwo".utf8), boundary: boundary)
            }
            body += Self.part(Self.fileHeaders, content, boundary: boundary)
            if Bool.random(using: &random) {
                body += Self.part(#"content-disposition:form-data;name=b"#, [], boundary: boundary)
            }
            body += Self.end(boundary)
            if Bool.random(using: &random) { body += Array("\r\nThat was a form.\r\n--\(boundary)\r\n".utf8) }
            let sizes = (0..<20).map { _ in
                Int.random(in: 1...([4, 100, 4000].randomElement(using: &random) ?? 1), using: &random)
            }
            #expect(try Self.file(body, boundary: boundary, sizes: sizes) == content, "round \(round)")
        }
    }

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
    func fileParts(headers: String) throws {
        #expect(try Self.file(Self.part(headers, [1, 2, 3]) + Self.end(), sizes: [5]) == [1, 2, 3])
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
        Refused(words: "has no end", body: Array("just bytes".utf8)),
        Refused(words: "has no end", body: Array("--\(boundary)\r\nContent-Disposition: form-data; name=files".utf8)),
        Refused(words: "longer than 8192 bytes", body: part("X: " + String(repeating: "x", count: 9000), [1]) + end()),
        Refused(
            words: "more than 65536 bytes besides the file",
            body: part("X: y", Array(repeating: 0, count: 70_000)) + part(fileHeaders, [1]) + end()),
        Refused(
            words: "more than 65536 bytes besides the file",
            body: part(fileHeaders, [1]) + end() + Array(repeating: 0, count: 70_000)),
        Refused(words: "an invalid header line: 'nonsense'", body: part("nonsense", [1]) + end()),
        Refused(
            words: "transfer encoding 'base64'",
            body: part(fileHeaders + "\r\nContent-Transfer-Encoding: base64", [1]) + end()),
    ]

    @Test("A form that is not whole, or has not one file, is refused with a word", arguments: refusedForms)
    private func refuses(_ refused: Refused) throws {
        for size in [1, 17, Int.max] {
            #expect {
                _ = try Self.file(refused.body, sizes: [size])
            } throws: { error in
                guard let error = error as? RecordError else { return false }
                return error.code == .badRequest && error.reason.contains(refused.words)
            }
        }
    }

    @Test("The parser holds a line, not the file")
    func memory() throws {
        var parser = MultipartParser(
            boundary: try #require(try MultipartBoundary(contentType: "multipart/form-data; boundary=\(Self.boundary)"))
        )
        parser.take(ByteBuffer(bytes: Self.part(Self.fileHeaders, []).dropLast(2)))
        var passed = 0
        for _ in 0..<200 {
            parser.take(ByteBuffer(repeating: 7, count: 64 << 10))
            while let bytes = try parser.next() { passed += bytes.readableBytes }
            #expect(parser.held < 100)
        }
        #expect(passed == 200 * 64 << 10)
    }

    @Test(
        "Boundaries, quoted or not",
        arguments: [
            ("multipart/form-data; boundary=abc", "abc"),
            (#"Multipart/Form-Data;charset=utf-8; Boundary="a b:c""#, "a b:c"),
            (#"multipart/form-data; boundary="a\"#, nil),
            ("multipart/mixed; boundary=abc", nil), ("application/octet-stream", nil), ("", nil),
        ] as [(String, String?)])
    func boundaries(contentType: String, boundary: String?) throws {
        #expect(try MultipartBoundary(contentType: contentType)?.bytes == boundary.map { Array($0.utf8) })
    }

    @Test(
        "A form without a valid boundary is refused",
        arguments: [
            "multipart/form-data", "multipart/form-data; boundary=", #"multipart/form-data; boundary="""#,
            "multipart/form-data; boundary=\(String(repeating: "x", count: 71))",
            "multipart/form-data; boundary=a\u{E4}",
        ])
    func unsoundBoundaries(contentType: String) {
        #expect(throws: RecordError.self) { try MultipartBoundary(contentType: contentType) }
    }
}
