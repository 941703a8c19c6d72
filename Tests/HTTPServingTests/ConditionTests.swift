import HTTPTypes
import Testing

/// Conditional requests.
@Suite("Conditions")
struct ConditionTests {
    private static let then = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let after = "Mon, 07 Nov 1994 00:00:00 GMT"

    @Test(
        "Every condition leads to its status",
        arguments: [
            (["If-None-Match: \"cafe\""], 304),
            (["If-None-Match: W/\"cafe\""], 304),
            (["If-None-Match: *"], 304),
            (["If-None-Match: \"a,b\", \"cafe\""], 304),
            (["If-None-Match: \"a\"", "If-None-Match: \"cafe\""], 304),
            (["If-None-Match: \"cafe-gzip\""], 200),
            (["If-None-Match: \"x\"", "If-Modified-Since: \(after)"], 200),
            (["If-None-Match: cafe"], 200),
            (["If-None-Match: \"a, \\\"cafe\\\"\""], 200),
            (["If-Modified-Since: \(then)"], 304),
            (["If-Modified-Since: \(after)"], 304),
            (["If-Modified-Since: \(before)"], 200),
            (["If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT"], 304),
            (["If-Modified-Since: Sun Nov  6 08:49:37 1994"], 304),
            (["If-Modified-Since: Sun, 31 Feb 2094 08:49:37 GMT"], 200),
            (["If-Modified-Since: Sun, 06 Nov 1994 25:49:37 GMT"], 200),
            (["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 CET"], 200),
            (["If-Modified-Since: now"], 200),
            (["If-Match: \"cafe\""], 200),
            (["If-Match: \"x\", \"cafe\""], 200),
            (["If-Match: *"], 200),
            (["If-Match: \"x\""], 412),
            (["If-Match: W/\"cafe\""], 412),
            (["If-Match: \"cafe\"", "If-Unmodified-Since: \(before)"], 200),
            (["If-Unmodified-Since: \(then)"], 200),
            (["If-Unmodified-Since: \(before)"], 412),
            (["If-Unmodified-Since: yesterday"], 200),
            (["If-Match: \"cafe\"", "If-None-Match: \"cafe\""], 304),
            (["Range: bytes=0-1", "If-None-Match: \"cafe\""], 304),
            (["Range: bytes=0-1", "If-Match: \"x\""], 412),
            (["Range: bytes=9-", "If-Match: \"x\""], 412),
            (["Range: bytes=0-1"], 206),
            (["Range: bytes=0-1", "If-Range: \"cafe\""], 206),
            (["Range: bytes=0-1", "If-Range: W/\"cafe\""], 200),
            (["Range: bytes=0-1", "If-Range: \"cafe-gzip\""], 200),
            (["Range: bytes=0-1", "If-Range: *"], 200),
            (["Range: bytes=0-1", "If-Range: \(then)"], 206),
            (["Range: bytes=0-1", "If-Range: \(after)"], 200),
            (["Range: bytes=0-1", "If-Range: \(before)"], 200),
            (["Range: bytes=9-", "If-Range: \"x\""], 200),
            (["Range: bytes=9-", "If-Range: \"cafe\""], 416),
            (["If-Range: \"cafe\""], 200),
        ])
    func statuses(fields: [String], status: Int) async throws {
        let file = try TestFile([1, 2, 3, 4, 5, 6, 7, 8, 9])
        let headers: HTTPFields = [
            .contentType: "text/plain", .contentEncoding: "gzip", .vary: "Accept-Encoding", .cacheControl: "private",
            .contentDisposition: "attachment",
        ]
        try await FileServer.run(serving: file, headers: headers) { server in
            for method in ["GET", "HEAD"] {
                let expected = method == "HEAD" && [206, 416].contains(status) ? 200 : status
                let answer = try await server.answer(method, "/file", fields)
                #expect(answer.status == expected, "\(method) \(fields)")
                guard answer.status == 304 else { continue }
                #expect(answer["etag"] == "\"cafe\"")
                #expect(answer["vary"] == "Accept-Encoding")
                #expect(answer["cache-control"] == "private")
                for name in [
                    "content-type", "content-encoding", "content-length", "content-disposition", "transfer-encoding",
                ] {
                    #expect(answer[name] == nil)
                }
            }
            #expect(try await file.isReleased())
        }
    }

    @Test("Dates of many years are written as they are read")
    func dates() async throws {
        // 1 January 1970 was a Thursday; so was 29 February 2024; 1 March 2000 was a Wednesday; the last day of 2099 is
        // a Thursday.
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
        ] {
            let answer = try await ServedFileAnswer.lastModified(Int64(seconds))
            #expect(answer == text)
        }
    }
}
