import Foundation
import Records
import Testing

/// The catalogue of errors: each text is told apart from all others, and nothing is sent that is not in it.
@Suite struct KnownReasonTests {
    // MARK: Texts

    @Test(arguments: KnownReason.allCases) func everyTextIsRecognised(known: KnownReason) {
        #expect(!known.texts.isEmpty)
        for text in known.texts {
            let sample = text.replacing(/\{[a-z]+\}/, with: "x")
            for code in known.codes { #expect(KnownReason(code, sample) == known, "\(code.rawValue): \(sample)") }
            if sample.utf8.count > 20, known.evidence != .skylight {
                #expect(KnownReason(quotedIn: "It failed: \(sample); op = 1") == known, "\(sample)")
            }
        }
        for sentence in [known.cause, known.remedy] { #expect(sentence.hasSuffix("."), "\(known)") }
        #expect(
            known.evidence == .skylight || known.framework != nil || !known.codes.isEmpty
                || [.mirroringNotInitialized, .shareLinkTooEarly].contains(known))
    }

    @Test func errorsAreMadeFromTheirRow() {
        let error = RecordError(known: .newFieldInProduction, Name("body"), "Note")
        #expect(
            error.code == .badRequest
                && error.reason == "Cannot create or modify field 'body' in record 'Note' in production schema")
        #expect(error.known == .newFieldInProduction && error.field == "body")
        #expect(KnownReason.newFieldInProduction.values(in: error.reason) == ["field": "body", "type": "Note"])
        // The same words with another code are another error.
        #expect(
            RecordError(.conflict, error.reason).known == nil
                && RecordError(.badRequest, "x" + error.reason).known == nil)
        #expect(RecordError(known: .notMarked, "recordName", "queryable").known == .recordNameNotQueryable)
        #expect(RecordError(known: .notMarked, "a' is not marked b", "queryable").known == .notQueryable)
        #expect(RecordError(known: .tooManyBytes).known == .tooManyBytes && RecordError.tooManyBytes.isTooManyBytes)
        #expect(RecordError(known: .staleTag, "further", "values").reason == "client oplock error updating record")
        #expect(RecordError(known: .notPermitted, "").known == .notPermitted)
    }

    @Test(arguments: [
        (
            "Error saving record <CKRecordID: 0x1; recordName=a, zoneID=Z:__defaultOwner__> to server: record to insert already exists",
            KnownReason.recordExists
        ),
        ("FIELD ‘A’ IS NOT MARKED SORTABLE", .notSortable),
        ("an ACCESS_DENIED, CREATE operation not permitted", .notPermitted),
        ("Couldn’t get a signing certificate", .noSigningCertificate),
        ("the client knowledge differs from server knowledge again", .expiredToken),
    ])
    func quotedTextsAreFound(text: String, known: KnownReason) {
        #expect(KnownReason(quotedIn: text) == known)
        #expect(KnownReason(quotedIn: "") == nil && KnownReason(quotedIn: "it failed") == nil)
    }

    @Test func manyTextsAreCloudKitsOwn() {
        #expect(KnownReason.allCases.count { $0.evidence != .skylight } >= 60)
    }

    // MARK: The documentation

    /// docs/answers.md has a table of CloudKit's messages. `SKYLIGHT_WRITE_DOCS=1` writes it anew.
    @Test func theDocumentationHasTheMessages() throws {
        let page = Self.package.appending(path: "docs/answers.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let head = "| message | CKError | cause | remedy | how sure |\n|---|---|---|---|---|\n"
        let start = try #require(text.range(of: head), "docs/answers.md has no table of messages").upperBound
        let end = text[start...].range(of: "\n\n")?.lowerBound ?? text.endIndex
        let rows = KnownReason.allCases.filter { $0.evidence != .skylight }.map { known in
            let cells = [
                known.texts.map { "`\($0)`" }.joined(separator: "<br>"), known.framework.map { "\($0)" } ?? "",
                known.cause, known.remedy, known.evidence.title,
            ]
            return "| " + cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
        }.joined(separator: "\n")
        let isSame = text[start..<end].trimmingCharacters(in: .newlines) == rows
        if !isSame, ProcessInfo.processInfo.environment["SKYLIGHT_WRITE_DOCS"] != nil {
            try (text[..<start] + rows + "\n" + text[end...].drop(while: \.isNewline)).write(
                to: page, atomically: true, encoding: .utf8)
        }
        #expect(
            isSame,
            "docs/answers.md has another table than KnownReason+Table.swift; run this test with SKYLIGHT_WRITE_DOCS=1")
    }

    // MARK: The sources

    private static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../..", directoryHint: .isDirectory
    ).standardized
    /// The targets whose errors the web services send.
    private static let targets = [
        "Records", "RecordStore", "SQLRecordStore", "AssetStore", "Accounts", "RemoteRecordStore", "HTTPServing",
        "WebServices",
    ]
    /// Where an error takes its text from another error or from a variable, and what the text is.
    private static let passedOn = [
        "Answer.swift": "of another server", "ServerClient.swift": "of another server, or of the connection",
        "ClientDatabase.swift": "of an error of the protocol's client",
        "Refusal.swift": "Hummingbird's, or of this list",
        "HostGuard.swift": "of malformed(…)",
        "IndexRules.swift": "of a RecordError", "IndexWorker.swift": "of a stored error, or a fault, for the log",
        "CloudKitRecordEngine.swift": "iCloud's", "RecordError.swift": "of unexpectedInput(…)",
        "RequestMemory.swift": "a constant, tested below", "Proxy.swift": "of cloudKitAway",
        "RequestRecorder.swift": "of a Refusal", "AccessTable.swift": "of a RecordError",
        "WebServices.swift": "of a RecordError",
        "KnownReason.swift": "the catalogue", "ServerKey.swift": "two sentences that begin with these",
        "StoreProblem.swift": "the database's words",
    ]

    @Test func everyTextThatIsSentIsInTheCatalogue() throws {
        var (count, made) = (0, Set<String>())
        let rows = Dictionary(uniqueKeysWithValues: KnownReason.allCases.map { ("\($0)", $0) })
        for target in Self.targets {
            let folder = Self.package.appending(path: "Sources/\(target)", directoryHint: .isDirectory)
            let paths = try #require(FileManager.default.enumerator(atPath: folder.path(percentEncoded: false)))
                .compactMap { $0 as? String }
            for path in paths where path.hasSuffix(".swift") {
                let file = URL(filePath: path).lastPathComponent
                for call in SourceCalls(in: try String(contentsOf: folder.appending(path: path), encoding: .utf8)) {
                    count += 1
                    if let name = call.known {
                        let row = try #require(rows[name], "\(path):\(call.line)")
                        let parameters = row.texts[0].matches(of: /\{[a-z]+\}/).count
                        #expect(
                            call.values == parameters,
                            "\(path):\(call.line): the text of \(name) has \(parameters) parameters")
                        made.insert(name)
                        continue
                    }
                    guard let text = call.text else {
                        #expect(
                            Self.passedOn[file] != nil, "\(path):\(call.line): the error's text is not in the source")
                        continue
                    }
                    if !text.contains(where: { $0.isLetter && $0 != "x" }), Self.passedOn[file] != nil { continue }
                    let codes = call.code.map { [$0] } ?? ServerErrorCode.allCases
                    #expect(
                        codes.contains { KnownReason($0, text) != nil },
                        "\(path):\(call.line): add a row to KnownReason+Table.swift for \(call.code?.rawValue ?? "any code"): \(text)"
                    )
                }
            }
        }
        #expect(count > 350 && made.count > 20)
        let noRoom =
            "The server has no memory for more large requests and responses (skylight serve --transfer-memory); try again in a moment"
        #expect(KnownReason(.tryAgainLater, noRoom) == .busy)
    }
}

/// The places of a source file where an error is made, with the text that stands there. An interpolation counts as `x`.
private struct SourceCalls: Sequence {
    struct Call {
        let line: Int
        /// `nil` if it is not in the source.
        var code: ServerErrorCode?
        var text: String?
        /// The name of the row, and the number of values, for an error that is made from one.
        var known: String?
        var values = 0
    }

    private var calls: [Call] = []

    func makeIterator() -> IndexingIterator<[Call]> { calls.makeIterator() }

    private static let codes = Dictionary(uniqueKeysWithValues: ServerErrorCode.allCases.map { (".\($0)", $0) })

    init(in source: String) {
        let bytes = Array(source.utf8)
        for (head, prefix, code) in [
            ("RecordError(", "", nil), ("Refusal(", "", nil), ("self.init(", "", nil),
            (".unexpectedInput(", "BadRequestException: Unexpected input. ", ServerErrorCode.badRequest),
            (" malformed(", "", .badRequest),
        ] {
            for range in source.ranges(of: head) {
                let start = source.utf8.distance(from: source.startIndex, to: range.upperBound)
                let arguments = Self.arguments(bytes, from: start)
                var call = Call(line: source[..<range.lowerBound].count { $0 == "\n" } + 1)
                guard let first = arguments.first, !first.plain.contains(":") || first.plain.hasPrefix("known:") else {
                    continue
                }
                if first.plain.hasPrefix("known:") {
                    call.known = String(first.plain.dropFirst("known:".count).drop { $0 == " " || $0 == "." })
                    call.values = arguments.dropFirst().count { !$0.plain.hasPrefix("retryAfter:") }
                    if arguments.count == 1, first.plain == "known: KnownReason" { continue }
                } else if code != nil {
                    guard !first.plain.hasPrefix("_ ") else { continue }
                    (call.code, call.text) = (code, first.text.map { prefix + $0 })
                } else {
                    // A Refusal has its status first.
                    guard
                        let place = arguments.prefix(2).firstIndex(where: {
                            Self.codes[$0.plain] != nil || $0.plain.hasSuffix(".code") || $0.plain == "code"
                        })
                    else { continue }
                    let index =
                        head == "Refusal(" && arguments.count > 2 && Self.codes[arguments[1].plain] != nil ? 1 : place
                    call.code = Self.codes[arguments[index].plain]
                    guard index + 1 < arguments.count else { continue }
                    call.text = arguments[index + 1].text
                }
                calls.append(call)
            }
        }
    }

    private struct Argument {
        /// The source without its literals.
        var plain = ""
        /// The literals that are added together; `nil` if there are none.
        var text: String?
    }

    private static func arguments(_ bytes: [UInt8], from start: Int) -> [Argument] {
        var (arguments, argument, depth, index) = ([Argument](), Argument(), 0, start)
        var plain: [UInt8] = []
        func end() {
            argument.plain = String(decoding: plain, as: UTF8.self).split(whereSeparator: \.isWhitespace).joined(
                separator: " ")
            if !argument.plain.isEmpty || argument.text != nil { arguments.append(argument) }
            (argument, plain) = (Argument(), [])
        }
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                let (text, next) = literal(bytes, from: index)
                if depth == 0 { argument.text = (argument.text ?? "") + text }
                index = next
                continue
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
                // What is in brackets and added to a literal is a value.
                if depth == 0, argument.text != nil { argument.text? += "x" }
                depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 {
                    end()
                    return arguments
                }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0:
                end()
                index += 1
                continue
            default: break
            }
            plain.append(byte)
            index += 1
        }
        return arguments
    }

    private static func literal(_ bytes: [UInt8], from start: Int) -> (String, Int) {
        var (text, index) = ([UInt8](), start + 1)
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
                text.append(bytes[index])
                index += 1
                continue
            }
            if bytes[index + 1] == UInt8(ascii: "(") {
                var depth = 1
                index += 2
                while index < bytes.count, depth > 0 {
                    if bytes[index] == UInt8(ascii: "\"") {
                        index = literal(bytes, from: index).1
                        continue
                    }
                    if bytes[index] == UInt8(ascii: "(") { depth += 1 }
                    if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
                    index += 1
                }
                text.append(UInt8(ascii: "x"))
            } else {
                text.append(bytes[index + 1])
                index += 2
            }
        }
        return (String(decoding: text, as: UTF8.self), index + 1)
    }
}
