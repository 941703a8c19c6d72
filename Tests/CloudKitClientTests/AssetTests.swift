import LoopbackServing
import NIOCore
import Records
import Synchronization
import Testing

@testable import CloudKitClient

/// Files on their way to and from the server of asset files.
@Suite struct AssetTests {
    private static let text = String((0..<3000).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })

    private static func asset(at address: String, size: Int64 = 3000) -> ReceivedAsset {
        ReceivedAsset(asset: Asset(fileChecksum: "c", size: size), downloadURL: address)
    }

    private static func parts(of text: String, size: Int = 100) -> AsyncStream<ByteBuffer> {
        let bytes = Array(text.utf8)
        return AsyncStream { continuation in
            for start in stride(from: 0, to: bytes.count, by: size) {
                continuation.yield(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
            }
            continuation.finish()
        }
    }

    private static func download(
        _ client: ContainerClient, _ asset: ReceivedAsset, from offset: Int64 = 0,
        _ progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> String {
        var bytes: [UInt8] = []
        for try await part in try client.database(.private).download(
            asset, fileName: "a b/c.txt", from: offset, progress: progress)
        { bytes += Array(part.readableBytesView) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func upload(
        _ client: ContainerClient, to address: String, size: Int64 = 3000,
        _ progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> Asset {
        let slot = UploadSlot(recordName: "r", fieldName: "f", url: "\(address)/upload")
        return try await client.database(.private).upload(to: slot, size: size, progress: progress) {
            Self.parts(of: Self.text)
        }
    }

    private static let uploaded = ScriptedServer.Reply.json(
        #"{"singleFile":{"wrappingKey":"w","fileChecksum":"c","receipt":"r","referenceChecksum":"x","size":3000}}"#)

    // MARK: Uploads

    @Test func anUploadIsStreamedAndAnsweredWithAReceipt() async throws {
        let stage = Stage()
        let told = Mutex<[TransferProgress]>([])
        try await ScriptedServer.run(Self.uploaded) { address, server in
            try await stage.run(address) { client in
                let asset = try await upload(client, to: address) { progress in told.withLock { $0.append(progress) } }
                #expect(
                    asset
                        == Asset(fileChecksum: "c", size: 3000, referenceChecksum: "x", wrappingKey: "w", receipt: "r"))
            }
            #expect(
                server.requests.map(\.body) == [Self.text] && server.requests[0].method == "POST"
                    && server.requests[0].target == "/upload")
            #expect(server.requests[0].headers["content-length"] == "3000")
        }
        #expect(told.withLock { $0.map(\.bytes) } == stride(from: 100, through: 3000, by: 100).map { Int64($0) })
    }

    @Test func aBrokenUploadBeginsAnew() async throws {
        let stage = Stage()
        try await ScriptedServer.run(
            .close, .raw("", status: 503, ["Retry-After": "9"]), .raw("", status: 421), Self.uploaded.cut(after: 80),
            Self.uploaded
        ) { address, server in
            try await stage.run(address) { client in
                let asset = try await upload(client, to: address)
                #expect(asset.receipt == "r")
            }
            #expect(server.requests.map(\.body) == Array(repeating: Self.text, count: 5))
        }
        #expect(stage.time.pauses.count == 4 && stage.time.pauses[1] == .seconds(9))
    }

    /// The connection takes each part in 100 seconds or more.
    @Test func anUploadThatIsTakenTooSlowlyIsGivenUp() async throws {
        let stage = Stage(tick: .seconds(100))
        try await ScriptedServer.run(Self.uploaded) { address, _ in
            try await stage.run(address, as: nil, { $0.patience = .seconds(30) }) { client in
                let failed = await failure { _ = try await upload(client, to: address) }
                #expect(
                    failed?.kind == .connectionLost("the transfer was slower than 1024 bytes a second")
                        && failed?.attempts == 1)
            }
        }
    }

    /// Nobody asks for another part, so only the watch can end it.
    @Test func anUploadOfWhichNothingIsTakenIsGivenUp() async throws {
        let slept = Mutex<[Duration]>([])
        let upload = PacedUpload(
            Self.parts(of: Self.text),
            sleep: { time in
                slept.withLock { $0.append(time) }
                await Task.yield()
            })
        await #expect(throws: TransferPace.TooSlow.self) {
            try await upload.watching {
                var parts = upload.makeAsyncIterator()
                _ = try await parts.next()
                try await Task.sleep(for: .seconds(3600))
            }
        }
        #expect(Set(slept.withLock { $0 }) == [.seconds(94)])
    }

    @Test func anUploadIsHandedOverInSmallParts() async throws {
        let (parts, part) = AsyncStream.makeStream(of: ByteBuffer.self)
        part.yield(ByteBuffer(repeating: 1, count: 150_000))
        part.yield(ByteBuffer())
        part.yield(ByteBuffer(repeating: 2, count: 10))
        part.finish()
        var lengths: [Int] = []
        for try await part in PacedUpload(parts) { lengths.append(part.readableBytes) }
        #expect(lengths == [65_536, 65_536, 18_928, 10])
    }

    @Test func anUploadThatIsRefusedSaysWhy() async throws {
        let stage = Stage()
        let answers: [(ScriptedServer.Reply, CloudKitFailure.Kind)] = [
            (.raw("", status: 413), .assetRefused(status: 413)),
            (.raw("gone", status: 410), .assetRefused(status: 410)),
            (
                .error("QUOTA_EXCEEDED", status: 413),
                .refused(ServerError(codeName: "QUOTA_EXCEEDED", reason: "Because of QUOTA_EXCEEDED", uuid: "u-1"))
            ),
            (
                .json("{}"),
                .unexpectedAnswer(status: 200, "expected an object 'singleFile' with 'fileChecksum' and 'size'")
            ),
        ]
        for (reply, kind) in answers {
            try await ScriptedServer.run(reply) { address, server in
                try await stage.run(address) { client in
                    let failed = await failure { _ = try await upload(client, to: address) }
                    #expect(failed?.kind == kind && server.requests.count == 1)
                }
            }
        }
    }

    @Test func aFileThatFailsOrIsOfAnotherSizeIsTheCallers() async throws {
        struct Unreadable: Error {}
        let stage = Stage()
        try await ScriptedServer.run(Self.uploaded) { address, _ in
            try await stage.run(address) { client in
                let slot = UploadSlot(recordName: "r", fieldName: "f", url: "\(address)/upload")
                await #expect(throws: Unreadable.self) {
                    try await client.database(.private).upload(to: slot, size: 10) {
                        AsyncThrowingStream<ByteBuffer, any Error> { continuation in
                            continuation.yield(ByteBuffer(string: "12345"))
                            continuation.finish(throwing: Unreadable())
                        }
                    }
                }
                for size in [2999, -1] as [Int64] {
                    let failed = await failure { _ = try await upload(client, to: address, size: size) }
                    guard case .invalidRequest? = failed?.kind else { return unexpected(failed as Any) }
                }
            }
        }
        #expect(stage.time.pauses.isEmpty)
    }

    // MARK: Downloads

    /// Serves the text, or the part of it that is asked for.
    private static func serve(_ request: ScriptedServer.Request, tag: String = "\"t\"") -> ScriptedServer.Reply {
        guard let range = request.headers["range"],
            let start = range.split(separator: "=").last.flatMap({ Int($0.dropLast()) })
        else {
            return .raw(text, ["ETag": tag])
        }
        return .raw(
            String(text.dropFirst(start)), status: 206, ["Content-Range": "bytes \(start)-2999/3000", "ETag": tag])
    }

    @Test func thePlaceholderIsReplacedAndNothingElseOfTheAddress() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ request, _ in Self.serve(request) }) { address, server in
            try await stage.run(address) { client in
                for path in [
                    "/B/AQ_-/${f}?o=a%2Bb&v=1", "/B/AQ_-/%24%7Bf%7D?o=a%2Bb&v=1", "/B/AQ_-/%24%7bF%7d?o=a%2Bb&v=1",
                ] {
                    let text = try await Self.download(client, Self.asset(at: address + path))
                    #expect(text == Self.text)
                }
            }
            #expect(Set(server.requests.map(\.target)) == ["/B/AQ_-/a%20b%2Fc.txt?o=a%2Bb&v=1"])
            // The address is enough: credentials have no business there.
            #expect(
                server.requests.allSatisfy {
                    !$0.target.contains("ckAPIToken") && $0.headers["authorization"] == nil
                        && $0.headers["accept-encoding"] == "identity"
                })
        }
    }

    /// Connections break before the head, within it, after it, in the file, and before its last byte.
    private static let breaks: [@Sendable (ScriptedServer.Reply) -> Int] = [
        { _ in 0 }, { $0.headCount - 1 }, { $0.headCount }, { $0.headCount + 1 },
        { ($0.headCount + $0.bytes.count) / 2 }, { $0.bytes.count - 1 },
    ]

    @Test(arguments: breaks.indices)
    func aDownloadGoesOnWhereItBroke(index: Int) async throws {
        let stage = Stage()
        let told = Mutex<[Int64]>([])
        try await ScriptedServer.run({ request, number in
            let reply = Self.serve(request)
            return number < 3 ? reply.cut(after: Self.breaks[index](reply)) : reply
        }) { address, server in
            try await stage.run(address) { client in
                let text = try await Self.download(client, Self.asset(at: address + "/f")) { progress in
                    told.withLock { $0.append(progress.bytes) }
                }
                #expect(text == Self.text)
            }
            #expect(server.requests.count == 4 && server.requests[0].headers["range"] == nil)
            let starts = server.requests.map { request in
                request.headers["range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
            }
            #expect(starts == starts.sorted())
            #expect(
                server.requests.allSatisfy { $0.headers["if-range"] == ($0.headers["range"] == nil ? nil : "\"t\"") })
        }
        let bytes = told.withLock { $0 }
        #expect(bytes.last == 3000 && bytes == bytes.sorted())
    }

    @Test func anotherFileIsNoRestOfThisOne() async throws {
        let stage = Stage()
        let answers: [@Sendable (ScriptedServer.Request) -> ScriptedServer.Reply] = [
            { Self.serve($0, tag: "\"u\"") }, { _ in .raw(Self.text, ["ETag": "\"u\""]) },
        ]
        for answer in answers {
            try await ScriptedServer.run({ request, number in
                let first = Self.serve(request)
                return number == 0 ? first.cut(after: first.headCount) : answer(request)
            }) { address, server in
                try await stage.run(address) { client in
                    let failed = await failure {
                        _ = try await Self.download(client, Self.asset(at: address + "/f"), from: 5)
                    }
                    guard case .unexpectedAnswer(_, let reason)? = failed?.kind else {
                        return unexpected(failed as Any)
                    }
                    #expect(reason.contains("another one") && server.requests.count == 2)
                }
            }
        }
    }

    @Test func aDownloadEndsAtItsDeadline() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ request, _ in Self.serve(request) }) { address, server in
            try await stage.run(address) { client in
                let database = client.database(.private).until(stage.time.start + .seconds(50)).observing { event in
                    if case .answered = event { stage.time.advance(by: .seconds(100)) }
                }
                for _ in 0..<2 {
                    let failed = await failure {
                        for try await _ in try database.download(Self.asset(at: address + "/f")) {}
                    }
                    #expect(failed?.kind == .connectionLost("the deadline had passed") && server.requests.count == 1)
                }
            }
        }
    }

    @Test func aServerWithoutPartsIsReadFromTheStart() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ _, number in
            number == 0 ? ScriptedServer.Reply.raw(Self.text, ["ETag": "W/\"t\""]).cut(after: 900) : .raw(Self.text)
        }) { address, server in
            try await stage.run(address) { client in
                let text = try await Self.download(client, Self.asset(at: address + "/f"))
                #expect(text == Self.text)
                #expect(
                    server.requests.count == 2 && server.requests[1].headers["range"] != nil
                        && server.requests[1].headers["if-range"] == nil)
                let end = try await Self.download(client, Self.asset(at: address + "/f"), from: 2990)
                #expect(end == String(Self.text.suffix(10)))
                let nothing = try await Self.download(client, Self.asset(at: address + "/f"), from: 3000)
                #expect(nothing.isEmpty && server.requests.count == 3)
            }
        }
    }

    @Test func aMisdirectedRequestIsNoSignIn() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ request, number in number == 0 ? .raw("", status: 421) : Self.serve(request) }) {
            address, server in
            try await stage.run(address) { client in
                let text = try await Self.download(client, Self.asset(at: address + "/f"))
                #expect(text == Self.text && server.requests.count == 2)
            }
        }
        try await ScriptedServer.run(.raw("", status: 421)) { address, _ in
            try await stage.run(address) { client in
                let failed = await failure { _ = try await Self.download(client, Self.asset(at: address + "/f")) }
                #expect(failed?.kind == .assetRefused(status: 421) && failed?.signInURL == nil)
            }
        }
    }

    @Test(arguments: [403, 404, 410])
    func anExpiredAddressIsNotAskedAgain(status: Int) async throws {
        let stage = Stage()
        try await ScriptedServer.run(.raw("x", status: status)) { address, server in
            try await stage.run(address) { client in
                let failed = await failure { _ = try await Self.download(client, Self.asset(at: address + "/f")) }
                #expect(failed?.kind == .assetRefused(status: status) && server.requests.count == 1)
            }
        }
    }

    @Test func aFileOfAnotherSizeIsNoDownload() async throws {
        let stage = Stage()
        try await ScriptedServer.run(.raw(Self.text)) { address, _ in
            try await stage.run(address) { client in
                let long = await failure {
                    _ = try await Self.download(client, Self.asset(at: address + "/f", size: 2999))
                }
                guard case .unexpectedAnswer? = long?.kind else { return unexpected(long as Any) }
                // Another attempt would bring the same.
                let short = await failure {
                    _ = try await Self.download(client, Self.asset(at: address + "/f", size: 3001))
                }
                #expect(
                    short?.kind
                        == .unexpectedAnswer(status: 200, "the file has not the 3001 bytes that its record says")
                        && short?.attempts == 1)
            }
        }
        // A server that does not tell the length.
        try await ScriptedServer.run(
            ScriptedServer.Reply(bytes: Array("HTTP/1.1 200 OK\r\n\r\n\(Self.text)".utf8), closes: true)
        ) { address, _ in
            try await stage.run(address) { client in
                let short = await failure {
                    _ = try await Self.download(client, Self.asset(at: address + "/f", size: 3001))
                }
                #expect(
                    short?.kind == .connectionLost("the file ended at byte 3000 of 3001") && (short?.attempts ?? 0) > 1)
            }
        }
    }

    /// The time in which a file drips counts, not only the time after that.
    @Test(arguments: [30, 1_000]) func aFileThatDripsIsGivenUp(patience: Int) async throws {
        let stage = Stage(tick: .seconds(100))
        try await ScriptedServer.run(.drip(["Content-Length": "3000"])) { address, server in
            try await stage.run(address, as: nil, { $0.patience = .seconds(patience) }) { client in
                let failed = await failure { _ = try await Self.download(client, Self.asset(at: address + "/f")) }
                #expect(failed?.kind == .connectionLost("the transfer was slower than 1024 bytes a second"))
                #expect((server.requests.count == 1) == (patience == 30))
            }
        }
    }

    /// Each attempt brings one byte, which would be an hour for such a file.
    @Test func aFileThatComesByteByByteIsGivenUp() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ request, _ in
            let reply = Self.serve(request)
            return reply.cut(after: reply.headCount + 1)
        }) { address, server in
            try await stage.run(address) { client in
                let failed = await failure { _ = try await Self.download(client, Self.asset(at: address + "/f")) }
                guard case .connectionLost? = failed?.kind else { return unexpected(failed as Any) }
                #expect(server.requests.count < 20)
            }
        }
    }

    @Test func addressesThatAreNoneAreRefused() async throws {
        let stage = Stage()
        for address in ["file:///etc/passwd", "", "ftp://a.example/f", "https:///f", "no address"] {
            try await stage.run("http://127.0.0.1:1") { client in
                let failed = await failure { _ = try await Self.download(client, Self.asset(at: address)) }
                guard case .invalidRequest? = failed?.kind else {
                    return unexpected("\(address): \(String(describing: failed))")
                }
            }
        }
        // A secure service does not send its clients to an insecure address.
        try await stage.run("https://127.0.0.1:1") { client in
            let failed = await failure { _ = try await Self.download(client, Self.asset(at: "http://127.0.0.1:1/f")) }
            guard case .invalidRequest? = failed?.kind else { return unexpected(failed as Any) }
            for (size, offset) in [(-1, 0), (3000, 3001), (3000, -1)] as [(Int64, Int64)] {
                let asset = Self.asset(at: "https://127.0.0.1:1/f", size: size)
                let beyond = await failure { _ = try client.database(.private).download(asset, from: offset) }
                guard case .invalidRequest? = beyond?.kind else { return unexpected(beyond as Any) }
            }
            let none = await failure {
                _ = try client.database(.private).download(
                    ReceivedAsset(asset: Asset(fileChecksum: "c", size: 1), downloadURL: nil))
            }
            guard case .invalidRequest? = none?.kind else { return unexpected(none as Any) }
        }
    }

    @Test func filesHaveConnectionsOfTheirOwn() async throws {
        let stage = Stage()
        try await ScriptedServer.run({ request, _ in request.target.hasPrefix("/f") ? Self.serve(request) : noZones }) {
            address, server in
            try await stage.run(address) { client in
                for _ in 0..<3 {
                    try await client.database(.private).read()
                    _ = try await Self.download(client, Self.asset(at: address + "/f"))
                }
            }
            let files = Set(server.requests.filter { $0.target.hasPrefix("/f") }.map(\.connection))
            let services = Set(server.requests.filter { !$0.target.hasPrefix("/f") }.map(\.connection))
            #expect(server.requests.count == 6 && files.isDisjoint(with: services))
        }
    }
}
