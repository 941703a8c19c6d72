import Records
import Testing

@Suite struct SchemaTextErrorTests {
    /// Schemas with one error each, and its complete message in the line below. `\n` stands for a line break.
    private static let errors: [(text: String, message: String)] = {
        let lines = #"""

            line 1, column 1: expected DEFINE SCHEMA, found the end of the text
            {"types":[]}
            line 1, column 1: expected DEFINE SCHEMA, found '{' (U+007B)
            DEFINE SCHEME
            line 1, column 8: expected SCHEMA, found 'SCHEME'
            DEFINE SCHEMA;
            line 1, column 14: expected RECORD TYPE or CREATE ROLE, found ';'
            DEFINE SCHEMA\nCREATE TABLE x;
            line 2, column 8: expected ROLE, found 'TABLE'
            DEFINE SCHEMA CREATE ROLE "_world";
            line 1, column 27: the role '_world' is built into CloudKit
            DEFINE SCHEMA CREATE ROLE a; CREATE ROLE a;
            line 1, column 42: the role 'a' is declared twice, first in line 1
            DEFINE SCHEMA RECORD TYPE T (a STRING)\nRECORD TYPE U (b STRING);
            line 2, column 1: expected ';', found 'RECORD'
            DEFINE SCHEMA RECORD TYPE T (a STRING);\nRECORD TYPE U (a STRING);\nRECORD TYPE "T" ();
            line 3, column 13: the record type 'T' is declared twice, first in line 1
            DEFINE SCHEMA RECORD TYPE T (a STRNG);
            line 1, column 32: expected a field type such as STRING, INT64 or LIST<STRING>, found 'STRNG'; did you mean STRING?
            DEFINE SCHEMA RECORD TYPE T (a boolean);
            line 1, column 32: expected a field type such as STRING, INT64 or LIST<STRING>, found 'boolean'; CloudKit's type for that is INT64
            DEFINE SCHEMA RECORD TYPE T (a STRING_LIST);
            line 1, column 32: expected a field type such as STRING, INT64 or LIST<STRING>, found 'STRING_LIST'; did you mean LIST<STRING>?
            DEFINE SCHEMA RECORD TYPE T (a);
            line 1, column 31: expected a field type such as STRING, INT64 or LIST<STRING>, found ')'
            DEFINE SCHEMA RECORD TYPE T (a LIST STRING);
            line 1, column 37: expected '<', found 'STRING'
            DEFINE SCHEMA RECORD TYPE T (a LIST<STRING);
            line 1, column 43: expected '>', found ')'
            DEFINE SCHEMA RECORD TYPE T (a LIST<LIST<STRING>>);
            line 1, column 37: expected the type of the list's elements, found 'LIST'; there are no lists of lists
            DEFINE SCHEMA RECORD TYPE T (a ENCRYPTED ASSET);
            line 1, column 32: ASSET can't be ENCRYPTED; BYTES, STRING, DOUBLE, INT64, LOCATION and TIMESTAMP can
            DEFINE SCHEMA RECORD TYPE T (a NUMBER PREFERRED INT64);
            line 1, column 49: expected AS, found 'INT64'
            DEFINE SCHEMA RECORD TYPE T (a NUMBER PREFERRED AS STRING);
            line 1, column 52: expected INT64 or DOUBLE, found 'STRING'
            DEFINE SCHEMA RECORD TYPE T (a STRING QUERIABLE);
            line 1, column 39: expected QUERYABLE, SORTABLE, SEARCHABLE, ',' or ')', found 'QUERIABLE'; did you mean QUERYABLE?
            DEFINE SCHEMA RECORD TYPE T (\n  a STRING\n  b STRING\n);
            line 3, column 3: expected QUERYABLE, SORTABLE, SEARCHABLE, ',' or ')', found 'b'; a comma may be missing at the end of the field before
            DEFINE SCHEMA RECORD TYPE T (a ASSET QUERYABLE);
            line 1, column 38: the field 'a' of type ASSET can't be QUERYABLE: it can't have an index
            DEFINE SCHEMA RECORD TYPE T (a ENCRYPTED STRING SORTABLE);
            line 1, column 49: the field 'a' of type ENCRYPTED STRING can't be SORTABLE: it can't have an index
            DEFINE SCHEMA RECORD TYPE T (a INT64 QUERYABLE SEARCHABLE);
            line 1, column 48: the field 'a' of type INT64 can't be SEARCHABLE: it can be QUERYABLE, SORTABLE
            DEFINE SCHEMA RECORD TYPE T (a STRING,\n "a" INT64);
            line 2, column 2: the field 'a' is declared twice, first in line 1
            DEFINE SCHEMA RECORD TYPE T (a STRING,, b STRING);
            line 1, column 39: expected a field or GRANT, found ','; there is an extra comma
            DEFINE SCHEMA RECORD TYPE T (grant STRING);
            line 1, column 36: expected READ, CREATE or WRITE, found 'STRING'
            DEFINE SCHEMA RECORD TYPE T (queryable STRING);
            line 1, column 30: expected the name of a field, found 'queryable'; a name that is a keyword needs double quotes
            DEFINE SCHEMA RECORD TYPE T ("___recordID" STRING);
            line 1, column 44: the system field ___recordID is REFERENCE, not STRING
            DEFINE SCHEMA RECORD TYPE T ("___recordId" REFERENCE);
            line 1, column 30: '___recordId' can't be the name of a field: names that begin with ___ are reserved by CloudKit, did you mean ___recordID?
            DEFINE SCHEMA RECORD TYPE T ("1a" STRING);
            line 1, column 30: '1a' can't be the name of a field: it must start with a letter and contain only letters, digits, _ and dots
            DEFINE SCHEMA RECORD TYPE T ("" STRING);
            line 1, column 30: '' can't be the name of a field: it must start with a letter and contain only letters, digits, _ and dots
            DEFINE SCHEMA RECORD TYPE T ("a STRING,\nb STRING);
            line 1, column 30: expected a quote at the end of the name, found the end of the line
            DEFINE SCHEMA /* RECORD TYPE T (a STRING);
            line 1, column 15: expected */ at the end of the comment, found the end of the text
            DEFINE SCHEMA RECORD TYPE T (a STRING
            line 1, column 38: expected QUERYABLE, SORTABLE, SEARCHABLE, ',' or ')', found the end of the text
            DEFINE SCHEMA RECORD TYPE T (
            line 1, column 30: expected the name of a field, found the end of the text
            DEFINE SCHEMA RECORD TYPE T (a\#u{A0}STRING);
            line 1, column 31: expected a field type such as STRING, INT64 or LIST<STRING>, found (U+00A0); only comments may contain non-ASCII characters
            DEFINE SCHEMA RECORD TYPE T (“a” STRING);
            line 1, column 30: expected the name of a field, found '“' (U+201C); only comments may contain non-ASCII characters
            DEFINE SCHEMA RECORD TYPE T (a STRING, GRANT ALL TO r);
            line 1, column 46: expected READ, CREATE or WRITE, found 'ALL'
            DEFINE SCHEMA RECORD TYPE T (a STRING, GRANT REED TO r);
            line 1, column 46: expected READ, CREATE or WRITE, found 'REED'; did you mean READ?
            DEFINE SCHEMA RECORD TYPE T (a STRING, GRANT READ r);
            line 1, column 51: expected ',' or TO, found 'r'
            DEFINE SCHEMA RECORD TYPE T (a STRING, GRANT READ TO moderator);
            line 1, column 54: there is no role 'moderator'; add CREATE ROLE moderator; above
            DEFINE SCHEMA CREATE ROLE moderator; RECORD TYPE T (a STRING, GRANT READ TO moderators);
            line 1, column 77: there is no role 'moderators'; did you mean "moderator"?
            DEFINE SCHEMA RECORD TYPE T (a STRING, GRANT READ TO "_wrld");
            line 1, column 54: '_wrld' can't be the name of a role: the roles that begin with _ are _creator, _icloud, _world
            DEFINE SCHEMA RECORD TYPE Users (roles STRING);
            line 1, column 40: the system field roles is LIST<INT64>, not STRING
            """#.split(separator: "\n", omittingEmptySubsequences: false)
        return stride(from: 0, to: lines.count, by: 2).map {
            (String(lines[$0]).replacing(#"\n"#, with: "\n"), String(lines[$0 + 1]))
        }
    }()

    @Test(arguments: errors)
    func errorsAreExplained(text: String, message: String) {
        #expect(SchemaText(text).errors.map(\.message) == [message])
        #expect(throws: SchemaTextError.self) { try Schema(text: text) }
    }

    @Test func theLineIsShownWithACaret() {
        let text =
            "DEFINE SCHEMA\n\n    RECORD TYPE T (\n\t\"caf\u{E9}\" STRING, // \u{1F680}\n        b  \tSTRNG -- text\r\n    );\n"
        let errors = SchemaText(text).errors
        #expect(errors.count == 2)
        #expect(
            errors.last?.description == """
                line 5, column 13: expected a field type such as STRING, INT64 or LIST<STRING>, found 'STRNG'; did you mean STRING?
                        b  \tSTRNG -- text
                           \t^
                """)
        #expect(
            errors.last.map { [$0.expected, $0.found, $0.hint] } == [
                "a field type such as STRING, INT64 or LIST<STRING>", "'STRNG'", "did you mean STRING?",
            ])
        #expect(errors.first?.error == RecordError(.badRequest, "The schema can't be read: \(errors[0].message)"))
    }

    /// A long line is cut on both sides, and the caret still points at the place.
    @Test(arguments: [0, 40, 5000]) func longLinesAreCut(fields: Int) throws {
        let before = (0..<fields).map { "a\($0) STRING, " }.joined()
        let error = try #require(
            SchemaText("DEFINE SCHEMA RECORD TYPE T (\(before)wrong STRIN, \(before));").errors.first)
        #expect(error.column == 30 + before.count + "wrong ".count)
        #expect(error.sourceLine.count <= 162)
        #expect(error.sourceLine.dropFirst(error.caretOffset).hasPrefix("STRIN"))
        #expect(
            error.excerpt.split(separator: "\n").last.map { $0.count == error.caretOffset + 1 && $0.hasSuffix("^") }
                == true)
    }

    /// All errors are reported at once, so that a user need not fix them one by one.
    @Test func allErrorsAreNamedAtOnce() {
        let text = """
            DEFINE SCHEMA
                CREATE ROL x;
                RECORD TYPE A (
                    a STRNG QUERYABLE,
                    b LIST<STRING QUERYABLE,
                    c STRING,
                    GRANT READ, CREAT, WRITE TO "_world",
                    d ASSET QUERYABLE SORTABLE,
                    GRANT READ TO nobody
                );
                RECORD TYPE B (x STRING;
                RECORD TYPE C (y STRING, y STRING);
            """
        #expect(
            SchemaText(text).errors.map { "\($0.line):\($0.column) \($0.found)" } == [
                "2:12 'ROL'", "4:11 'STRNG'", "5:23 'QUERYABLE'", "7:21 'CREAT'", "8:17 'QUERYABLE'", "8:27 'SORTABLE'",
                "9:23 'nobody'", "11:28 ';'", "12:30 'y'",
            ])
    }

    /// All three kinds of line breaks give the same error positions.
    @Test(arguments: ["\n", "\r\n", "\r"]) func linesEndInThreeWays(end: String) {
        let lines = [
            "DEFINE SCHEMA // one", "RECORD TYPE T (", "    a STRNG, -- two", "    b STRING", "    c INT64,",
            "    d STRING QUERYABLE d", ");",
            "RECORD TYPE T ();", "",
        ]
        let errors = SchemaText(lines.joined(separator: end)).errors
        #expect(
            errors.map(\.message) == [
                "line 3, column 7: expected a field type such as STRING, INT64 or LIST<STRING>, found 'STRNG'; did you mean STRING?",
                "line 5, column 5: expected QUERYABLE, SORTABLE, SEARCHABLE, ',' or ')', found 'c'; a comma may be missing at the end of the field before",
                "line 6, column 24: expected QUERYABLE, SORTABLE, SEARCHABLE, ',' or ')', found 'd'",
                "line 8, column 13: the record type 'T' is declared twice, first in line 2",
            ])
        #expect(errors.map(\.sourceLine) == [lines[2], lines[4], lines[5], lines[7]])
        let mixed = SchemaText("DEFINE SCHEMA\r\r\n\n\rRECORD TYPE T (a STRNG);").errors
        #expect(mixed.map { [$0.line, $0.column] } == [[5, 18]])
    }

    @Test func veryManyErrorsEnd() {
        let text = "DEFINE SCHEMA " + String(repeating: "RECORD TYPE T (a STRNG);\n", count: 50_000)
        #expect(SchemaText(text).errors.count == SchemaText.errorLimit)
    }

    /// Invalid UTF-8 is an error, except in comments.
    @Test func bytesThatAreNoText() throws {
        let define = Array("DEFINE SCHEMA -- ".utf8)
        #expect(SchemaText(utf8: define + [0xFF, 0xFE, 0x00] + Array("\nCREATE ROLE r;".utf8)).errors == [])
        #expect(SchemaText(utf8: Array("DEFINE SCHEMA \u{0}".utf8)).errors.map(\.found) == ["(U+0000)"])
        #expect(
            SchemaText(utf8: Array("DEFINE SCHEMA CREATE ROLE ".utf8) + [0xE9]).errors.map(\.found) == [
                "'\u{FFFD}' (U+FFFD)"
            ])
        let utf16 = SchemaText(utf8: [0xFF, 0xFE, 0x44, 0x00]).errors
        #expect(utf16.map(\.reason) == ["expected DEFINE SCHEMA, found UTF-16; save the file as UTF-8"])
    }
    /// Messages quote untrusted files, so they must contain no control characters for the terminal.
    @Test func whatIsShownIsHarmless() throws {
        let error = try #require(
            SchemaText("\u{FEFF}DEFINE SCHEMA RECORD TYPE \"\u{1B}[31m\u{202E}\" /* \u{1B}]0;x\u{7} */ ();\r\n").errors
                .first)
        for text in [error.description, error.found, error.sourceLine] {
            #expect(
                text.unicodeScalars.allSatisfy {
                    $0 == "\n" || ![.control, .format].contains($0.properties.generalCategory)
                }, "\(text)")
        }
        #expect(error.column == 27 && error.found == "'\u{FFFD}[31m\u{FFFD}'")
        #expect(error.sourceLine.hasPrefix("DEFINE SCHEMA RECORD TYPE \"") && error.sourceLine.hasSuffix("();"))
        #expect(error.caretOffset == 26)
    }

    /// Comments end at any kind of line break.
    @Test func commentsEndAtTheirLine() throws {
        for end in ["\n", "\r\n", "\r"] {
            let schema = try Schema(text: "DEFINE SCHEMA -- a\(end)CREATE ROLE r; // b\(end)RECORD TYPE T ();")
            #expect(schema.roles == ["r"] && schema.types.count == 1)
        }
    }
}
