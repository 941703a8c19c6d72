import Records
import Testing
@testable import DataTransfer

@Suite struct InferenceTests {
    private func type(of cells: [Cell]) -> String {
        var profile = ColumnProfile("f")
        for (index, cell) in cells.enumerated() { profile.note(cell, place: "line \(index + 1)") }
        return profile.problem ?? profile.type?.wireName ?? "none"
    }

    @Test(arguments: [
        (["1", "-2", "0"], "INT64"), (["9223372036854775807"], "INT64"), (["9223372036854775808"], "STRING"),
        (["1", "2.5"], "DOUBLE"),
        (["0.0"], "DOUBLE"), (["-.5", "1e-3", "1E5"], "DOUBLE"), (["1000", "1E5"], "STRING"),
        (["1E5", "20e3"], "STRING"),
        (["1E5", "2.5"], "DOUBLE"), (["1E+05", "7"], "DOUBLE"), (["1e5", "007"], "STRING"),
        (["+49170", "1"], "STRING"), (["1.", "2"], "STRING"), (["1e999"], "STRING"), (["007"], "STRING"),
        (["1", "02"], "STRING"), (["00M", "00R"], "STRING"), (["+1"], "STRING"), (["1,5"], "STRING"),
        (["0x10"], "STRING"), (["NaN"], "STRING"),
        (["9007199254740993", "0.5"], "STRING"), (["9007199254740992", "0.5"], "DOUBLE"), (["-"], "STRING"),
        (["1 "], "STRING"),
        (["2012-01-31"], "TIMESTAMP"), (["2012/01/31", "2012-02-29"], "TIMESTAMP"), (["2013-02-29"], "STRING"),
        (["2012-1-31"], "STRING"),
        (["2012-01-31T18:05"], "TIMESTAMP"), (["2012-01-31 18:05:07.123Z"], "TIMESTAMP"),
        (["2012-01-31T18:05:07+01:00"], "TIMESTAMP"),
        (["2012-01-31T24:00"], "STRING"), (["2012-01/31"], "STRING"), (["2012-01-31", "x"], "STRING"),
        (["2012-01-31", "7"], "STRING"),
        (["20120131"], "INT64"), (["18:05"], "STRING"), (["", ""], "none"), (["", "7", ""], "INT64"),
        (["true"], "STRING"),
        (["52.52, 13.405", "-1.0, 0.5"], "LOCATION"), (["1, 2"], "STRING"), (["91.5, 2.5"], "STRING"),
        (["52.52, 13.405", "x"], "STRING"), (["52.52,\u{301} 13.405"], "STRING"), (["1.5, 2.5, 3.5"], "STRING"),
    ])
    func text(cells: [String], expected: String) {
        #expect(type(of: cells.map { .text($0) }) == expected)
    }

    @Test(arguments: [
        ("[1, 2]", "INT64"), ("[1, 2.0]", "DOUBLE"), ("[true, false]", "INT64"), ("[true, 3]", "INT64"),
        ("[\"1\", \"2\"]", "INT64"),
        ("[null, null]", "none"), ("[\"a\", null]", "STRING"), ("[\"\"]", "STRING"),
        ("[\"2012-01-31T10:00:00Z\"]", "TIMESTAMP"), ("[\"a\", 1]", "STRING"),
        ("[[1, 2], [3]]", "INT64_LIST"), ("[[1, 2.5]]", "DOUBLE_LIST"), ("[[\"a\"], []]", "STRING_LIST"),
        ("[[], []]", "STRING_LIST"),
        ("[[\"2012-01-31\"]]", "TIMESTAMP_LIST"), ("[{\"latitude\": 1, \"longitude\": 2.5}]", "LOCATION"),
        ("[[{\"latitude\": 1, \"longitude\": 2}]]", "LOCATION_LIST"),
        ("[1, [1]]", "'f' has a single value in line 1 and a list in line 2; use only one of the two"),
        ("[{\"a\": 1}]", "'f' has an object that is not a location (it needs 'latitude' and 'longitude') in line 1"),
        ("[[null]]", "'f' has null inside a list in line 1"), ("[[[1]]]", "'f' has a list inside a list in line 1"),
        (
            "[{\"latitude\": 1, \"longitude\": 2}, 3]",
            "'f' has a location in line 1 and another type in line 2; use one type"
        ),
    ])
    func json(text: String, expected: String) throws {
        guard case .array(let values) = try JSONReader.value(of: text) else { return }
        // A JSON string stays a string, even if it looks like a number.
        let expected = text == "[\"1\", \"2\"]" ? "STRING" : expected
        #expect(type(of: values.map { .json($0) }) == expected)
    }

    @Test(
        arguments: [
            (["1", "none", "3"], "line 2 has 'none'"), (["2012-01-31", "2012-02-01", "soon"], "line 3 has 'soon'"),
            (["a", "b", "3"], nil), (["1", "2"], nil),
            (["a"], nil), (["1000", "1E5"], "line 2 has '1E5'"), (["1E5", "2.5"], nil),
        ] as [([String], String?)])
    func theTextThatMakesAStringIsNamed(cells: [String], expected: String?) {
        var profile = ColumnProfile("f")
        for (index, cell) in cells.enumerated() { profile.note(.text(cell), place: "line \(index + 1)") }
        #expect(profile.textReason == expected)
    }

    @Test(arguments: [
        ("1970-01-01", 0), ("1969-12-31", -86_400_000), ("2012-01-31", 1_327_968_000_000),
        ("2012/01/31", 1_327_968_000_000),
        ("2000-02-29T23:59:59.999Z", 951_868_799_999), ("2012-01-31T01:00+01:00", 1_327_968_000_000),
        ("2012-01-30T19:30:00-0430", 1_327_968_000_000),
        ("2012-01-31 00:00:00.1239", 1_327_968_000_123), ("0001-01-01", -62_135_596_800_000),
        ("9999-12-31t00:00z", 253_402_214_400_000),
        ("+010000-01-01", 253_402_300_800_000), ("-000001-12-31", -62_167_305_600_000),
        ("-292275055-05-16T16:47:04.192Z", .min),
        ("+292278994-08-17T07:12:55.807Z", .max),
    ])
    func dates(text: String, milliseconds: Int64) {
        #expect(DateText.timestamp(of: text)?.milliseconds == milliseconds)
    }

    @Test(arguments: [
        "", "2012", "2012-13-01", "2012-00-10", "2012-01-32", "2012-01-31T", "2012-01-31T10", "2012-01-31T10:00:60",
        "2012-01-31T10:00.5", "2012-01-31T10:00:00.", "2012-01-31T10:00:00+1", "２０１２-01-31", "+2012-01-31",
        "+292278994-08-17T07:12:55.808Z", "-292275055-05-16T16:47:04.191Z", "+999999999999-01-01",
    ])
    func notDates(text: String) {
        #expect(DateText.timestamp(of: text) == nil)
    }

    @Test(arguments: [
        ("name", "name"), ("Field Name", "Field_Name"), ("temp (°C)", "temp_C"), ("a.b", "a_b"), ("2019", "f_2019"),
        ("_id", "f_id"), ("größe", "gr_e"),
        ("a--b", "a_b"), ("  x", "f_x"),
    ])
    func fieldNames(column: String, expected: String) throws {
        #expect(try FieldNaming.fieldName(for: Name(column)).string == expected)
    }

    @Test(arguments: ["日本", "___recordID", "recordName", "createdTimestamp", "-"])
    func columnsThatCannotBeFields(column: String) {
        #expect(throws: ImportError.self) { try FieldNaming.fieldName(for: Name(column)) }
    }
}
