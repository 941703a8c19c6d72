import RecordStore
import Records
import Testing

@testable import Console
@testable import RecordPages

/// Queries as text: written text is read back, and errors have a position.
@Suite struct QueryTextTests {
    static let note = RecordType(
        name: "Note",
        fields: [
            "title": FieldDefinition(type: .string), "rank": FieldDefinition(type: .int64),
            "weight": FieldDefinition(type: .double),
            "at": FieldDefinition(type: .timestamp), "place": FieldDefinition(type: .location),
            "tags": FieldDefinition(type: .list(.string)),
            "link": FieldDefinition(type: .reference), "raw": FieldDefinition(type: .bytes),
            "sort": FieldDefinition(type: .string),
        ])

    private static func form(_ question: String) -> QueryForm {
        QueryForm(FormFields(encoded: "type=Note&\(question)".utf8))
    }

    private static func read(_ text: String) throws -> QueryForm {
        let rows = try QueryTextParser.rows(of: text, type: note)
        var form = Self.form("")
        form.filters = rows.filters
        form.sorts = rows.sorts
        return form
    }

    @Test(arguments: [
        ("filter1=title&is1=EQUALS&value1=Milk", "title = Milk"),
        ("filter1=title&is1=NOT_EQUALS&value1=%22%22", "title != \"\""),
        ("filter1=title&is1=BEGINS_WITH&value1=a+b", "title begins with \"a b\""),
        ("filter1=title&is1=IN&value1=a,%22b,c%22", "title in (a, \"b,c\")"),
        (
            "filter1=title&is1=CONTAINS_ALL_TOKENS&value1=good+morning&filter2=rank&is2=GREATER_THAN&value2=-7",
            "title has words \"good morning\" and rank > -7"
        ),
        ("filter1=tags&is1=LIST_CONTAINS&value1=prefix", "tags contains \"prefix\""),
        ("filter1=tags&is1=NOT_LIST_CONTAINS_ALL&value1=red,green", "tags not contains all of (red, green)"),
        ("filter1=place&is1=NEAR&value1=47.45,-122.31&within1=500", "place within 500 m of 47.45, -122.31"),
        ("filter1=place&is1=NEAR&value1=1+2", "place near 1, 2"),
        ("filter1=at&is1=LESS_THAN&value1=2026-11-20+18:00:00", "at < \"2026-11-20 18:00:00\""),
        ("filter1=raw&is1=EQUALS&value1=AQI%3D", "raw = \"AQI=\""),
        ("filter1=sort&is1=EQUALS&value1=and", "`sort` = \"and\""),
        ("sort1=at&order1=descending&sort2=title", "sort by at descending, title"),
        ("sort1=place&from1=1,2", "sort by place from 1, 2"),
        ("filter1=rank&is1=EQUALS&value1=&sort1=rank", "sort by rank"), ("", ""),
    ])
    func aFormAsText(question: String, text: String) throws {
        #expect(QueryText.text(of: Self.form(question), type: Self.note) == text)
    }

    /// Every comparator of every field with difficult values survives writing and reading.
    @Test func whatIsWrittenIsReadBack() throws {
        let values = [
            "x", "a b", "\"", "\"\"", "\"\"\"", "\"\"\"\"", "\"a\"", "null", "nil", "or", "true", "%@", "?", "a&&b",
            "||", "x;", "'", "'a'", "“a”", "’", "«", "{a}", "a[0]", "≤", " ", "a\"b", "it's", "a,b", "(x)", "and",
            "a = b", " lead", "trail ", "`", "é\u{301}", "\u{202E}", "ü, ö", "Sort", "=", "!",
        ]
        var count = 0
        for field in QueryField.all(of: Self.note) {
            for (comparator, _) in field.comparators {
                for value in Self.values(field, comparator, values) {
                    var form = Self.form("")
                    form.filters = [
                        QueryForm.Filter(
                            field: field.name, comparator: comparator, value: value,
                            distance: comparator == .near ? "12.5" : ""),
                        QueryForm.Filter(field: "rank", comparator: .lessThanOrEquals, value: "3", distance: ""),
                    ]
                    form.sorts = [
                        QueryForm.Sort(field: "place", isDescending: true, origin: "47.45, -122.31"),
                        QueryForm.Sort(
                            field: field.name, isDescending: false,
                            origin: field.definition.type == .location ? "1, 2" : ""),
                    ]
                    let plan = CheckedQuery(form, of: Self.note)
                    guard plan.canRun else { continue }
                    let text = QueryText.text(of: form, type: Self.note)
                    let again = try Self.read(text)
                    #expect(CheckedQuery(again, of: Self.note).query == plan.query, "\(text)")
                    #expect(QueryText.text(of: again, type: Self.note) == text)
                    count += 1
                }
            }
        }
        #expect(count > 300)
    }

    private static func values(_ field: QueryField, _ comparator: Records.Comparator, _ texts: [String]) -> [String] {
        if field.readsAsText || field.definition.type.isList || field.definition.type.valueType == .reference {
            return comparator.takesList ? [QueryForm.listText(texts), QueryForm.listText(["one"])] : texts
        }
        return switch field.definition.type.valueType {
        case .int64: comparator.takesList ? ["1, -2"] : ["-7", "9223372036854775807"]
        case .double: comparator.takesList ? ["1.5, 2"] : ["-1e-3", "7"]
        case .timestamp:
            comparator.takesList ? ["2026-01-01, 2026-01-02 10:00"] : ["2026-01-01", "2026-01-01T10:00:00.5+01:00"]
        case .location: ["47.45, -122.31", "1 2"]
        default: ["SGVsbG8="]
        }
    }

    @Test(arguments: [
        ("title == Milk", "title = Milk"), ("title <> 'x'", "title != x"),
        (
            "WHERE title=Milk AND rank>=3 ORDER BY at DESC, title asc",
            "title = Milk and rank >= 3 sort by at descending, title"
        ),
        ("title BEGINS_WITH x", "title begins with x"), ("place within 2 km of 1 2", "place within 2000 m of 1, 2"),
        ("place within 1.5km of \"1, 2\"", "place within 1500 m of 1, 2"), ("place NEAR 1,2", "place near 1, 2"),
        ("  rank\n<\t3 ", "rank < 3"),
        ("gone = 3", "gone = 3"),
        // Quotation marks of other languages.
        ("title = 'and'", "title = \"and\""), ("title = “and”", "title = \"and\""),
        ("title = «and»", "title = \"and\""), ("title = „a b“", "title = \"a b\""),
        ("title = ‘it''s’", "title = it''s"), ("title = 'it''s'", "title = it's"), ("title = »a«", "title = a"),
        ("title = 「a」", "title = a"),
        ("title = ''", "title = \"\""), ("title = '\"\"'", "title = \"\"\"\"\"\""),
        ("title = \"“a”\"", "title = \"“a”\""), ("title = 'it’s'", "title = it’s"),
        // Operators of other languages.
        ("title === a && rank => 3 && rank =< 5", "title = a and rank >= 3 and rank <= 5"),
        ("rank≥3&&rank≠4", "rank >= 3 and rank != 4"),
        ("rank !== 3", "rank != 3"), ("title = a&&rank = 2", "title = a and rank = 2"),
        // SQL.
        ("select * from Note where title = 'a' order by rank desc;", "title = a sort by rank descending"),
        ("SELECT * FROM \"Note\"", ""),
        ("\"title\" = 'a'", "title = a"), ("title is a", "title = a"), ("title is not 'a b'", "title != \"a b\""),
        ("rank between 1 and 3 and title = a", "rank >= 1 and rank <= 3 and title = a"),
        ("title like 'a%'", "title begins with a"), ("title NOT LIKE 'a%'", "title not begins with a"),
        ("title like 'a'", "title = a"),
        ("(title = a) and ((rank = 3))", "title = a and rank = 3"), ("not title = a", "title != a"),
        ("not (title in (a, b))", "title not in (a, b)"),
        ("not rank not in (1, 2)", "rank in (1, 2)"),
        // NSPredicate's format.
        ("title BEGINSWITH 'a'", "title begins with a"), ("NOT (title == 'a')", "title != a"),
        ("!(title BEGINSWITH \"a\")", "title not begins with a"),
        ("title IN {'a', 'b'}", "title in (a, b)"), ("title in ['a', 'b']", "title in (a, b)"),
        ("ANY tags == 'red'", "tags contains red"), ("ANY tags IN {'a', 'b'}", "tags contains any of (a, b)"),
        ("NONE tags = red", "tags not contains red"), ("'red' IN tags", "tags contains red"),
        ("rank BETWEEN {1, 3}", "rank >= 1 and rank <= 3"),
        ("TRUEPREDICATE", ""), ("rank == YES", "rank = 1"), ("rank in (true, false)", "rank in (1, 0)"),
        ("title = true", "title = true"),
    ])
    func otherSpellings(text: String, usual: String) throws {
        #expect(QueryText.text(of: try Self.read(text), type: Self.note) == usual)
    }

    @Test(arguments: [
        ("title", 5, "Write a comparison after title"), ("title = ", 8, "Write a value"), ("= 3", 0, "name of a field"),
        ("rank = x", 7, "not a 64-bit whole number"),
        ("rank begins with 3", 5, "INT64, and ‘begins with’ does not work with it"),
        ("title = a b", 10, "‘b’ is unexpected"), ("title = \"a", 8, "is not closed"),
        ("title in a", 9, "in parentheses"), ("title in (a", 11, "a comma and another value"),
        ("title in ()", 10, "The list is empty"),
        ("title ! x", 6, "Write a comparison"), ("sort by", 7, "a field to sort by"),
        ("title = a sort by at up", 21, "‘up’ is unexpected"),
        ("place within far of 1, 2", 13, "not a distance"), ("place near 100, 2", 11, "not a location"),
        ("title = a and", 13, "a field to compare"),
        ("tags = red", 5, "contains"), ("and = 3", 0, "in backquotes"), ("place within 5 m 1, 2", 17, "Write ‘of’"),
        ("é\u{301} = \"", 5, "is not closed"),
        // What CloudKit has instead.
        ("title = a or title = 'b c'", 10, "CloudKit has no OR. Write title in (a, \"b c\")."),
        ("title in (a, b) || title in (c)", 16, "Write title in (a, b, c)."),
        ("tags contains a or tags contains b or tags contains c", 16, "Write tags contains any of (a, b, c)."),
        ("title = a or rank = 2", 10, "ask two queries"),
        ("title = this or that", 13, "CloudKit has no OR"), ("title = a or rank = x", 10, "CloudKit has no OR"),
        ("(title = a or title = b)", 11, "Write title in (a, b)."), ("title IS NULL", 6, "no value"),
        ("title is not null", 6, "no value"),
        ("title = nil", 8, "no value"), ("title != NULL", 9, "no value"), ("title = and", 8, "goes in \"…\""),
        ("title = or", 8, "goes in \"…\""), ("title like '%a%'", 11, "title has words a"),
        ("title like 'a_c%'", 11, "CloudKit has no LIKE"), ("tags like '%a'", 10, "tags contains prefix a"),
        ("title == %@", 9, "%@ stands for a value"), ("%K == 'a'", 0, "name of a field"),
        ("title = ?", 8, "stands for a value"), ("title in (%@)", 10, "stands for a value"),
        ("title BEGINSWITH[c] 'a'", 16, "leave out the brackets"), ("title ==[cd] 'a'", 8, "leave out the brackets"),
        ("title CONTAINS 'a'", 6, "title has words a"), ("title ENDSWITH 'a'", 6, "CloudKit has no ENDSWITH"),
        ("title MATCHES 'a.*'", 6, "CloudKit has no MATCHES"),
        ("ALL tags = a", 11, "CloudKit has no ALL"), ("ANY title = a", 12, "is for lists"),
        ("'red' in title", 9, "does not search within texts"), ("not rank < 3", 0, "CloudKit has no NOT of ‘<’"),
        ("not (title = a and rank = 1)", 0, "NOT of several"), ("rank not between 1 and 3", 5, "ask two queries"),
        ("rank between 1, 3", 14, "Write ‘and’"), ("select title from Note", 7, "select *"),
        ("select * from List where title = a", 14, "one for the type Note"),
        ("title = a limit 10", 10, "records of a page"), ("title = a group by rank", 10, "no GROUP BY"),
        ("(title = a", 10, "‘)’"),
        ("title in {a)", 11, "Write ‘}’"), ("title = “a", 8, "write ” after"),
        ("distanceToLocation:fromLocation:(place, %@) < 5", 0, "place within 500 m of"),
    ])
    func unreadableTextIsExplainedWithItsPlace(text: String, offset: Int, words: String) {
        #expect {
            try Self.read(text)
        } throws: { error in
            guard let error = error as? QueryTextError else { return false }
            return error.offset == offset && error.reason.contains(words)
        }
    }

    /// Any text is read or refused. The position of an error is within the text or at its end.
    @Test func anythingMayBeTyped() {
        let pieces = [
            "title", "rank", "and", "=", "!=", "<", "(", ")", ",", "\"", "\"a b\"", "`", "in", "not", "contains", "any",
            "of", "sort", "or", "||", "&&", "'", "“", "”", "between", "like", "is", "null", "{", "}", "[", "]",
            "select", "*", "from", "%@", "by", "within", "5", "m", "é\u{301}", " ",
        ]
        var state: UInt64 = 7
        for _ in 0..<4000 {
            var text = ""
            for _ in 0..<12 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                text += pieces[Int((state >> 33) % UInt64(pieces.count))]
                if state & 1 == 0 { text += " " }
            }
            do {
                let form = try Self.read(text)
                _ = QueryText.text(of: form, type: Self.note)
            } catch let error as QueryTextError {
                #expect(error.offset >= 0 && error.offset <= text.unicodeScalars.count && !error.reason.isEmpty)
            } catch {
                Issue.record(error)
            }
        }
    }
}
