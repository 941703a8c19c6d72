import Foundation
import RecordStore
import Records
import TestSupport
import Testing

/// Downloads with every possible status.
@Suite("Asset downloads")
struct AssetDownloadTests {
    private static let text = Array((0..<20_000).map { "Line \($0 * $0)\n" }.joined().utf8)
    /// Like a JPEG: the content after the header does not compress.
    private static let image: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0] + (0..<50_000).map { _ in UInt8.random(in: .min ... .max) }

    private func expect(
        _ response: RawResponse, _ status: Int, _ code: String, _ words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(response.status == status, "\(response.text)", sourceLocation: sourceLocation)
        let expected: JSONValue = [
            "serverErrorCode": .string(code), "reason": .string("<has \(words)>"), "uuid": "<any>",
        ]
        #expect(Subset.differences(expected, try response.json()) == [], sourceLocation: sourceLocation)
    }

    // MARK: Whole files

    @Test("A file comes as it was, with what a client needs to know")
    func whole() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text, named: "a.txt")
            let response = try await client.send("GET", path)
            #expect(response.status == 200 && response.body == Self.text)
            let checksum = try Tool.sha256(Self.text)
            let expected = [
                "content-length": "\(Self.text.count)", "etag": "\"\(checksum)\"", "accept-ranges": "bytes",
                "x-skylight-size": "\(Self.text.count)",
                "content-type": "text/plain; charset=utf-8",
                "content-disposition": "attachment; filename=\"a.txt\"; filename*=UTF-8''a.txt",
                "x-content-type-options": "nosniff", "content-security-policy": "sandbox; default-src 'none'",
                "x-frame-options": "DENY",
                "cross-origin-resource-policy": "cross-origin",
            ]
            for (name, value) in expected { #expect(response.headers[name] == value, "\(name)") }
            #expect(response.headers["last-modified"]?.hasSuffix("GMT") == true)
            #expect(
                response.headers["content-encoding"] == nil
                    && response.headers["vary"]?.contains("Accept-Encoding") == true)
            let caching = try #require(response.headers["cache-control"])
            let age = try #require(
                caching.firstMatch(of: #/private, max-age=(\d+), immutable/#).flatMap { Int($0.output.1) })
            #expect((3600...4500).contains(age))
            let head = try await client.send("HEAD", path)
            #expect(head.status == 200 && head.body.isEmpty)
            for name in expected.keys { #expect(head.headers[name] == response.headers[name], "\(name)") }
        }
    }

    @Test("The compressed form is a file of its own, with its length")
    func compressed() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text)
            let response = try await client.send("GET", path, ["Accept-Encoding: gzip"])
            #expect(response.status == 200 && response.headers["content-encoding"] == "gzip")
            #expect(
                response.headers["content-length"] == "\(response.body.count)"
                    && response.body.count < Self.text.count / 2)
            #expect(response.headers["x-skylight-size"] == "\(Self.text.count)")
            #expect(response.headers["etag"] == "\"\(try Tool.sha256(Self.text))-gzip\"")
            #expect(response.headers["accept-ranges"] == "bytes")
            #expect(try Tool.gunzip(response.body) == Self.text)
            let half = response.body.count / 2
            let rest = try await client.send(
                "GET", path,
                ["Accept-Encoding: gzip", "Range: bytes=\(half)-", "If-Range: \(response.headers["etag"] ?? "")"])
            #expect(rest.status == 206 && rest.headers["content-encoding"] == "gzip")
            #expect(try Tool.gunzip(response.body.prefix(half) + rest.body) == Self.text)
            // The other coding has another tag, so ranges do not apply.
            let other = try await client.send(
                "GET", path, ["Range: bytes=\(half)-", "If-Range: \(response.headers["etag"] ?? "")"])
            #expect(other.status == 200 && other.body == Self.text)
        }
    }

    @Test(
        "Accept-Encoding is obeyed with its weights",
        arguments: [
            (nil, false), ("gzip", true), ("identity", false), ("gzip;q=0", false),
            ("gzip;q=0.5, identity;q=0.9", false), ("gzip;q=0.9, identity;q=0.5", true),
            ("br, gzip;q=0.001", true), ("*", true), ("*;q=0", false), ("identity;q=0, gzip;q=0.1", true),
            ("br", false), ("GZIP", true),
        ])
    func weights(accepted: String?, isCompressed: Bool) async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text)
            let response = try await client.send("GET", path, accepted.map { ["Accept-Encoding: \($0)"] } ?? [])
            #expect(response.status == 200)
            #expect(response.headers["content-encoding"] == (isCompressed ? "gzip" : nil))
            #expect(response.headers["content-length"] == "\(response.body.count)")
            #expect(try (isCompressed ? Tool.gunzip(response.body) : response.body) == Self.text)
        }
    }

    @Test("Incompressible files are sent uncompressed, unless the client accepts only gzip")
    func incompressible() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.image)
            let response = try await client.send("GET", path, ["Accept-Encoding: gzip"])
            #expect(
                response.headers["content-encoding"] == nil && response.body == Self.image
                    && response.headers["content-type"] == "image/jpeg")
            let forced = try await client.send("GET", path, ["Accept-Encoding: gzip, identity;q=0"])
            #expect(
                forced.status == 200 && forced.headers["content-encoding"] == "gzip"
                    && forced.headers["accept-ranges"] == "none")
            #expect(forced.headers["etag"]?.hasPrefix("W/") == true && forced.headers["content-length"] == nil)
            #expect(try Tool.gunzip(forced.body) == Self.image)
            let head = try await client.send("HEAD", path, ["Accept-Encoding: gzip, identity;q=0"])
            #expect(head.status == 200 && head.body.isEmpty && head.headers["etag"] == forced.headers["etag"])
            for tag in [forced.headers["etag"] ?? "", "\"x\", " + (forced.headers["etag"]?.dropFirst(2) ?? ""), "*"] {
                let held = try await client.send(
                    "GET", path, ["Accept-Encoding: gzip, identity;q=0", "If-None-Match: \(tag)"])
                #expect(held.status == 304 && held.body.isEmpty && held.headers["etag"] == forced.headers["etag"])
            }
            let other = try await client.send(
                "GET", path, ["Accept-Encoding: gzip, identity;q=0", "If-None-Match: \"x\""])
            #expect(other.status == 200)
        }
    }

    @Test(
        "A large file is sent as it is until it is compressed, and never without its length unless nothing else will do"
    )
    func largeFiles() async throws {
        try await AssetClient.run { client in
            let large = Array(repeating: Self.text, count: (5 << 20) / Self.text.count + 1).flatMap(\.self)
            let path = try await client.store(large)
            let forced = try await client.send("GET", path, ["Accept-Encoding: gzip, identity;q=0"])
            #expect(forced.headers["content-encoding"] == "gzip")
            #expect(try Tool.gunzip(forced.body) == large)
            try await eventually {
                let response = try await client.send("GET", path, ["Accept-Encoding: gzip"])
                let isCompressed = response.headers["content-encoding"] == "gzip"
                #expect(
                    response.headers["content-length"] == "\(response.body.count)"
                        && response.headers["accept-ranges"] == "bytes")
                #expect(try (isCompressed ? Tool.gunzip(response.body) : response.body) == large)
                return isCompressed
            }
        }
    }

    // MARK: Parts and conditions

    @Test("A part is the bytes that were asked for, or none")
    func parts() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text)
            let count = Self.text.count
            let table: [(String, Range<Int>?)] = [
                ("bytes=0-0", 0..<1), ("bytes=0-", 0..<count), ("bytes=10-19", 10..<20),
                ("bytes=-5", count - 5..<count), ("bytes=\(count - 1)-", count - 1..<count),
                ("bytes=5-\(count * 2)", 5..<count), ("bytes=-\(count * 2)", 0..<count), ("bytes=\(count)-", nil),
                ("bytes=-0", nil),
            ]
            for (range, expected) in table {
                let response = try await client.send("GET", path, ["Range: \(range)"])
                if let expected {
                    #expect(response.status == 206 && response.body == Array(Self.text[expected]), "\(range)")
                    #expect(
                        response.headers["content-range"]
                            == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(count)", "\(range)")
                } else {
                    try expect(response, 416, "BAD_REQUEST", "\(count) bytes")
                    #expect(response.headers["content-range"] == "bytes */\(count)", "\(range)")
                }
            }
            for _ in 0..<20 {
                let start = Int.random(in: 0..<count)
                let end = Int.random(in: start..<count)
                let response = try await client.send("GET", path, ["Range: bytes=\(start)-\(end)"])
                #expect(response.status == 206 && response.body == Array(Self.text[start...end]), "\(start)-\(end)")
            }
            for range in ["bytes=0-1,5-6", "lines=0-1", "bytes=5-1"] {
                #expect(try await client.send("GET", path, ["Range: \(range)"]).body == Self.text, "\(range)")
            }
        }
    }

    @Test("A part is of the file itself, unless the client continues the compressed form")
    func partsOfEitherForm() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text)
            let whole = try await client.send("GET", path, ["Accept-Encoding: gzip, deflate"])
            let (gzip, tag) = (whole.body, try #require(whole.headers["etag"]))
            let count = Self.text.count
            #expect(whole.headers["content-encoding"] == "gzip" && gzip.count < count / 2)
            // As many libraries send it: they accept gzip without being asked.
            for (range, expected) in [
                ("bytes=100-", 100..<count), ("bytes=\(count - 9)-\(count - 1)", count - 9..<count),
                ("bytes=-5", count - 5..<count),
            ] {
                let response = try await client.send(
                    "GET", path, ["Accept-Encoding: gzip, deflate", "Range: \(range)"])
                #expect(response.status == 206 && response.body == Array(Self.text[expected]), "\(range)")
                #expect(
                    response.headers["content-encoding"] == nil
                        && response.headers["vary"]?.contains("Accept-Encoding") == true, "\(range)")
                #expect(
                    response.headers["content-range"]
                        == "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(count)", "\(range)")
            }
            // The tag of the file itself goes on with the file itself, a tag that fits nothing brings all of it.
            let plain = try #require(try await client.send("HEAD", path).headers["etag"])
            let more = try await client.send(
                "GET", path, ["Accept-Encoding: gzip", "Range: bytes=100-", "If-Range: \(plain)"])
            #expect(more.status == 206 && more.body == Array(Self.text[100...]))
            let stale = try await client.send(
                "GET", path, ["Accept-Encoding: gzip", "Range: bytes=100-", "If-Range: \"stale\""])
            #expect(stale.status == 200 && stale.headers["content-encoding"] == nil && stale.body == Self.text)
            // These clients mean the compressed form: they hold a part of it, or refuse every other form.
            for headers in [
                ["Accept-Encoding: gzip", "If-Range: \(tag)"], ["Accept-Encoding: gzip", "If-Match: \(tag)"],
                ["Accept-Encoding: gzip, identity;q=0"],
            ] {
                let rest = try await client.send("GET", path, headers + ["Range: bytes=100-"])
                #expect(
                    rest.status == 206 && rest.headers["content-encoding"] == "gzip" && rest.headers["etag"] == tag,
                    "\(headers)")
                #expect(rest.body == Array(gzip[100...]), "\(headers)")
            }
        }
    }

    @Test("A client with the current file gets status 304")
    func conditions() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text)
            let plain = try await client.send("HEAD", path)
            let gzip = try await client.send("HEAD", path, ["Accept-Encoding: gzip"])
            let (tag, gzipTag) = (try #require(plain.headers["etag"]), try #require(gzip.headers["etag"]))
            #expect(tag != gzipTag)
            let table: [([String], Int)] = [
                (["If-None-Match: \(tag)"], 304), (["If-None-Match: *"], 304), (["If-None-Match: \"x\", \(tag)"], 304),
                (["If-None-Match: \(gzipTag)"], 200),
                (["If-None-Match: \(gzipTag)", "Accept-Encoding: gzip"], 304),
                (["If-Modified-Since: \(plain.headers["last-modified"] ?? "")"], 304),
                (["If-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT"], 200), (["If-Match: \"x\""], 412),
            ]
            for (headers, status) in table {
                let response = try await client.send("GET", path, headers)
                #expect(response.status == status, "\(headers)")
                if status == 304 {
                    #expect(
                        response.body.isEmpty && response.headers["etag"] == (headers.count > 1 ? gzipTag : tag)
                            && response.headers["cache-control"] != nil)
                }
            }
        }
    }

    // MARK: Refusals

    @Test("An address that was altered is not found")
    func unknown() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text, named: "a.txt")
            let upload = try await client.slot().path
            let paths = [
                path.replacing("a.txt", with: "b.html"), path + "x", path.replacing("/download/", with: "/download/A"),
                upload.replacing("upload", with: "download") + "/a.txt",
                path.replacing("/development/", with: "/production/"), path.replacing("Test", with: "Other"),
                "/assets/iCloud.com.example.Test/development/download/unknown/x",
            ]
            for path in paths {
                try expect(try await client.send("GET", path), 404, "NOT_FOUND", "fetch the record again")
            }
            #expect(
                try await client.server.engine.require(.listContainers).containers().map(\.description) == [
                    ScenarioRunner.container
                ])
            for method in ["POST", "PUT", "DELETE"] {
                #expect(try await client.send(method, path, body: []).status == 405)
            }
        }
    }

    @Test("An address is good for an hour at least, and then gone")
    func expired() async throws {
        let clock = MovingClock()
        try await AssetClient.run(clock: clock) { client in
            let path = try await client.store(Self.text)
            clock.advance(by: .seconds(3600))
            #expect(try await client.send("GET", path).status == 200)
            clock.advance(by: .seconds(901))
            try expect(try await client.send("GET", path), 410, "BAD_REQUEST", "Fetch the record again")
            let read = try await client.post("records/lookup", ["records": [["recordName": "r"]]])
            let fresh = try client.downloadPath(try #require(Subset.value(at: "records[0]", in: try read.json())))
            #expect(fresh != path)
            #expect(try await client.send("GET", fresh).body == Self.text)
        }
    }

    @Test("Within a quarter of an hour the address stays the same, so that browsers can keep the file")
    func stable() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.text)
            func address() async throws -> String {
                let read = try await client.post("records/lookup", ["records": [["recordName": "r"]]])
                return try client.string("records[0].fields.file.value.downloadURL", in: try read.json())
            }
            // The quarter hour may end between two calls, but not between both pairs.
            var pairs: [Bool] = []
            for _ in 0..<2 { pairs.append(try await address() == address()) }
            #expect(pairs.contains(true))
        }
    }

    @Test(
        "A file that is missing, shorter or longer on disk is an honest error",
        arguments: ["missing", "shorter", "longer"])
    func damaged(how: String) async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.image)
            let name = try #require(try AssetFiles.stored(in: client.server.folder).first { !$0.hasSuffix(".gz") })
            let file = client.server.folder.appending(path: name)
            switch how {
            case "missing": try FileManager.default.removeItem(at: file)
            case "shorter": try Data(Self.image.dropLast()).write(to: file)
            default: try Data(Self.image + [0]).write(to: file)
            }
            for method in ["GET", "HEAD"] {
                let response = try await client.send(method, path)
                #expect(response.status == 500)
                if method == "GET" { try expect(response, 500, "INTERNAL_ERROR", "skylight assets verify") }
            }
        }
    }

    // MARK: Hostile content

    @Test(
        "Files that a browser would run get a harmless content type",
        arguments: [
            ("<!DOCTYPE html><html><script>alert(1)</script>", "text/plain; charset=utf-8"),
            (
                "<?xml version='1.0'?><x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
                "text/plain; charset=utf-8"
            ),
            ("alert(1)", "text/plain; charset=utf-8"),
            // As an image it runs no script; as a page it is a sandboxed attachment.
            ("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml"),
        ])
    func hostileContent(content: String, type: String) async throws {
        try await AssetClient.run { client in
            for name in ["page.html", "image.svg", "script.js", "file.xhtml"] {
                let response = try await client.send(
                    "GET", try await client.store(Array(content.utf8), named: name), ["Accept: text/html"])
                #expect(response.text == content)
                #expect(response.headers["content-type"]?.lowercased() == type, "\(name)")
                #expect(
                    response.headers["x-content-type-options"] == "nosniff"
                        && response.headers["x-frame-options"] == "DENY")
                #expect(response.headers["content-security-policy"] == "sandbox; default-src 'none'")
                #expect(response.headers["content-disposition"]?.hasPrefix("attachment; ") == true)
            }
        }
    }

    @Test("A hostile name becomes a harmless one", arguments: HostileName.all)
    func hostileNames(name: HostileName) async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text, named: name.encoded)
            let response = try await client.send("GET", path)
            #expect(response.status == 200 && response.body == Self.text)
            #expect(response.headers["content-disposition"] == name.disposition)
            // The name must not add headers.
            #expect(response.headers["x-evil"] == nil && response.headers["set-cookie"] == nil)
        }
    }

    /// An uploaded file name, and the Content-Disposition of its download.
    struct HostileName: Sendable, CustomTestStringConvertible {
        let encoded: String
        let disposition: String
        var testDescription: String { String(encoded.prefix(40)) }

        init(_ encoded: String, _ plain: String, _ extended: String) {
            self.encoded = encoded
            disposition = "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(extended)"
        }

        static let all = [
            HostileName("..%2F..%2Fetc%2Fpasswd", ".._.._etc_passwd", ".._.._etc_passwd"),
            HostileName("%2E%2E", "asset", "asset"),
            HostileName("a%5Cb%22c%22.txt", "a_b_c_.txt", "a_b_c_.txt"),
            HostileName("a%0D%0AX-Evil%3A 1%0D%0A.txt", "aX-Evil_ 1.txt", "aX-Evil_%201.txt"),
            HostileName("a%00b%7F.txt", "ab.txt", "ab.txt"),
            HostileName("gpj.%E2%80%AEexe.txt", "gpj.exe.txt", "gpj.exe.txt"),
            HostileName("%D7%A9%D7%9C%D7%95%D7%9D.txt", "____.txt", "%D7%A9%D7%9C%D7%95%D7%9D.txt"),
            HostileName("100%25 caf%C3%A9 e%CC%81.txt", "100_ caf_ e_.txt", "100%25%20caf%C3%A9%20e%CC%81.txt"),
            HostileName(
                String(repeating: "%F0%9F%98%80", count: 300), String(repeating: "_", count: 63),
                String(repeating: "%F0%9F%98%80", count: 63)),
        ]
    }
}
