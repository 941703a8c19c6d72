import NIOCore
import Records
import TestSupport
import Testing

@testable import HTTPServing

/// Forms in multipart/form-data, with any division into pieces.
@Suite("Parts of forms")
struct MultipartParserTests {
    private static let boundary = "----Skylight7MA4YWxk"

    private struct Part: Equatable {
        var name: String?
        var fileName: String?
        var content: [UInt8] = []
    }

    /// The parts of a body that arrives in pieces of the given sizes, used in rotation.
    private static func parts(_ body: [UInt8], boundary: String = boundary, sizes: [Int] = [.max]) throws -> [Part] {
        let found = try #require(try MultipartBoundary(contentType: "multipart/form-data; boundary=\"\(boundary)\""))
        var parser = MultipartParser(boundary: found)
        var parts: [Part] = []
        var ended = 0
        var rest = body[...]
        var number = 0
        while !rest.isEmpty {
            let piece = rest.prefix(max(1, sizes[number % sizes.count]))
            parser.take(ByteBuffer(bytes: piece))
            while let element = try parser.next() {
                switch element {
                case .part(let headers): parts.append(Part(name: headers.name, fileName: headers.fileName))
                case .content(let bytes): parts[parts.count - 1].content += bytes.readableBytesView
                case .end: ended += 1
                }
            }
            rest = rest.dropFirst(piece.count)
            number += 1
        }
        try parser.finish()
        #expect(ended == parts.count && parser.overhead + parts.reduce(0) { $0 + $1.content.count } == body.count + 2)
        return parts
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
        let parts = [Part(name: "files", fileName: "a.bin", content: content)]
        for size in [1, 2, 3, 7, 31, 64, Int.max] {
            #expect(try Self.parts(body, sizes: [size]) == parts, "pieces of \(size)")
        }
        // In two pieces, cut at every position.
        for place in body.indices { #expect(try Self.parts(body, sizes: [place, .max]) == parts, "cut at \(place)") }
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
            var parts = [Part(name: "files", fileName: "a.bin", content: content)]
            var body: [UInt8] = []
            if Bool.random(using: &random) { body += Array("This is a form.\r\n".utf8) }
            if Bool.random(using: &random) {
                body += Self.part(
                    #"Content-Disposition: form-data; name="a""#, Array("one\r\ntwo".utf8), boundary: boundary)
                parts.insert(Part(name: "a", content: Array("one\r\ntwo".utf8)), at: 0)
            }
            body += Self.part(Self.fileHeaders, content, boundary: boundary)
            if Bool.random(using: &random) {
                body += Self.part(#"content-disposition:form-data;name=b"#, [], boundary: boundary)
                parts.append(Part(name: "b"))
            }
            body += Self.end(boundary)
            if Bool.random(using: &random) { body += Array("\r\nThat was a form.\r\n--\(boundary)\r\n".utf8) }
            let sizes = (0..<20).map { _ in
                Int.random(in: 1...([4, 100, 4000].randomElement(using: &random) ?? 1), using: &random)
            }
            #expect(try Self.parts(body, boundary: boundary, sizes: sizes) == parts, "round \(round)")
        }
    }

    @Test(
        "The names of a part are as they were sent",
        arguments: [
            (#"Content-Disposition: form-data; name="a""#, "a", nil),
            (#"content-disposition:form-data;name=a"#, "a", nil),
            ("Content-Type: text/plain\r\nContent-Disposition: form-data;\r\n  name=\"a\"", "a", nil),
            (#"Content-Disposition: form-data; name="a"; filename="x%22y.txt""#, "a", #"x"y.txt"#),
            (#"Content-Disposition: form-data; name="a"; filename="x \"y\"; z.txt""#, "a", #"x "y"; z.txt"#),
            (#"Content-Disposition: form-data; name="a"; filename="x\y.txt""#, "a", #"x\y.txt"#),
            (#"Content-Disposition: form-data; name="a"; filename="x\""#, "a", #"x\"#),
            (#"Content-Disposition: form-data; filename="x\"; name="a""#, "a", #"x\"#),
            (#"Content-Disposition: form-data; name=" a " ; filename=" x.txt ""#, " a ", " x.txt "),
            (#"Content-Disposition: form-data; filename="""#, nil, ""), ("X: name=a", nil, nil),
        ] as [(String, String?, String?)])
    func names(headers: String, name: String?, fileName: String?) throws {
        let found = try Self.parts(Self.part(headers, [1, 2, 3]) + Self.end(), sizes: [5])
        #expect(found == [Part(name: name, fileName: fileName, content: [1, 2, 3])])
    }

    @Test("Names full of quotation marks take no more time than others")
    func manyMarks() throws {
        func time(_ name: String) throws -> Duration {
            let parts = (0..<32).flatMap { _ in
                Self.part("Content-Disposition: form-data; name=\"\(name)\"", [])
            }
            let began = processorTime()
            #expect(try Self.parts(parts + Self.end()).count == 32)
            return processorTime() - began
        }
        let others = try time(String(repeating: "ab", count: 4000))
        #expect(try time(String(repeating: "\\\"", count: 4000)) < others * 20)
    }

    @Test("A form is read part by part")
    func several() throws {
        let text =
            "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n--B\r\n"
            + "content-disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\nContent-Type: text/plain\r\n\r\nx--B\r\r\n--B\r\n\r\n3\r\n--B--\r\nafter"
        let parts = try Self.parts(Array(text.utf8), boundary: "B")
        #expect(
            parts == [
                Part(name: "a", content: Array("1\r\n2".utf8)),
                Part(name: "f", fileName: "x.txt", content: Array("x--B\r".utf8)), Part(content: Array("3".utf8)),
            ])
    }

    private struct Refused: Sendable, CustomTestStringConvertible {
        let words: String
        let body: [UInt8]
        var testDescription: String { words }
    }

    private static let refusedForms: [Refused] = [
        Refused(words: "has no end", body: part(fileHeaders, [1, 2, 3])),
        Refused(words: "has no end", body: Array("just bytes".utf8)),
        Refused(words: "has no end", body: Array("--\(boundary)\r\nContent-Disposition: form-data; name=files".utf8)),
        Refused(words: "longer than 8192 bytes", body: part("X: " + String(repeating: "x", count: 9000), [1]) + end()),
        Refused(words: "an invalid header line: 'nonsense'", body: part("nonsense", [1]) + end()),
    ]

    @Test("A form that is not whole is refused with a word", arguments: refusedForms)
    private func refuses(_ refused: Refused) throws {
        for size in [1, 17, Int.max] {
            #expect {
                _ = try Self.parts(refused.body, sizes: [size])
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
            while let element = try parser.next() {
                if case .content(let bytes) = element { passed += bytes.readableBytes }
            }
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
            ("multipart/mixed; boundary=abc", nil), ("application/octet-stream", nil), ("", nil), (nil, nil),
        ] as [(String?, String?)])
    func boundaries(contentType: String?, boundary: String?) throws {
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
