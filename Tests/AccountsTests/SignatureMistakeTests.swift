import Accounts
import Crypto
import Foundation
import Records
import Testing

/// Makes each known mistake. Each must be diagnosed with certainty.
@Suite("Mistakes of clients that sign")
struct SignatureMistakeTests {
    struct Mistake: Sendable, CustomStringConvertible {
        let description: String
        let kind: SignatureProblem.Kind
        let message: String
        var body = TestSigner.body
        var target = TestSigner.target
        /// A text that the explanation must contain.
        let says: String
    }

    private static let (date, body, target, path) = (
        TestSigner.date, TestSigner.body, TestSigner.target, TestSigner.path
    )
    private static let hash = TestSigner.hash(body)
    private static let digits = Array(SHA256.hash(data: body)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        .joined()
    private static let query = "ckjsBuildVersion=2310ProjectDev27&clientId=a%20b"
    private static let place = "/database/1/iCloud.com.example.Signing/"

    static let targets: [Mistake] = [
        ("without the query", path, "without its query"),
        ("with another host", "https://api.apple-cloudkit.com" + target, "Apple's host"),
        ("with the host", "http://localhost:8080" + target, "the whole URL"),
        ("with the host alone", "localhost:8080" + target, "the host before it"),
        ("decoded", path + "?ckjsBuildVersion=2310ProjectDev27&clientId=a b", "percent-encoding undone"),
        ("re-ordered", path + "?clientId=a%20b&ckjsBuildVersion=2310ProjectDev27", "another order"),
        ("one parameter less", path + "?ckjsBuildVersion=2310ProjectDev27", "'clientId'"),
        ("with +", path + "?ckjsBuildVersion=2310ProjectDev27&clientId=a+b", "+ for %20"),
        (
            "without /database/1", "/iCloud.com.example.Signing/development/public/records/query?" + query,
            "without /database/1"
        ),
        (
            "without /database/1 and query", "/iCloud.com.example.Signing/development/public/records/query",
            "without /database/1, without the query"
        ),
        ("the end alone", "/public/records/query", "/public/records/query"),
        ("the action alone", "records/query", "records/query"),
        ("production", place + "production/public/records/query?" + query, "'production'"),
        ("private", place + "development/private/records/query?" + query, "private database"),
        ("shared, no query", place + "development/shared/records/query", "shared database, without the query"),
        ("another service", place + "development/public/records/modify?" + query, "another service"),
        ("no slash", String(target.dropFirst()), "without the / before it"),
        ("slash behind", path + "/?" + query, "/ behind it"),
        ("encoded", path + "?ckjsBuildVersion%3D2310ProjectDev27%26clientId%3Da%2520b", "percent-encoded"),
        ("method", "POST " + target, "method"),
        (
            "no iCloud.", "/database/1/com.example.Signing/development/public/records/query?" + query,
            "without 'iCloud.'"
        ),
    ].map { name, signed, says in
        Mistake(description: "target \(name)", kind: .target, message: "\(date):\(hash):\(signed)", says: says)
    }

    static let bodies: [Mistake] = [
        ("hexadecimal", digits, "hexadecimal digits"),
        ("base64 of hexadecimal", Data(digits.utf8).base64EncodedString(), "base64 of the body hash's"),
        (
            "openssl's line", Data("SHA2-256(stdin)= \(digits)\n".utf8).base64EncodedString(),
            "base64 of the body hash's"
        ), ("none", "", "nothing in place"),
        ("of an empty body", TestSigner.hash([]), "empty body"),
        ("line end", TestSigner.hash(body + [0x0A]), "line end behind it"),
        ("not hashed", String(decoding: body, as: UTF8.self), "the body itself"),
        ("base64 of the body", Data(body).base64EncodedString(), "base64 of the body"),
        ("SHA-1", Data(Insecure.SHA1.hash(data: body)).base64EncodedString(), "SHA-1"),
        ("SHA-512", Data(SHA512.hash(data: body)).base64EncodedString(), "SHA-512"),
        ("no padding", hash.replacingOccurrences(of: "=", with: ""), "padding"),
        ("with a line end", hash + "\n", "line end"),
        (
            "Python",
            TestSigner.hash(
                Array(#"{"query": {"recordType": "City", "filterBy": [{"a": 1}]}, "name": "K\u00f6ln/Bonn"}"#.utf8)),
            "Python's json.dumps"
        ),
        (
            "sorted",
            TestSigner.hash(Array(#"{"name":"Köln/Bonn","query":{"filterBy":[{"a":1}],"recordType":"City"}}"#.utf8)),
            "sorted"
        ),
        (
            "slashes",
            TestSigner.hash(Array(#"{"query":{"recordType":"City","filterBy":[{"a":1}]},"name":"Köln\/Bonn"}"#.utf8)),
            "\\/"
        ),
        (
            "indented",
            TestSigner.hash(
                Array(
                    "{\n  \"query\": {\n    \"recordType\": \"City\",\n    \"filterBy\": [\n      {\n        \"a\": 1\n      }\n    ]\n  },\n  \"name\": \"Köln/Bonn\"\n}"
                        .utf8)),
            "indented by 2"
        ),
        ("byte order mark", TestSigner.hash([0xEF, 0xBB, 0xBF] + body), "byte order mark"),
        (
            "hashed twice", Data(SHA256.hash(data: Array(SHA256.hash(data: body)))).base64EncodedString(),
            "hashed once more"
        ),
    ].map { name, signed, says in
        Mistake(description: "body \(name)", kind: .body, message: "\(date):\(signed):\(target)", says: says)
    }

    static let dates: [Mistake] = [
        ("milliseconds", "2026-11-22T12:00:00.000Z", "with milliseconds"),
        ("a second later", "2026-11-22T12:00:01Z", "1 second later"),
        ("offset", "2026-11-22T12:00:00+00:00", "'+00:00'"),
        ("an hour away", "2026-11-22T13:00:00Z", "another time zone"), ("number", "1795348800", "seconds since 1970"),
        ("space", "2026-11-22 12:00:00Z", "space"), ("none", "", "no date"),
    ].map { name, signed, says in
        Mistake(description: "date \(name)", kind: .signedDate, message: "\(signed):\(hash):\(target)", says: says)
    }

    static let layouts: [Mistake] = [
        ("line end", "\(date):\(hash):\(target)\n", "line end"),
        ("order", "\(date):\(target):\(hash)", "date, target, body hash"),
        ("lines", "\(date)\n\(hash)\n\(target)", "line ends"),
        ("together", "\(date)\(hash)\(target)", "nothing between"),
        ("quoted", "\"\(date):\(hash):\(target)\"", "quotation marks"),
        ("no target", "\(date):\(hash)", "without the target"),
    ].map { name, signed, says in
        Mistake(description: "message \(name)", kind: .form, message: signed, says: says)
    }

    static let several: [Mistake] = [
        Mistake(
            description: "no query, hexadecimal", kind: .several, message: "\(date):\(digits):\(path)",
            says: "The target differs"),
        Mistake(
            description: "no query, line end", kind: .several, message: "\(date):\(hash):\(path)\n", says: "line end"),
        Mistake(
            description: "whole URL, milliseconds", kind: .several,
            message: "2026-11-22T12:00:00.000Z:\(hash):http://localhost:8080\(target)", says: "milliseconds"),
        Mistake(
            description: "{} for nothing", kind: .body,
            message: "\(date):\(TestSigner.hash(Array("{}".utf8))):\(target)", body: [], says: "the hash of {}"),
        Mistake(
            description: "no line end", kind: .body, message: "\(date):\(TestSigner.hash(Array("{}".utf8))):\(target)",
            body: Array("{}\n".utf8),
            says: "without the line end"),
    ]

    @Test("The mistake is named and proved", arguments: targets + bodies + dates + layouts + several)
    func named(mistake: Mistake) async throws {
        let signer = try await TestSigner()
        let request = signer.request(
            signature: try signer.header(mistake.message), body: mistake.body, target: mistake.target)
        let problem = try signer.problem(request)
        #expect(problem.kind == mistake.kind, "\(problem)")
        #expect(problem.isCertain)
        #expect(problem.sentence.contains(mistake.says), "\(problem.sentence)")
        #expect(problem.expected == "\(TestSigner.date):\(TestSigner.hash(mistake.body)):\(mistake.target)")
        #expect(problem.received == mistake.message)
        #expect(!problem.remedy.isEmpty && problem.parts.contains { $0.state == .differs })
    }

    @Test("A signature that is written or made in another way is told so, with the right one where there is one")
    func forms() async throws {
        let signer = try await TestSigner()
        let message = TestSigner.message()
        // A signature whose base64 has a digit that differs in the URL alphabet.
        var signature = try signer.signature(message)
        while !signature.derRepresentation.base64EncodedString().contains(where: { "+/".contains($0) })
            || !signature.derRepresentation.base64EncodedString().hasSuffix("=")
        { signature = try signer.signature(message) }
        let (der, raw) = (signature.derRepresentation, signature.rawRepresentation)
        let right = der.base64EncodedString()
        func hexadecimal(_ data: Data) -> String { data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
        let urls = right.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        let written: [(String, String)] = [
            (raw.base64EncodedString(), "r and s"), ((raw[32...] + raw[..<32]).base64EncodedString(), "s and r"),
            (urls, "for URLs"),
            (urls.replacingOccurrences(of: "=", with: ""), "for URLs"),
            (right.replacingOccurrences(of: "=", with: ""), "padding"),
            (hexadecimal(der), "hexadecimal"), (hexadecimal(raw), "hexadecimal"),
            (Data(right.utf8).base64EncodedString(), "base64 twice"),
            (Data(hexadecimal(der).utf8).base64EncodedString(), "base64 of hexadecimal"),
            ((der + Data([0x0A])).base64EncodedString(), "1 more bytes"),
            ("\"\(right)\"", "quotation marks"),
            (right.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "", "percent-encoded"),
        ]
        for (text, says) in written {
            // Each server diagnoses at most ten mistakes per second.
            let signer = try await TestSigner(privateKey: signer.privateKey)
            let problem = try signer.problem(signer.request(signature: text))
            #expect(
                problem.kind == .form && problem.isCertain && problem.sentence.contains(says), "\(says): \(problem)")
            #expect(problem.expected == right && problem.received == text)
        }
        // Written and signed otherwise.
        let another = try await TestSigner(privateKey: signer.privateKey)
        let both = try another.problem(
            another.request(
                signature: try signer.signature(
                    "\(TestSigner.date):\(TestSigner.hash(TestSigner.body)):\(TestSigner.path)"
                ).rawRepresentation.base64EncodedString()))
        #expect(
            both.kind == .several && both.isCertain && both.sentence.contains("without its query")
                && both.sentence.contains("r and s"))
        let bytes = Array(message.utf8)
        let hash = Array(SHA256.hash(data: bytes))
        let made: [(P256.Signing.ECDSASignature, String)] = [
            (try signer.privateKey.signature(for: hash), "twice"),
            (try signer.privateKey.signature(for: Array(hexadecimal(Data(hash)).utf8)), "hexadecimal"),
            (try signer.privateKey.signature(for: Insecure.SHA1.hash(data: bytes)), "SHA-1"),
            (try signer.privateKey.signature(for: SHA512.hash(data: bytes)), "SHA-512"),
        ]
        for (signature, says) in made {
            let problem = try another.problem(
                signer.request(signature: signature.derRepresentation.base64EncodedString()))
            #expect(
                problem.kind == .form && problem.isCertain && problem.sentence.contains(says), "\(says): \(problem)")
        }
    }

    @Test(
        "Text that is not a signature is reported as such",
        arguments: [
            ("no base64!", SignatureProblem.Kind.encoding, "0x20 at position 3"),
            (String(repeating: "A", count: 2000), .encoding, "2000 bytes"), ("QUJ", .encoding, "cut off"),
            (Data(repeating: 7, count: 32).base64EncodedString(), .form, "hash or an HMAC"),
            (Data(repeating: 7, count: 256).base64EncodedString(), .form, "RSA"),
            (
                Data([0x30, 0x44, 0x02, 0x20] + Array(repeating: 0xFF, count: 66)).base64EncodedString(), .form,
                "lengths"
            ), (Data(repeating: 0xFF, count: 64).base64EncodedString(), .form, "out of range"),
        ])
    func nonsense(text: String, kind: SignatureProblem.Kind, says: String) async throws {
        let signer = try await TestSigner()
        let problem = try signer.problem(signer.request(signature: text))
        #expect(problem.kind == kind && problem.isCertain && problem.sentence.contains(says), "\(problem)")
    }

    @Test("Whatever stands in the headers and the body, there is an answer")
    func fuzz() async throws {
        let signer = try await TestSigner()
        var generator = SystemRandomNumberGenerator()
        let der = Array(try signer.signature(TestSigner.message()).derRepresentation)
        for round in 0..<300 {
            var bytes = der
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                switch Int.random(in: 0..<3, using: &generator) {
                case 0:
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
                case 1:
                    bytes.insert(
                        .random(in: 0...255, using: &generator), at: Int.random(in: 0...bytes.count, using: &generator))
                default: if bytes.count > 1 { bytes.remove(at: Int.random(in: 0..<bytes.count, using: &generator)) }
                }
            }
            let text = round % 3 == 0 ? String(decoding: bytes, as: UTF8.self) : Data(bytes).base64EncodedString()
            let target = round % 2 == 0 ? TestSigner.target : String(decoding: bytes.prefix(round % 40), as: UTF8.self)
            guard bytes != der else { continue }
            #expect(
                !signer.verdict(
                    signer.request(signature: text, body: round % 5 == 0 ? bytes : TestSigner.body, target: target)
                ).isAccepted)
        }
        for target in ["", "?", "%", "%%%", "/database", "/database/1//", "//////", "/database/1/a/b/c/d/e?&&&=&%zz#"] {
            #expect(
                !signer.verdict(signer.request(signature: Data(der).base64EncodedString(), target: target)).isAccepted)
        }
    }
}
