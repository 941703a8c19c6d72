import Foundation
import Records
import TestSupport
import Testing

/// No text crashes or hangs the parser, and printed schemas are read back unchanged.
///
/// Runs for a second or two, and at least for some rounds. `SKYLIGHT_FUZZ_SECONDS` sets the duration, and then the seed
/// is random.
@Suite struct SchemaFuzzTests {
    /// Random numbers that only depend on the seed.
    struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
            return value ^ value >> 31
        }
    }

    private static let seconds = ProcessInfo.processInfo.environment["SKYLIGHT_FUZZ_SECONDS"].flatMap { Double($0) }

    /// The rounds that slow machines make too.
    private static let rounds: UInt64 = 100

    /// Calls the body with one seed after the other until the time is over.
    private func run(_ body: (_ numbers: inout Numbers, _ seed: UInt64) throws -> Void) throws {
        let first = Self.seconds == nil ? 1 : UInt64.random(in: 1 ... .max / 2)
        let start = ContinuousClock.now
        var seed = first
        while seed - first < Self.rounds || ContinuousClock.now - start < .seconds(Self.seconds ?? 1) {
            var numbers = Numbers(state: seed)
            try body(&numbers, seed)
            seed += 1
        }
    }

    private static let words = [
        "DEFINE", "SCHEMA", "CREATE", "ROLE", "RECORD", "TYPE", "GRANT", "READ", "WRITE", "TO", "STRING", "INT64",
        "LIST", "<", ">", "(", ")", ",", ";", "\"", "a",
        "\"___recordID\"", "REFERENCE", "NUMBER", "PREFERRED", "AS", "ENCRYPTED", "QUERYABLE", "SORTABLE", "SEARCHABLE",
        "//", "--", "/*", "*/", "\n", "\r\n", "\t", " ",
        "Users", "roles", "\"_world\"", "\u{FEFF}", "\u{1F680}", "\u{0}", "_", ".", "1", "LIST<STRING>",
    ]

    @Test func spoiltTextsDoNoHarm() throws {
        let sources = try SchemaFilesTests.files.map { Array(try Data(contentsOf: $0)) }
        try run { numbers, seed in
            let source =
                sources.isEmpty || seed.isMultiple(of: 3)
                ? Array(Self.schema(&numbers).text.utf8) : sources.randomElement(using: &numbers) ?? []
            var bytes = source
            for _ in 0..<Int.random(in: 1...12, using: &numbers) {
                let place = Int.random(in: 0...bytes.count, using: &numbers)
                let length = min(bytes.count - place, Int.random(in: 0...20, using: &numbers))
                switch Int.random(in: 0...4, using: &numbers) {
                case 0: bytes.removeSubrange(place..<place + length)
                case 1:
                    bytes.insert(
                        contentsOf: bytes[place..<place + length], at: Int.random(in: 0...bytes.count, using: &numbers))
                case 2: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &numbers) }
                case 3: bytes.insert(contentsOf: (Self.words.randomElement(using: &numbers) ?? "").utf8, at: place)
                default: bytes.removeLast(length)
                }
            }
            try check(bytes, seed)
        }
    }

    @Test func wordsInAnyOrderDoNoHarm() throws {
        try run { numbers, seed in
            var text = "DEFINE SCHEMA "
            for _ in 0..<Int.random(in: 0...200, using: &numbers) {
                text += (Self.words.randomElement(using: &numbers) ?? "") + (Bool.random(using: &numbers) ? " " : "")
            }
            try check(Array(text.utf8), seed)
        }
    }

    /// A valid text survives printing and reading, and errors have a position in the text.
    private func check(_ bytes: [UInt8], _ seed: UInt64) throws {
        let read = SchemaText(utf8: bytes)
        let lines = bytes.count { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } + 1
        for error in read.errors {
            #expect(error.line >= 1 && error.line <= lines && error.column >= 1, "seed \(seed): \(error)")
            #expect(
                error.caretOffset <= error.sourceLine.count && error.sourceLine.count <= 162 && !error.message.isEmpty,
                "seed \(seed): \(error)")
        }
        guard let schema = try? read.schema() else {
            #expect(!read.errors.isEmpty)
            return
        }
        let text = schema.text
        #expect(try Schema(text: text).text == text, "seed \(seed)")
    }

    /// Any schema survives printing and reading, with any layout.
    @Test func schemasComeBack() throws {
        try run { numbers, seed in
            let schema = Self.schema(&numbers)
            let text = schema.text
            let read = SchemaText(text)
            #expect(read.errors == [] && read.notes == [], "seed \(seed)")
            let printed = try read.schema()
            let relaid = try Schema(text: Self.relaid(text, &numbers))
            #expect(printed == schema && relaid == schema, "seed \(seed)")
        }
    }

    /// A schema of any shape that CloudKit may have.
    static func schema(_ numbers: inout Numbers) -> Schema {
        let words = [
            "a", "b1", "Name", "name", "grant", "Queryable", "sortable", "searchable", "preferred", "cloudkit.title",
            "x_y", "LIST", "to", "NUMBER", "string", "type",
        ]
        let roles = Set(
            ["moderator", "Grant", "role.one"].filter { _ in Bool.random(using: &numbers) }.map { Name($0) })
        var schema = Schema(roles: roles)
        for name in words where Int.random(in: 0...3, using: &numbers) == 0 {
            var type = RecordType(name: Name(name))
            for field in words where Bool.random(using: &numbers) {
                var fieldType = FieldType(
                    ValueType.allCases.randomElement(using: &numbers) ?? .string,
                    isList: Int.random(in: 0...3, using: &numbers) == 0)
                if Int.random(in: 0...4, using: &numbers) == 0,
                    let number = NumberPreference.allCases.randomElement(using: &numbers)
                {
                    fieldType = FieldType(number.valueType, isList: fieldType.isList, number: number)
                }
                if fieldType.canBeEncrypted, Int.random(in: 0...4, using: &numbers) == 0 {
                    fieldType.isEncrypted = true
                }
                let indexes = Indexes(rawValue: Int.random(in: 0...7, using: &numbers)).intersection(
                    fieldType.allowedIndexes)
                type.fields[Name(field)] = FieldDefinition(type: fieldType, indexes: indexes)
            }
            for field in SystemField.allCases where Int.random(in: 0...2, using: &numbers) == 0 {
                let indexes = Indexes(rawValue: Int.random(in: 0...7, using: &numbers)).intersection(
                    field.allowedIndexes)
                if !indexes.isEmpty { type.systemIndexes[field] = indexes }
            }
            if Bool.random(using: &numbers) {
                let grants = (roles.sorted() + ["_world", "_icloud", "_creator"]).map { role in
                    Grant(
                        role: role,
                        permissions: Set(Grant.Permission.allCases.filter { _ in Bool.random(using: &numbers) }))
                }
                let canonical = Grant.canonical(grants)
                if !canonical.isEmpty { type.grants = canonical }
            }
            schema.types[type.name] = type
        }
        schema.types[Schema.usersType] = Schema.users
        return schema
    }

    /// The same tokens with different white space and comments.
    private static func relaid(_ text: String, _ numbers: inout Numbers) -> String {
        var result = ""
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            switch character {
            case " " where !isQuoted && result.last?.isWhitespace == true:
                if Bool.random(using: &numbers) { result.append(" ") }
            case " ", "\n":
                result +=
                    [" ", "\n", "\t", "\r\n", " // GRANT\n", "--;\n", "/* ) */", " /**/ "].randomElement(
                        using: &numbers) ?? " "
            case "(", ")", ",", ";", "<", ">":
                result += Bool.random(using: &numbers) ? "\(character)" : " \(character)\n"
            default: result.append(character)
            }
        }
        return result
    }

    /// The time must grow linearly with the text.
    @Test(
        .serialized,
        arguments: [
            ("RECORD TYPE T# (a STRING QUERYABLE, b LIST<INT64>, GRANT READ TO \"_world\");\n", ""), ("/* * / */", ""),
            ("--\n", ""), ("\"", ""), ("<", ""),
            ("a STRING, ", "RECORD TYPE T ("), ("f# STRING,", "RECORD TYPE T ("), ("GRANT READ,", "RECORD TYPE T ("),
            ("READ,", "RECORD TYPE T (GRANT "),
            ("x", ""), ("LIST<", "RECORD TYPE T (a "), ("/*", ""), (" ", ""), ("(", "RECORD TYPE T "),
            ("GRANT READ TO r#,", "RECORD TYPE T ("), ("\u{1F680}", "RECORD"),
        ])
    func timeIsLinear(unit: String, start: String) {
        func text(_ size: Int) -> [UInt8] {
            var bytes = Array("DEFINE SCHEMA \(start)".utf8)
            var count = 0
            while bytes.count < size {
                bytes += unit.replacing("#", with: "\(count)").utf8
                count += 1
            }
            return bytes
        }
        func time(_ text: [UInt8]) -> Duration {
            let start = processorTime()
            _ = SchemaText(utf8: text)
            return processorTime() - start
        }
        let (small, large) = (text(25_000), text(200_000))
        // Eight times the text. Quadratic work would take 64 times as long. A single time may be an outlier.
        let (short, long) = (max(time(small), time(small)), min(time(large), time(large)))
        // Shorter times tell nothing.
        let limit = max(short * 32, .milliseconds(50))
        #expect(long < limit, "\(unit): \(short) and \(long)")
    }
}
