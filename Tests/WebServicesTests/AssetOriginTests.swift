import HTTPServing
import Records
import Testing

/// Access to assets for pages in browsers.
@Suite("Assets and origins")
struct AssetOriginTests {
    private static let text = Array("Some text.".utf8)

    @Test(
        "A page of a trusted site asks first, then uploads and downloads",
        arguments: ["http://localhost:3000", "http://127.0.0.1:5173"])
    func trusted(origin: String) async throws {
        try await AssetClient.run { client in
            let slot = try await client.slot()
            for method in ["POST", "PUT"] {
                let preflight = try await client.send(
                    "OPTIONS", slot.path,
                    [
                        "Origin: \(origin)", "Access-Control-Request-Method: \(method)",
                        "Access-Control-Request-Headers: x-skylight-file-name",
                    ])
                #expect(preflight.status == 204 && preflight.headers["access-control-allow-origin"] == origin)
                #expect(preflight.headers["access-control-allow-methods"]?.contains(method) == true)
                #expect(preflight.headers["access-control-allow-headers"] == "x-skylight-file-name")
            }
            let uploaded = try await client.send(
                "POST", slot.path, ["Origin: \(origin)", "Sec-Fetch-Site: cross-site"], body: Self.text)
            #expect(uploaded.status == 200 && uploaded.headers["access-control-allow-origin"] == origin)
            let failed = try await client.send("POST", slot.path + "x", ["Origin: \(origin)"], body: Self.text)
            #expect(failed.status == 404 && failed.headers["access-control-allow-origin"] == origin)
            let path = try await client.store(Self.text)
            let downloaded = try await client.send("GET", path, ["Origin: \(origin)", "Range: bytes=1-2"])
            #expect(downloaded.status == 206 && downloaded.headers["access-control-allow-origin"] == origin)
            let exposed = try #require(downloaded.headers["access-control-expose-headers"])
            for name in ["Content-Range", "Content-Encoding", "ETag", "X-Skylight-Size", "Accept-Ranges"] {
                #expect(exposed.contains(name))
            }
            let vary = try #require(downloaded.headers["vary"])
            #expect(vary.contains("Origin") && vary.contains("Accept-Encoding"))
        }
    }

    @Test("A page of another site can't read or write assets")
    func foreign() async throws {
        try await AssetClient.run { client in
            let slot = try await client.slot()
            let path = try await client.store(Self.text)
            // Where the page has an origin, it reads the refusal.
            let headers = [
                ("Origin: https://evil.example", "https://evil.example"), ("Origin: null", "null"),
                ("Sec-Fetch-Site: cross-site", nil),
            ]
            for (header, reader) in headers {
                let response = try await client.send("POST", slot.path, [header], body: Self.text)
                #expect(response.status == 403 && response.headers["access-control-allow-origin"] == reader)
                #expect(response.headers["access-control-allow-credentials"] == nil)
                #expect(Subset.differences(["serverErrorCode": "ACCESS_DENIED"], try response.json()) == [])
            }
            #expect(try await client.send("GET", path, ["Origin: https://evil.example"]).status == 403)
        }
    }

    @Test(
        "Pages of trusted sites may show a file, and links to it may be followed",
        arguments: [
            (["Sec-Fetch-Dest: image", "Referer: http://localhost:3000/"], 200),
            (["Sec-Fetch-Dest: video", "Referer: http://127.0.0.1:3000/a?b#c"], 200),
            (["Sec-Fetch-Dest: image", "Referer: https://evil.example/"], 403), (["Sec-Fetch-Dest: image"], 403),
            (["Sec-Fetch-Dest: image", "Referer: http://localhost@evil.example/"], 403),
            (["Sec-Fetch-Dest: image", "Referer: http://localhost.evil.example/"], 403),
            (["Sec-Fetch-Dest: image", "Referer: localhost"], 403),
            (["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], 200),
            (["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe", "Referer: https://evil.example/"], 403),
        ])
    func embedding(headers: [String], status: Int) async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text)
            let response = try await client.send("GET", path, ["Sec-Fetch-Site: cross-site"] + headers)
            #expect(response.status == status)
            if status == 200 { #expect(response.headers["cross-origin-resource-policy"] == "cross-origin") }
            // Pages may only embed files.
            #expect(
                try await client.send(
                    "GET", "\(AssetClient.root)/private/zones/list", ["Sec-Fetch-Site: cross-site"] + headers
                ).status == 403)
        }
    }
}
