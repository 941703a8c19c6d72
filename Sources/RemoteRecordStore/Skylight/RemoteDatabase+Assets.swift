public import AssetStore
internal import AsyncHTTPClient
internal import CloudKitClient
internal import Foundation
public import NIOCore
internal import NIOHTTP1
public import RecordStore
public import Records

// Both requests are safe to repeat, because an additional upload grant does no harm.

extension RemoteDatabase {
    func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        try await inPartsOfFiles(requests) { part in
            let answer = try await line.post("assets/upload", of: .database, .reads) { writer in
                if let zoneID { writer.member(zoneID: zoneID) }
                writer.name("tokens")
                writer.array { writer in
                    for request in part {
                        writer.object { writer in
                            writer.member("recordType", request.recordType)
                            writer.member("fieldName", request.fieldName)
                            if let recordName = request.recordName { writer.member("recordName", recordName) }
                        }
                    }
                }
            }
            return try answer.results("tokens") { try $0.uploadGrant() }
        }
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<
        Asset, RecordError
    >] {
        try await inPartsOfFiles(sources) { part in
            let answer = try await line.post("assets/rereference", of: .database, .reads) { writer in
                writer.member(zoneID: zoneID)
                writer.name("targetZoneID")
                writer.value(targetZoneID)
                writer.name("assets")
                writer.array { writer in
                    for source in part {
                        writer.object { writer in
                            writer.member("recordName", source.recordName)
                            writer.member("fieldName", source.fieldName)
                            if let index = source.index { writer.member("index", Int64(index)) }
                        }
                    }
                }
            }
            return try answer.results("assets") { try $0.asset() }
        }
    }

    /// Sends items as `inParts`. These services deny access to all items as one.
    private func inPartsOfFiles<Item, Value>(
        _ items: [Item], _ send: (ArraySlice<Item>) async throws -> [Result<Value, RecordError>]
    ) async throws -> [Result<Value, RecordError>] {
        try await inParts(items) { part in
            do {
                return try await send(part)
            } catch let denial as RecordError where denial.code == .accessDenied {
                return part.map { _ in .failure(denial) }
            }
        }
    }

    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        let answer = try await line.post("assets/uses", of: .skylight, .reads) { writer in
            writer.member("fileChecksum", checksum.description)
            writer.member("resultsLimit", Int64(max(1, limit)))
        }
        let visible = try answer.array("visible").prefix(max(0, limit)).map { try $0.assetUse() }
        return AssetUses(visible: visible, total: Int(try answer.integer("total")))
    }
}

// MARK: - Files

extension RemoteRecordEngine {
    /// Verifies all files and references on the server (docs/services.md). Cancelling the task ends the verification on
    /// the server too.
    /// - Parameter progress: receives the findings so far, several times a second.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist.
    public func verifyAssets(
        _ container: ContainerID, _ environment: Environment,
        _ progress: @Sendable (AssetVerification) async -> Void = { _ in }
    ) async throws -> AssetVerification {
        for try await line in try await server.lines(.GET, Self.path(container, environment, "verify")) {
            if let error = line.error { throw error }
            let found = try line.verification()
            if try line.string("verification") == "finished" { return found }
            await progress(found)
        }
        throw RecordError(
            .tryAgainLater, "The connection to \(server.address) was lost before the verification finished")
    }

    /// Removes unused files on the server (docs/services.md). Cancelling the task ends the sweep on the server too.
    /// - Parameters:
    ///   - graceTime: the time that unused files are kept, in whole seconds; `nil` for the server's own setting.
    ///   - dryRun: true to only report what would be removed.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist.
    public func sweepAssets(
        _ container: ContainerID, _ environment: Environment, graceTime: Duration? = nil, dryRun: Bool = false
    ) async throws -> AssetSweep {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("dryRun", dryRun)
            if let graceTime { writer.member("graceSeconds", graceTime.components.seconds) }
        }
        for try await line in try await server.lines(.POST, Self.path(container, environment, "sweep"), writer.bytes) {
            if let error = line.error { throw error }
            if try line.string("sweep") == "finished" { return try line.sweep() }
        }
        throw RecordError(.tryAgainLater, "The connection to \(server.address) was lost before the sweep finished")
    }

    /// The download address of an asset, valid for at least an hour.
    /// - Throws: `RecordError` NOT_FOUND if the server has no such file.
    public func downloadURL(of checksum: FileChecksum, in container: ContainerID, _ environment: Environment)
        async throws -> String
    {
        try await server.get(
            Self.path(container, environment, "facts"), parameters: ["fileChecksum": checksum.description]
        ).string("downloadURL")
    }

    /// Downloads the bytes of an asset as a stream, from an address of ``downloadURL(of:in:_:)`` or of a record's JSON.
    /// - Parameter offset: the number of bytes to skip at the beginning.
    /// - Throws: `RecordError` NOT_FOUND if the file does not exist, BAD_REQUEST if the address has
    ///   expired (status 410) or is not an asset address, or if the offset is not within the file.
    public func download(_ url: String, from offset: Int64 = 0) async throws -> AssetDownload {
        try await server.download(url, from: offset)
    }

    /// Downloads the bytes of an asset as a stream.
    public func download(
        _ checksum: FileChecksum, in container: ContainerID, _ environment: Environment, from offset: Int64 = 0
    ) async throws -> AssetDownload {
        try await download(try await downloadURL(of: checksum, in: container, environment), from: offset)
    }

    /// Uploads a file as a stream.
    /// - Parameters:
    ///   - grant: an answer of `grantUploads` from a database of the same container and environment.
    ///   - size: the number of bytes; `nil` if it is unknown.
    ///   - fileName: the display name of the file, also for downloads.
    /// - Returns: the asset to save in the record field of the grant.
    /// - Throws: `RecordError` QUOTA_EXCEEDED if the file exceeds the server's limit,
    ///   NOT_FOUND or BAD_REQUEST if the grant is invalid or expired; errors of the body.
    public func upload<Body: AsyncSequence & Sendable>(
        _ body: Body, size: Int64?, with grant: UploadGrant, to container: ContainerID, _ environment: Environment,
        fileName: String? = nil
    ) async throws -> Asset where Body.Element == ByteBuffer {
        let path = "\(AssetPath.root)\(container)/\(environment.rawValue)/upload/\(grant.ticket)"
        let headers: HTTPHeaders = fileName.map { ["X-Skylight-File-Name": PercentEncoding.encoded($0)] } ?? [:]
        return try await server.upload(path, body, size: size, headers: headers).object("singleFile").asset()
    }

    private static func path(_ container: ContainerID, _ environment: Environment, _ action: String) -> String {
        "/skylight/1/\(container)/\(environment.rawValue)/assets/\(action)"
    }
}

// MARK: - Downloads

/// The bytes of an asset, streamed from a server with backpressure.
public struct AssetDownload: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    /// The number of bytes in the download.
    public let size: Int64
    private let body: HTTPClientResponse.Body
    private let server: ServerClient

    init(_ body: HTTPClientResponse.Body, size: Int64, from server: ServerClient) {
        self.body = body
        self.size = size
        self.server = server
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private var body: PacedBody.AsyncIterator
        private let server: ServerClient

        init(_ body: PacedBody.AsyncIterator, _ server: ServerClient) {
            self.body = body
            self.server = server
        }

        /// - Throws: `RecordError` TRY_AGAIN_LATER if the connection broke, or the bytes came too slowly. The download
        ///   can be resumed after the received bytes.
        public mutating func next() async throws -> ByteBuffer? {
            do {
                return try await body.next()
            } catch {
                try Task.checkCancellation()
                throw server.failure(error, .reads)
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(PacedBody(body).makeAsyncIterator(), server) }
}

// MARK: - Requests

// File transfers and streams of unknown length. Files need a minimum speed. Streams may be idle, and end if no
// keep-alive messages arrive.

extension ServerClient {
    /// The time limit for the beginning of the answer to an upload of unknown size.
    private static let uploadPatience: TimeAmount = .hours(24)

    /// Downloads a file from an offset.
    func download(_ url: String, from offset: Int64) async throws -> AssetDownload {
        // Ignores the host in the address, because the server may have several names. The file is always fetched from
        // this server.
        guard let path = URL(string: url)?.path(percentEncoded: true), path.hasPrefix(AssetPath.root) else {
            throw RecordError(.badRequest, "'\(url)' is not the address of an asset on the server at \(address)")
        }
        // With compression, the offset would count compressed bytes.
        var headers: HTTPHeaders = ["Accept-Encoding": "identity"]
        if offset > 0 { headers.add(name: "Range", value: "bytes=\(offset)-") }
        let response = try await open(.GET, path, headers: headers, accepting: offset > 0 ? [.partialContent] : [.ok])
        guard let size = response.headers.first(name: "Content-Length").flatMap({ Int64($0) }) else {
            throw RecordError(
                .internalError,
                "The server at \(address) is not a Skylight, or has another version: it sent a file without its length")
        }
        return AssetDownload(response.body, size: size, from: self)
    }

    /// The time limit for the beginning of the answer to an upload. Before it answers, the server writes the file to
    /// disk.
    private static func timeToAnswer(_ size: Int64) -> TimeAmount {
        .seconds(60) + .milliseconds(Int64(min(TransferPace.time(for: size) / .milliseconds(1), 1e12)))
    }

    /// Uploads a file.
    func upload<Body: AsyncSequence & Sendable>(
        _ path: String, _ body: Body, size: Int64?, headers: HTTPHeaders
    ) async throws -> Answer where Body.Element == ByteBuffer {
        var headers = headers
        headers.add(name: "Content-Type", value: "application/octet-stream")
        let paced = PacedUpload(body)
        let response: HTTPClientResponse
        do {
            response = try await paced.watching { [headers] in
                try await self.open(
                    .POST, path, headers: headers, body: .stream(paced, length: size.map { .known($0) } ?? .unknown),
                    timeout: size.map(Self.timeToAnswer) ?? Self.uploadPatience, accepting: [.ok], purpose: .saves)
            }
        } catch let error as TransferPace.TooSlow {
            throw failure(error, .saves)
        }
        return try await answer(of: response, .saves)
    }

    /// Streams lines of JSON.
    func lines(_ method: HTTPMethod, _ path: String, _ body: [UInt8]? = nil) async throws -> AsyncThrowingStream<
        Answer, any Error
    > {
        let response = try await open(
            method, path, headers: [:], body: body.map { .bytes(ByteBuffer(bytes: $0)) }, accepting: [.ok])
        let (lines, continuation) = AsyncThrowingStream.makeStream(of: Answer.self)
        let reading = Task {
            do {
                var rest = ByteBuffer()
                for try await part in response.body {
                    rest.writeImmutableBuffer(part)
                    while let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                        let line = rest.readBytes(length: end - rest.readerIndex) ?? []
                        rest.moveReaderIndex(forwardBy: 1)
                        continuation.yield(try answer(.ok, ByteBuffer(bytes: line)))
                    }
                    rest.discardReadBytes()
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: failure(error, .reads))
            }
        }
        continuation.onTermination = { _ in reading.cancel() }
        return lines
    }
}

// MARK: - Answers

extension Answer {
    /// An upload grant. Its ticket is the last path component of the upload address.
    func uploadGrant() throws -> UploadGrant {
        guard let ticket = try string("url").split(separator: "/").last else { throw unexpected("an upload address") }
        return UploadGrant(recordName: try name("recordName"), fieldName: try name("fieldName"), ticket: String(ticket))
    }

    /// An asset for use in a save.
    func asset() throws -> Asset {
        Asset(
            fileChecksum: try string("fileChecksum"), size: try integer("size"),
            referenceChecksum: try optionalString("referenceChecksum"),
            wrappingKey: try optionalString("wrappingKey"), receipt: try optionalString("receipt"),
            fileName: try optionalString("fileName"))
    }

    func assetUse() throws -> AssetUse {
        AssetUse(
            isPublic: try string("database") == DatabaseScope.public.rawValue, zoneID: try zoneID(),
            recordName: try name("recordName"),
            recordType: try name("recordType"), fieldName: try name("fieldName"))
    }

    func verification() throws -> AssetVerification {
        var verification = AssetVerification()
        verification.filesDone = Int(try integer("filesDone"))
        verification.filesTotal = Int(try integer("filesTotal"))
        verification.bytesDone = try integer("bytesDone")
        verification.bytesTotal = try integer("bytesTotal")
        verification.referencesDone = Int(try integer("referencesDone"))
        verification.unusedFiles = Int(try integer("unusedFiles"))
        verification.unusedBytes = try integer("unusedBytes")
        if has("problems") { verification.problems = try array("problems").map { try $0.problem() } }
        return verification
    }

    private func problem() throws -> AssetVerification.Problem {
        guard let kind = AssetVerification.Problem.Kind(rawValue: try string("problem")) else {
            throw unexpected("a problem that is known")
        }
        return AssetVerification.Problem(
            kind: kind, checksum: try string("fileChecksum"), use: try optionalObject("use")?.assetUse(),
            explanation: try string("explanation"))
    }

    func sweep() throws -> AssetSweep {
        var sweep = AssetSweep()
        sweep.removed = try array("removed").map { file in
            AssetSweep.File(
                checksum: try file.optionalString("fileChecksum").flatMap { FileChecksum($0) },
                name: try file.string("name"),
                bytes: try file.integer("bytes"))
        }
        sweep.waiting = Int(try integer("waiting"))
        sweep.isDryRun = try bool("dryRun")
        return sweep
    }
}
