import Crypto
import Foundation
import Records
import Testing

@testable import Accounts

@Suite("Signatures of server-to-server keys")
struct SigningTests {
    @Test("Correct signatures are accepted, with and without a query or a body")
    func accepted() async throws {
        let signer = try await TestSigner()
        for (body, target) in [
            (TestSigner.body, TestSigner.target), (TestSigner.body, TestSigner.path), ([], TestSigner.target),
            ([], TestSigner.path),
        ] {
            let header = try signer.header(TestSigner.message(TestSigner.date, body, target))
            let verdict = signer.verdict(signer.request(signature: header, body: body, target: target))
            guard case .accepted(let key) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(key.keyID == signer.key.keyID && key.lastUsed == Timestamp(milliseconds: 1_795_348_800_000))
        }
        // An empty body may be the empty string.
        let header = try signer.header("\(TestSigner.date)::\(TestSigner.path)")
        #expect(signer.verdict(signer.request(signature: header, body: [], target: TestSigner.path)).isAccepted)
        // But a body may not.
        #expect(
            !signer.verdict(signer.request(signature: header, body: Array("{}".utf8), target: TestSigner.path))
                .isAccepted)
        // Capital letters in the key's ID are the same ID.
        let right = try signer.header(TestSigner.message())
        #expect(signer.verdict(signer.request(signature: right, keyID: signer.key.keyID.uppercased())).isAccepted)
    }

    @Test("Ten minutes are the most, both ways")
    func window() async throws {
        let signer = try await TestSigner()
        let request = signer.request(signature: try signer.header(TestSigner.message()))
        for seconds in [-600.0, -599, 0, 599, 600] {
            #expect(signer.verdict(request, now: TestSigner.now + seconds).isAccepted)
        }
        for (seconds, way) in [
            (-601.0, "10 minutes ahead of"), (660, "11 minutes behind"), (3600, "1 hour behind"),
            (-7500, "2 hours 5 minutes ahead of"), (500_000, "5 days behind"),
        ] {
            let problem = try signer.problem(request, now: TestSigner.now + seconds)
            #expect(problem.kind == .clock && problem.isCertain && problem.sentence.contains(way))
            #expect(problem.sentence.hasSuffix("The signature itself is correct."))
            #expect(
                problem.received == TestSigner.date && problem.parts.map(\.state) == [.differs, .matches, .matches])
        }
        #expect(try signer.problem(request, now: TestSigner.now + 3605).remedy.contains("local time"))
        #expect(!(try signer.problem(request, now: TestSigner.now + 4500).remedy.contains("local time")))
    }

    @Test(
        "A date of another form is refused, and it says which",
        arguments: [
            ("2026-11-22T12:00:00.000Z", "fractions"), ("2026-11-22T12:00:00+00:00", "offset"),
            ("2026-11-22T12:00:00", "Z is missing"),
            ("2026-11-22 12:00:00Z", "space"), ("20261122T120000Z", "without - and :"),
            ("1795348800", "seconds since 1970"),
            ("1795348800000", "milliseconds since 1970"), ("Sun, 22 Nov 2026 12:00:00 GMT", "HTTP header"),
            ("2026-13-22T12:00:00Z", "no such time"),
            ("2026-02-29T12:00:00Z", "no such time"), ("2026-11-22T24:00:00Z", "no such time"), ("now", "3 bytes"),
        ])
    func dates(date: String, flaw: String) async throws {
        let signer = try await TestSigner()
        let problem = try signer.problem(
            signer.request(signature: try signer.header(TestSigner.message(date)), date: date))
        #expect(problem.kind == .date && problem.isCertain && problem.sentence.contains(flaw))
        #expect(problem.received == date && problem.expected == "such as 2026-11-22T12:00:00Z")
    }

    @Test("The keys that can't have signed are told apart")
    func keys() async throws {
        let signer = try await TestSigner()
        let header = try signer.header(TestSigner.message())
        let unknown = String(repeating: "0", count: 64)
        let problem = try signer.problem(signer.request(signature: header, keyID: unknown))
        #expect(
            problem.kind == .unknownKey && problem.received == unknown && problem.expected.contains(signer.key.keyID))
        #expect(
            try signer.problem(signer.request(signature: header, keyID: "nonsense")).sentence.contains(
                "64 hexadecimal digits"))
        #expect(try signer.problem(signer.request(signature: header, environment: .production)).kind == .otherPlace)
        for (date, signature) in [("", header), (TestSigner.date, "")] {
            let problem = try signer.problem(signer.request(signature: signature, date: date))
            #expect(
                problem.kind == .incomplete && problem.sentence.contains(date.isEmpty ? "ISO8601Date" : "SignatureV1"))
        }
        #expect(try signer.problem(signer.request(signature: header, keyID: "")).kind == .incomplete)
        let other = try await TestSigner(signer.accounts)
        let swapped = try signer.problem(signer.request(signature: try other.header(TestSigner.message())))
        #expect(swapped.kind == .key && swapped.isCertain)
        #expect(swapped.expected == signer.key.keyID && swapped.received == other.key.keyID)
        _ = try await signer.accounts.revokeServerKey(signer.key.keyID)
        #expect(try signer.problem(signer.request(signature: header)).kind == .revokedKey)
    }

    @Test("Every bit of a message, of its date, its body and its target, and of the signature counts")
    func bits() async throws {
        let signer = try await TestSigner()
        let (path, body) = (
            "/database/1/iCloud.com.example.Signing/development/public/users/caller?a=1", Array("{\"a\":1}".utf8)
        )
        let signature = try signer.signature(TestSigner.message(TestSigner.date, body, path))
        let header = signature.derRepresentation.base64EncodedString()
        #expect(signer.verdict(signer.request(signature: header, body: body, target: path)).isAccepted)
        func flipped(_ bytes: [UInt8]) -> [[UInt8]] {
            (0..<bytes.count * 8).map { bit in
                var bytes = bytes
                bytes[bit / 8] ^= 1 << (bit % 8)
                return bytes
            }
        }
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        var count = 0
        func refuse(_ request: SignedRequest, _ kinds: Set<SignatureProblem.Kind>) throws {
            let problem = try signer.problem(request)
            #expect(kinds.contains(problem.kind), "\(problem)")
            count += 1
        }
        // The signature was accepted before, so the differing part is known for certain.
        for body in flipped(body) { try refuse(signer.request(signature: header, body: body, target: path), [.body]) }
        for target in flipped(Array(path.utf8)) {
            try refuse(signer.request(signature: header, body: body, target: text(target)), [.target])
        }
        for date in flipped(Array(TestSigner.date.utf8)) {
            try refuse(signer.request(signature: header, date: text(date), body: body, target: path), [.signedDate])
        }
        for der in flipped(Array(signature.derRepresentation)) {
            let request = signer.request(signature: Data(der).base64EncodedString(), body: body, target: path)
            try refuse(request, [.form, .body, .key, .undetermined])
        }
        for text in flipped(Array(header.utf8)).map(text) where text.utf8.elementsEqual(header.utf8) == false {
            try refuse(
                signer.request(signature: text, body: body, target: path),
                [.encoding, .form, .body, .key, .undetermined])
        }
        #expect(count > 1500)
    }

    @Test("A signature that was accepted before is compared part by part")
    func remembered() async throws {
        let signer = try await TestSigner()
        let header = try signer.header(TestSigner.message())
        #expect(signer.verdict(signer.request(signature: header)).isAccepted)
        let body = try signer.problem(signer.request(signature: header, body: TestSigner.body + [0x21]))
        #expect(body.kind == .body && body.isCertain && body.sentence.hasPrefix("The body hash differs"))
        #expect(body.parts.map(\.state) == [.matches, .differs, .matches])
        #expect(
            body.parts[1].expected == TestSigner.hash(TestSigner.body + [0x21])
                && body.parts[1].received == TestSigner.hash(TestSigner.body))
        #expect(
            body.expected == TestSigner.message(TestSigner.date, TestSigner.body + [0x21])
                && body.received == TestSigner.message())
        let several = try signer.problem(
            signer.request(
                signature: header, date: "2026-11-22T12:00:07Z", body: [], target: TestSigner.path + "?other=1"))
        #expect(
            several.kind == .several && several.isCertain
                && several.parts.map(\.state) == [.differs, .differs, .differs])
        // Parts of another request in a message that is signed for this one.
        let stale = try signer.header(TestSigner.message("2026-11-22T12:00:05Z", TestSigner.body, TestSigner.path))
        let forgotten = try signer.problem(
            signer.request(signature: stale, date: "2026-11-22T12:00:05Z", body: [1, 2], target: TestSigner.path))
        #expect(
            forgotten.kind == .body && forgotten.isCertain && forgotten.sentence.contains("an earlier request's body"))
        let late = try signer.problem(signer.request(signature: header, body: []), now: TestSigner.now + 900)
        #expect(late.kind == .body && late.sentence.contains("15 minutes behind"))
    }

    @Test("An unexplained signature gets a likely cause, from what was sent")
    func guesses() async throws {
        let signer = try await TestSigner()
        let stranger = P256.Signing.PrivateKey()
        func foreign(_ body: [UInt8]) throws -> SignatureProblem {
            let header = try stranger.signature(for: Array(TestSigner.message(TestSigner.date, body).utf8))
                .derRepresentation.base64EncodedString()
            return try signer.problem(signer.request(signature: header, body: body))
        }
        let first = try foreign(TestSigner.body)
        #expect(
            first.kind == .key && !first.isCertain
                && first.sentence.contains("The body hash differs, or another private key"))
        #expect(first.expected == TestSigner.message())
        let empty = try foreign([])
        #expect(empty.kind == .key && !empty.isCertain && !empty.sentence.contains("body hash differs"))
        // Once the key was used, another private key is less likely than another body.
        #expect(signer.verdict(signer.request(signature: try signer.header(TestSigner.message()))).isAccepted)
        let later = try foreign(TestSigner.body)
        #expect(later.kind == .body && !later.isCertain && later.sentence.contains("Most likely the body hash differs"))
        #expect(later.parts.map(\.state) == [.unknown, .differs, .unknown])
        #expect(try foreign([]).kind == .target)
        // A changed body whose signed version the server never saw.
        let changed = try signer.header(TestSigner.message(TestSigner.date, Array("{\"secret\":2}".utf8)))
        #expect(
            try signer.problem(signer.request(signature: changed, body: Array("{\"secret\":3}".utf8))).kind == .body)
    }

    @Test("A request that is only looked at leaves no trace")
    func lookedAt() async throws {
        let signer = try await TestSigner()
        let header = try signer.header(TestSigner.message())
        let request = signer.request(signature: header)
        #expect(signer.accounts.verify(request, knownTargets: [], now: TestSigner.now, isUse: false).isAccepted)
        #expect(signer.accounts.serverKey(signer.key.keyID)?.lastUsed == nil)
        #expect(
            try signer.problem(signer.request(signature: header, body: TestSigner.body + [0x21])).isCertain == false)
    }

    @Test("One client's wrong signatures leave the others theirs to be looked at")
    func budgets() async throws {
        var budgets = DiagnosisBudgets()
        let start = ContinuousClock.now
        func taken(_ keyID: String, at seconds: Int) -> Int {
            (0..<100).count { _ in budgets.take(keyID: keyID, at: start + .seconds(seconds)) }
        }
        #expect(taken("a", at: 0) == 5 && taken("b", at: 0) == 5 && taken("c", at: 0) == 0)
        #expect(taken("a", at: 1) == 5 && taken("d", at: 1) == 5)
        let (broken, other) = (try await TestSigner(), try await TestSigner())
        let second = try await TestSigner(broken.accounts)
        for number in 0..<20 {
            let header = try broken.header("\(number)")
            #expect(try broken.problem(broken.request(signature: header)).kind == (number < 5 ? .key : .undetermined))
        }
        #expect(try second.problem(second.request(signature: try second.header(TestSigner.message() + "\n"))).isCertain)
        #expect(
            try broken.problem(broken.request(signature: try broken.header("later")), now: TestSigner.now + 1).kind
                == .key)
        #expect(try other.problem(other.request(signature: try other.header("x"))).kind == .key)
    }

    @Test(
        "The cost of trying other bodies is bounded",
        arguments: [
            String(repeating: "[", count: 60) + Array(repeating: "0", count: 30_000).joined(separator: ",")
                + String(repeating: "]", count: 60),
            "[" + Array(repeating: "\n0", count: 20_000).joined(separator: ",") + "]\n",
            String(repeating: "\n", count: 64 << 10), String(repeating: "ä\n", count: 20_000), "{}",
        ])
    func boundedBodies(text: String) {
        var work = BodyWork()
        let body = Array(text.utf8)
        let variations = SignatureVariations.rewrittenBodies(insteadOf: body, &work)
        #expect(work.left >= 0 && !variations.isEmpty)
        let compact = String(decoding: JSONWriter.bytes(of: .array([.array([.array([.string(text)])])])), as: UTF8.self)
        for style in JSONStyle.all { #expect((style.text(of: compact, limit: 100) ?? "").utf8.count <= 100) }
        // Larger bodies are not rewritten.
        var large = BodyWork()
        #expect(
            SignatureVariations.rewrittenBodies(
                insteadOf: Array(repeating: 0x5B, count: BodyWork.bodyLimit + 1), &large
            )
            .isEmpty && large.wasCut)
        #expect(large.left == BodyWork.limit)
    }

    @Test("Causes that were not tried are not ruled out")
    func cut() async throws {
        let signer = try await TestSigner()
        let stranger = P256.Signing.PrivateKey()
        let signature = try stranger.signature(for: Array("x".utf8))
        func sentence(_ signature: String, _ body: [UInt8]) -> String {
            SignatureDiagnosis(
                signer.request(signature: signature, body: body), of: signer.key, signer.privateKey.publicKey,
                knownTargets: TestSigner.knownTargets,
                now: TestSigner.now
            ).problem(remembered: nil, otherKeys: [], earlier: []) { true }.sentence
        }
        let der = signature.derRepresentation.base64EncodedString()
        #expect(sentence(der, []).contains("so the path, date and form are probably correct"))
        for sentence in [
            sentence(signature.rawRepresentation.base64EncodedString(), []),
            sentence(der, Array(repeating: 0x20, count: 100_000)),
        ] {
            #expect(
                sentence.contains("not all of them were tried")
                    && !sentence.contains("so the path, date and form are probably correct"))
        }
        // Two mistakes are found even in a signature with two readings.
        let message = "\(TestSigner.date):\(TestSigner.hash(TestSigner.body)):\(TestSigner.path)\n"
        let raw = try signer.signature(message).rawRepresentation.base64EncodedString()
        let problem = try signer.problem(signer.request(signature: raw))
        #expect(problem.kind == .several && problem.isCertain, "\(problem)")
    }

    @Test("A skipped search is reported")
    func notLookedFor() async throws {
        let signer = try await TestSigner()
        let stranger = P256.Signing.PrivateKey()
        let header = try stranger.signature(for: Array("x".utf8)).derRepresentation.base64EncodedString()
        let diagnosis = SignatureDiagnosis(
            signer.request(signature: header), of: signer.key, signer.privateKey.publicKey,
            knownTargets: TestSigner.knownTargets, now: TestSigner.now)
        let problem = diagnosis.problem(remembered: nil, otherKeys: [], earlier: []) { false }
        #expect(
            problem.kind == .undetermined && !problem.isCertain
                && problem.sentence.contains("The difference was not searched"))
        #expect(problem.expected == TestSigner.message())
        // The diagnosis stays within its limit even with the maximum number of candidates.
        let others = (0..<SignatureDiagnosis.otherKeyLimit).map { _ in
            (key: signer.key, publicKey: P256.Signing.PrivateKey().publicKey)
        }
        let known = (0..<200).map { "/database/1/iCloud.com.example.Signing/development/public/service/\($0)" }
        let large = SignatureDiagnosis(
            signer.request(
                signature: header,
                target: TestSigner.path + "?" + (0..<20).map { "p\($0)=a%20b" }.joined(separator: "&")), of: signer.key,
            signer.privateKey.publicKey, knownTargets: known, now: TestSigner.now)
        let sentence = large.problem(remembered: nil, otherKeys: others, earlier: []) { true }.sentence
        let count = try #require(sentence.firstMatch(of: /None of ([0-9]+) known mistakes/).flatMap { Int($0.1) })
        #expect(count > 300 && count <= SignatureDiagnosis.limit)
    }

    @Test("The pure parts are what the protocol says")
    func parts() {
        #expect(RequestSignature.bodyHash([]) == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        #expect(
            RequestSignature.message(date: "d", body: [], target: "/t?q")
                == "d:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:/t?q")
        for moment in [0, 951_782_400, 1_795_348_800, 4_107_542_399, 68_169_600] as [Int64] {
            #expect(RequestSignature.moment(of: RequestSignature.date(of: moment)) == moment)
        }
        #expect(RequestSignature.date(of: 1_795_348_800) == TestSigner.date)
        #expect(RequestSignature.moment(of: "2026-11-22t12:00:00Z") == nil)
        #expect(RequestSignature.moment(of: "２０26-11-22T12:00:00Z") == nil)
    }
}

extension SignatureVerdict {
    var isAccepted: Bool {
        if case .accepted = self { true } else { false }
    }
}
