import RecordStore
import Records
import Testing

@testable import Console
@testable import RecordPages

/// The query form and its query.
@Suite struct QueryFormTests {
    private static let note = RecordType(
        name: "Note",
        fields: [
            "title": FieldDefinition(type: .string, indexes: [.queryable, .searchable]),
            "rank": FieldDefinition(type: .int64, indexes: .sortable),
            "at": FieldDefinition(type: .timestamp, indexes: .queryable),
            "place": FieldDefinition(type: .location, indexes: .queryable),
            "tags": FieldDefinition(type: .list(.string), indexes: .queryable),
            "link": FieldDefinition(type: .reference),
            "raw": FieldDefinition(type: .bytes, indexes: .queryable), "file": FieldDefinition(type: .asset),
        ])

    private func form(_ query: String) -> QueryForm {
        QueryForm(FormFields(encoded: query.utf8))
    }

    private func fields(_ form: QueryForm) -> FormFields {
        FormFields(form.parameters)
    }

    @Test func aFormSurvivesItsURL() {
        let first = form(
            "type=Note&filter1=title&is1=EQUALS&value1=a%26b&filter3=place&is3=NEAR&value3=1,2&within3=500&sort1=rank&order1=descending&sort2=place"
                + "&from2=3,4&key=title&key=rank&return=system&limit=25&marker=m1&marker=m2")
        let second = QueryForm(fields(first))
        #expect(second.parameters.map { "\($0.name)=\($0.value)" } == first.parameters.map { "\($0.name)=\($0.value)" })
        #expect(second.filters.count == 2)
        #expect(second.filters.last?.distance == "500")
        #expect(second.page == 3)
    }

    @Test func pagesLeadThereAndBack() {
        var form = form("type=Note")
        for number in 1...50 {
            form = QueryForm(fields(form.nextPage("m\(number)")))
            #expect(form.page == number + 1)
        }
        #expect(form.markers.count == QueryForm.markerLimit)
        var steps = 0
        while let previous = form.previousPage {
            form = QueryForm(fields(previous))
            steps += 1
        }
        // Before the remembered markers there is only the first page.
        #expect(steps == QueryForm.markerLimit - 1)
        #expect(form.page == 51 - steps)
        #expect(self.form("type=Note&marker=m1").previousPage?.markers.isEmpty == true)
    }

    @Test(arguments: ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "0", "nonsense"])
    func anyNumberIsAPageWithNeighbours(page: String) {
        for markers in ["", "&marker=m1", "&marker=m1&marker=m2"] {
            let form = form("type=Note&page=\(page)\(markers)")
            #expect(QueryForm(fields(form)).page == form.page && form.page > form.markers.count)
            #expect(form.nextPage("m").page == form.page + 1)
            #expect(form.previousPage.map { $0.page == form.page - 1 } ?? true)
        }
    }

    @Test func anotherTypeDropsTheRows() {
        #expect(form("type=Note&of=Note&filter1=title&value1=x").filters.count == 1)
        #expect(form("type=List&of=Note&filter1=title&value1=x&sort1=rank&key=title").filters.isEmpty)
    }

    @Test func hugeFormsAreCut() {
        let rows = (1...100).map { "filter\($0)=title&value\($0)=x" }.joined(separator: "&")
        #expect(form(rows).filters.count == QueryForm.rowLimit)
        #expect(form("limit=9999999").limit == 200)
        #expect(form("limit=-5").limit == 1)
        #expect(form("page=99999999999999999999").page == 1)
    }

    @Test(arguments: [
        ("title", Comparator.equals, "x", FieldInput(.string("x"))),
        ("title", .equals, "\"\"", FieldInput(.string(""))),
        ("title", .equals, "\"\"\"\"\"\"", FieldInput(.string("\"\""))),
        ("title", .beginsWith, "\" a\"", FieldInput(.string(" a"))),
        ("title", .equals, " a ", FieldInput(.string(" a "))),
        ("title", .equals, "\"a\"b\"", FieldInput(.string("\"a\"b\""))),
        ("title", .equals, "\"", FieldInput(.string("\""))),
        ("title", .equals, "\"\"\"", FieldInput(.string("\"\"\""))),
        ("title", .containsAllTokens, "\"a b\"", FieldInput(.string("a b"))),
        ("tags", .listContains, "\"\"", FieldInput(.string(""))), ("rank", .equals, "\"7\"", FieldInput(.int64(7))),
        ("link", .equals, "\" a\"", FieldInput(.reference(Reference(recordName: " a")))),
        ("link", .equals, " a", FieldInput(.reference(Reference(recordName: "a")))),
        (
            "title", .in, "a, \"b, c\" ,d",
            FieldInput(.list([.string("a"), .string("b, c"), .string("d")], of: .string))
        ),
        (
            "title", .in, "say \"hi\", \"say \"\"hi\"\"\", \"\", \"\"\"\"",
            FieldInput(.list([.string("say \"hi\""), .string("say \"hi\""), .string(""), .string("\"")], of: .string))
        ),
        ("title", .containsAllTokens, "two words", FieldInput(.string("two words"))),
        ("rank", .greaterThan, " 7 ", FieldInput(.int64(7))),
        ("at", .lessThan, "1970-01-01 00:01", FieldInput(.timestamp(Timestamp(milliseconds: 60_000)))),
        ("place", .near, "47.5, -122", FieldInput(.location(Location(latitude: 47.5, longitude: -122)))),
        ("tags", .listContains, "red", FieldInput(.string("red"))),
        ("link", .equals, "a/b", FieldInput(.reference(Reference(recordName: "a/b")))),
        ("raw", .equals, "AQI=", FieldInput(.bytes([1, 2]))),
        ("recordName", .beginsWith, "x", FieldInput(.reference(Reference(recordName: "x")))),
    ])
    func valuesAreReadAsTheirType(name: Name, comparator: Comparator, text: String, input: FieldInput) throws {
        let field = try #require(Self.note.queryField(named: name))
        #expect(try FilterValueReader(field: field, comparator: comparator).input(text) == input)
    }

    @Test(arguments: [
        ("rank", Comparator.equals, "1.5"), ("rank", .equals, "99999999999999999999"), ("at", .equals, "soon"),
        ("place", .near, "91,0"), ("place", .near, "1"),
        ("raw", .equals, "!"), ("file", .equals, "x"), ("rank", .in, "1,,2"),
    ])
    func whatDoesNotFitIsExplained(name: Name, comparator: Comparator, text: String) throws {
        let field = try #require(Self.note.queryField(named: name))
        #expect(throws: FilterValueProblem.self) {
            try FilterValueReader(field: field, comparator: comparator).input(text)
        }
    }

    /// A stored query can be run again with the same values.
    @Test(arguments: ["say \"hi\"", "\"quoted\"", "a, b", " padded ", "", "\"", "\"\"", "a\"b, c\"", "ünï"])
    func valuesOfListsComeBackAsTheyWere(value: String) throws {
        let filter = Query.Filter("title", .in, FieldInput(.list([.string(value), .string("x")], of: .string)))
        let form = try #require(QueryForm(Query(recordType: "Note", filters: [filter]), of: Self.note))
        #expect(CheckedQuery(form, of: Self.note).query.filters == [filter])
    }

    /// A value survives the form, its address, its text and the list of values, whatever it looks like.
    @Test(arguments: [
        "", "\"", "\"\"", "\"\"\"", "\"\"\"\"", "\"a\"", "\"a", "a\"", "\"\u{301}", " ", " a", "a ", "\u{A0}a", "null",
        "7", "no value", "empty text", "a&b=c#d+e%20", "'", "\n",
    ])
    func aValueIsFoundAsItIs(value: String) throws {
        for (name, input) in [
            ("title", FieldInput(.string(value))), ("link", FieldInput(.reference(Reference(recordName: Name(value))))),
        ] {
            let filter = Query.Filter(Name(name), .equals, input)
            let form = try #require(QueryForm(Query(recordType: "Note", filters: [filter]), of: Self.note))
            let again = QueryForm(fields(form))
            #expect(CheckedQuery(again, of: Self.note).query.filters == [filter])
            let rows = try QueryTextParser.rows(of: QueryText.text(of: again, type: Self.note), type: Self.note)
            #expect(rows.filters.map(\.value) == again.filters.map(\.value))
            #expect(QueryForm.Filter(Name(name), .equals, exactly: value).value == form.filters[0].value)
        }
    }

    @Test func unfinishedRowsAreLeftOut() {
        let form = form(
            "type=Note&filter1=title&value1=&filter2=rank&is2=EQUALS&value2=x&filter3=at&is3=LESS_THAN&value3=2026-01-01"
        )
        let plan = CheckedQuery(form, of: Self.note)
        #expect(plan.query.filters.map(\.fieldName) == ["at"])
        #expect(plan.filterProblems.keys.sorted() == [1])
        #expect(!plan.canRun)
    }

    /// Every comparator that is offered for a field is valid for it.
    @Test func onlyWhatFitsIsOffered() throws {
        let values: [ValueType: String] = [
            .string: "a", .int64: "1", .double: "1.5", .timestamp: "2026-01-01", .location: "1,2", .reference: "r",
            .bytes: "AQ==",
        ]
        var type = RecordType(
            name: "All",
            systemIndexes: Dictionary(uniqueKeysWithValues: SystemField.allCases.map { ($0, $0.allowedIndexes) }))
        for valueType in ValueType.allCases {
            for isList in [false, true] {
                let fieldType = FieldType(valueType, isList: isList)
                type.fields[Name("f\(valueType.rawValue)\(isList)")] = FieldDefinition(
                    type: fieldType, indexes: fieldType.allowedIndexes)
            }
        }
        for field in QueryField.all(of: type) where !field.allowedIndexes.isEmpty {
            for (comparator, _) in field.comparators {
                let value = values[field.definition.type.valueType] ?? ""
                let filter = Query.Filter(
                    field.name, comparator, try FilterValueReader(field: field, comparator: comparator).input(value))
                let problems = IndexRules.problems(
                    of: Query(recordType: "All", filters: [filter]), in: Schema(types: [type]))
                #expect(problems.isEmpty, "\(comparator.rawValue) on \(field.name): \(problems.map(\.error.reason))")
            }
            #expect(field.canFilter)
        }
    }
}
