import HTTPServing
import Hummingbird
import Testing

/// Compressed answers.
@Suite("Compression")
struct CompressionTests {
    private static let long = String(repeating: "All work and no play makes Jack a dull boy. ", count: 5000)

    private func response(_ path: String, accepting codings: String?) async throws -> RawResponse {
        let (responses, continuation) = AsyncStream.makeStream(of: RawResponse.self)
        try await TestServer.run(routes: { router in
            router.get("long") { _, _ in Response.text(Self.long) }
            router.get("short") { _, _ in Response.text("short") }
            router.get("image") { _, _ in Response.content(Self.long.utf8, type: "image/png") }
            router.get("events") { _, _ in Response.content(Self.long.utf8, type: "text/event-stream") }
        }) { server in
            let header = codings.map { "Accept-Encoding: \($0)\r\n" } ?? ""
            let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(header)\r\n"
            for response in try await server.client.exchange(request) { continuation.yield(response) }
        }
        continuation.finish()
        for await response in responses { return response }
        throw RawResponse.Malformed(text: "no answer")
    }

    @Test(
        "Long text is compressed for those who take gzip",
        arguments: ["gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.5", "*"])
    func compressed(codings: String) async throws {
        let response = try await response("/long", accepting: codings)
        #expect(response.headers["content-encoding"] == "gzip")
        #expect(response.headers["content-length"] == nil)
        #expect(response.headers["vary"]?.contains("Accept-Encoding") == true)
        #expect(response.body.count < Self.long.utf8.count / 10)
        #expect(String(decoding: try Tool.gunzip(response.body), as: UTF8.self) == Self.long)
    }

    @Test("and for nobody else", arguments: [nil, "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *"])
    func plain(codings: String?) async throws {
        let response = try await response("/long", accepting: codings)
        #expect(response.headers["content-encoding"] == nil)
        #expect(response.text == Self.long)
        #expect(response.headers["vary"]?.contains("Accept-Encoding") == true)
    }

    @Test("Responses that do not get smaller are not compressed", arguments: ["/short", "/image", "/events"])
    func untouched(path: String) async throws {
        #expect(try await response(path, accepting: "gzip").headers["content-encoding"] == nil)
    }
}
