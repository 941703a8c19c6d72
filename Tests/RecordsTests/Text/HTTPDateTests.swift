import Records
import Testing

@Suite struct HTTPDateTests {
    /// The example of RFC 9110 in its three formats, and dates around leap days.
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:60 GMT", 951_868_800),
            ("Sunday, 06-Nov-69 00:00:00 GMT", 3_150_921_600),
        ] as [(String, Int64)])
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test func datesReturn() {
        for seconds in stride(from: Int64(0), to: 8_000_000_000, by: 86_399 * 31) {
            #expect(HTTPDate.seconds(HTTPDate.text(seconds)) == seconds)
        }
        #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(arguments: [
        "", "30", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
    ])
    func otherTextsAreNoDates(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }
}
