internal import AsyncHTTPClient
public import NIOCore
internal import NIOHTTP1
public import Records
internal import Synchronization

/// The address for the upload of one file.
public struct UploadSlot: Sendable, Hashable {
    /// The record to save with the file.
    public var recordName: Name
    /// The field to save the file in.
    public var fieldName: Name
    /// Valid for 15 minutes, for whoever has it.
    public var url: String

    /// A slot that was not asked for with ``DatabaseClient/uploadSlots(_:in:)``.
    public init(recordName: Name, fieldName: Name, url: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.url = url
    }
}

/// The progress of a file on its way.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes so far. The number falls if an upload has to begin anew.
    public var bytes: Int64
    /// The size of the file; `nil` if it is not known.
    public var size: Int64?
}

extension DatabaseClient {
    /// Gets addresses for uploads, any number of them (`assets/upload`).
    /// - Parameter zoneID: the zone of the records; `nil` to send none.
    /// - Returns: a slot or an error per request, in their order.
    public func uploadSlots(_ requests: [UploadRequest], in zoneID: ZoneID? = .default) async throws -> [Result<
        UploadSlot, ServerError
    >] {
        try await inPartsOfFiles(requests) { part in
            // A slot without an upload is forgotten after a while, so that a second request does no harm.
            let call = try ServiceCall("assets/upload", under: root, items: "tokens") {
                (writer) throws(CloudKitFailure) in
                try writer.member("tokens", part) { writer, request in
                    writer.member("recordType", request.recordType)
                    writer.member("fieldName", request.fieldName)
                    if let recordName = request.recordName { writer.member("recordName", recordName) }
                }
                if let zoneID { writer.member(zoneID: zoneID) }
            }
            return try await send(call) { answer in
                try answer.objects("tokens", count: part.count).map { object in
                    try object.result { object in
                        guard let url = object.string("url") else { throw UnexpectedShape(expected: "a string 'url'") }
                        return UploadSlot(
                            recordName: try object.required("recordName"),
                            fieldName: try object.required("fieldName"), url: url)
                    }
                }
            }
        }
    }

    /// Gets assets of existing records for other records in the target zone, without another upload
    /// (`assets/rereference`).
    /// - Parameter sources: records with their fields; an index is of one asset in a list, which only Skylight knows.
    /// - Returns: an asset with its receipt or an error per source, in their order.
    package func rereference(
        _ sources: [(recordName: Name, fieldName: Name, index: Int?)], from zoneID: ZoneID, to targetZoneID: ZoneID
    ) async throws -> [Result<Asset, ServerError>] {
        let action = "assets/rereference"
        if dialect == .cloudKit, sources.contains(where: { $0.index != nil }) {
            throw CloudKitFailure(
                .invalidRequest("CloudKit has no way to name one asset of a list; upload the file again"),
                action: action)
        }
        return try await inPartsOfFiles(sources) { part in
            let call = try ServiceCall(action, under: root, items: "assets") { (writer) throws(CloudKitFailure) in
                writer.member(zoneID: zoneID)
                writer.name("targetZoneID")
                writer.object { $0.members(of: targetZoneID) }
                try writer.member("assets", part) { writer, source in
                    writer.member("recordName", source.recordName)
                    writer.member("fieldName", source.fieldName)
                    if let index = source.index { writer.member("index", Int64(index)) }
                }
            }
            return try await send(call) { answer in
                try answer.objects("assets", count: part.count).map { object in
                    try object.result { object in
                        guard let asset = Asset(uploaded: object) else {
                            throw UnexpectedShape(expected: "assets with 'fileChecksum' and 'size'")
                        }
                        return asset
                    }
                }
            }
        }
    }

    /// Sends items as ``inParts(_:keeping:_:)``. These services deny access to all items as one.
    private func inPartsOfFiles<Item, Answer>(
        _ items: [Item], _ send: (ArraySlice<Item>) async throws -> [Result<Answer, ServerError>]
    ) async throws -> [Result<Answer, ServerError>] {
        try await inParts(items) { part in
            do {
                return try await send(part)
            } catch let failure as CloudKitFailure {
                guard case .refused(let denial) = failure.kind, denial.code == .accessDenied else { throw failure }
                return part.map { _ in .failure(denial) }
            }
        }
    }

    /// Uploads a file. A broken connection begins it anew, which does no harm: a file counts once a record is saved
    /// with it.
    ///
    /// Each attempt may take a minute, and a second for each 1,024 bytes; repetitions may take the patience of the
    /// configuration.
    /// - Parameters:
    ///   - size: bytes of the file; `nil` if they are not known, which not every server takes. Then the answer may take
    ///     a day.
    ///   - progress: receives the number of bytes that the connection took. It must be quick.
    ///   - file: opens the file from its start, for each attempt.
    /// - Returns: the asset with its receipt, to save in the record and the field of the slot.
    /// - Throws: ``CloudKitFailure``; an error of the file.
    public func upload<File: AsyncSequence & Sendable>(
        to slot: UploadSlot, size: Int64?, progress: @escaping @Sendable (TransferProgress) -> Void = { _ in },
        _ file: @Sendable () async throws -> File
    ) async throws -> Asset where File.Element == ByteBuffer {
        var attempts = try FileAttempts("asset upload", of: slot.url, named: "", container.exchanger, options)
        if let size, size < 0 { throw attempts.failure(.invalidRequest("No file has \(size) bytes")) }
        let transport = container.exchanger.transport
        while true {
            let counted = MeasuredUpload(file: try await file(), size: size, progress: progress)
            var request = try attempts.next(.POST)
            request.headers.add(name: "Content-Type", value: "application/octet-stream")
            let paced = PacedUpload(counted, now: container.pacing.now)
            request.body = .stream(paced, length: size.map { .known($0) } ?? .unknown)
            let reply: Transport.Reply
            do {
                let begun = try await paced.watching { [request, attempts] in
                    try await transport.file(request, within: attempts.timeToAnswer(size)).get()
                }
                reply = try await transport.reply(of: begun).get()
            } catch {
                if let cause = counted.error { throw cause }
                try await attempts.failed(transport.failure(error))
                continue
            }
            if let error = counted.error { throw error }
            guard (200..<300).contains(reply.status) else {
                try await attempts.refused(reply)
                continue
            }
            attempts.answered(reply)
            guard let asset = reply.object?.object("singleFile").flatMap(Asset.init(uploaded:)) else {
                throw attempts.failure(
                    .unexpectedAnswer(
                        status: reply.status, "expected an object 'singleFile' with 'fileChecksum' and 'size'"))
            }
            return asset
        }
    }

    /// Downloads the file of an asset, streamed with backpressure. The request is sent when the stream is read.
    ///
    /// A broken connection is followed by a request for the rest. If the server does not give parts, the file is
    /// fetched anew and its beginning skipped. A file may take any time while 1,024 bytes a second come; repetitions
    /// while less comes may take the patience of the configuration.
    /// - Parameters:
    ///   - fileName: replaces the placeholder in the address. Any name will do.
    ///   - offset: the bytes that the caller has already.
    ///   - progress: receives the number of all bytes so far, including those that were there before. It must be quick.
    /// - Throws: ``CloudKitFailure`` of kind `invalidRequest` if the asset has no address that can be used, or has no
    ///   such offset. Reading the stream throws ``CloudKitFailure`` and `CancellationError`.
    public func download(
        _ asset: ReceivedAsset, fileName: String = "file", from offset: Int64 = 0,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) throws(CloudKitFailure) -> AssetStream {
        let action = "asset download"
        guard let url = asset.downloadURL else {
            throw CloudKitFailure(
                .invalidRequest("The record does not tell where the file is; fetch it with this field"), action: action)
        }
        let attempts = try FileAttempts(action, of: url, named: fileName, container.exchanger, options)
        return try AssetStream(attempts, from: offset, size: asset.asset.size, progress)
    }
}

extension Asset {
    /// The answer to an upload, which the record is saved with as it is.
    fileprivate init?(uploaded object: JSONObject) {
        guard let fileChecksum = object.string("fileChecksum"), let size = object.integer("size") else { return nil }
        self.init(
            fileChecksum: fileChecksum, size: size, referenceChecksum: object.string("referenceChecksum"),
            wrappingKey: object.string("wrappingKey"),
            receipt: object.string("receipt"), fileName: object.string("fileName"))
    }
}

/// A file on its way up: tells the progress, and keeps the error of the file, which the connection would report as its
/// own.
private struct MeasuredUpload<File: AsyncSequence & Sendable>: AsyncSequence, Sendable
where File.Element == ByteBuffer {
    typealias Element = ByteBuffer

    private final class Failed: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }

    private let file: File
    private let size: Int64?
    private let progress: @Sendable (TransferProgress) -> Void
    private let failed = Failed()

    init(file: File, size: Int64?, progress: @escaping @Sendable (TransferProgress) -> Void) {
        self.file = file
        self.size = size
        self.progress = progress
    }

    /// The error that reading the file threw.
    var error: (any Error)? { failed.error.withLock { $0 } }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var file: File.AsyncIterator
        fileprivate let counted: MeasuredUpload
        fileprivate var bytes: Int64 = 0

        mutating func next() async throws -> ByteBuffer? {
            do {
                guard let part = try await file.next() else { return nil }
                bytes += Int64(part.readableBytes)
                counted.progress(TransferProgress(bytes: bytes, size: counted.size))
                return part
            } catch {
                // A connection that ends while the file is read cancels the reading: this is no error of the file.
                if !(error is CancellationError) { counted.failed.error.withLock { $0 = error } }
                throw error
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file.makeAsyncIterator(), counted: self) }
}

// MARK: - Downloads

/// The bytes of a file, streamed with backpressure. Each reader sends requests of its own, and resumes broken
/// connections.
public struct AssetStream: AsyncSequence, Sendable {
    /// The next bytes of the file, as many as came together.
    public typealias Element = ByteBuffer

    /// The number of bytes before the first one of the stream.
    public let offset: Int64
    /// The size of the whole file in bytes.
    public let size: Int64
    private let attempts: FileAttempts
    private let progress: @Sendable (TransferProgress) -> Void

    init(
        _ attempts: FileAttempts, from offset: Int64, size: Int64,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) throws(CloudKitFailure) {
        guard offset >= 0, offset <= size else {
            throw attempts.failure(.invalidRequest("There is no byte \(offset) in a file of \(size)"))
        }
        self.attempts = attempts
        self.offset = offset
        self.size = size
        self.progress = progress
    }

    /// Reads the file once, from the stream's offset on.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let size: Int64
        private let progress: @Sendable (TransferProgress) -> Void
        private var attempts: FileAttempts
        private var position: Int64
        private var body: PacedBody.AsyncIterator?
        /// The number of bytes at the start of the response that the reader has already.
        private var skipping: Int64 = 0
        /// Identifies the content of the file, if the server does.
        private var tag: String?

        fileprivate init(_ stream: AssetStream) {
            size = stream.size
            progress = stream.progress
            attempts = stream.attempts
            position = stream.offset
        }

        /// - Throws: ``CloudKitFailure``; `CancellationError`. The bytes before it are good: a new stream may begin
        ///   after them.
        public mutating func next() async throws -> ByteBuffer? {
            while true {
                if position < size { try attempts.checkDeadline() }
                if body == nil {
                    guard position < size else { return nil }
                    try await open()
                }
                let asked = attempts.now
                do {
                    guard var part = try await body?.next() else {
                        body = nil
                        guard position < size else { return nil }
                        throw Transport.Failure.lost("the file ended at byte \(position) of \(size)")
                    }
                    let skipped = Swift.min(skipping, Int64(part.readableBytes))
                    part.moveReaderIndex(forwardBy: Int(skipped))
                    skipping -= skipped
                    if part.readableBytes == 0 { continue }
                    position += Int64(part.readableBytes)
                    guard position <= size else {
                        throw attempts.failure(
                            .unexpectedAnswer(status: 200, "the file has more than its \(size) bytes"))
                    }
                    attempts.received(part.readableBytes)
                    progress(TransferProgress(bytes: position, size: size))
                    return part
                } catch let failure as CloudKitFailure {
                    throw failure
                } catch {
                    body = nil
                    // All of it is there, even if the connection broke at the end.
                    if position == size { return nil }
                    try await attempts.failed(attempts.transport.failure(error), after: attempts.now - asked)
                }
            }
        }

        /// Requests the file from the position on, until a response begins.
        private mutating func open() async throws {
            while true {
                var request = try attempts.next(.GET)
                // With compression, the position would count compressed bytes.
                request.headers.add(name: "Accept-Encoding", value: "identity")
                if position > 0 {
                    request.headers.add(name: "Range", value: "bytes=\(position)-")
                    // Only a strong tag promises the same bytes.
                    if let tag, !tag.hasPrefix("W/") { request.headers.add(name: "If-Range", value: tag) }
                }
                let asked = attempts.now
                let response: HTTPClientResponse
                switch await attempts.transport.file(request, within: attempts.timeToBegin) {
                case .success(let begun): response = begun
                case .failure(let failure):
                    try await attempts.failed(failure, after: attempts.now - asked)
                    continue
                }
                let head = Transport.Reply(status: Int(response.status.code), headers: response.headers)
                guard head.status == 200 || head.status == 206 else {
                    // An answer that breaks off says no more than its status.
                    try await attempts.refused((try? await attempts.transport.reply(of: response).get()) ?? head)
                    continue
                }
                attempts.answered(head)
                if head.status == 206,
                    head.headers.first(name: "Content-Range")?.hasPrefix("bytes \(position)-") != true
                {
                    throw attempts.failure(.unexpectedAnswer(status: 206, "it is not the part that was asked for"))
                }
                // A file that is longer or shorter than the record says will not become right by another attempt.
                if let rest = head.headers.first(name: "Content-Length").flatMap({ Int64($0) }),
                    rest != (head.status == 200 ? size : size - position)
                {
                    throw attempts.failure(
                        .unexpectedAnswer(
                            status: head.status, "the file has not the \(size) bytes that its record says"))
                }
                let newTag = head.headers.first(name: "ETag")
                if position > 0, let tag, let newTag, tag != newTag {
                    throw attempts.failure(
                        .unexpectedAnswer(
                            status: head.status, "the file is another one than before the connection broke"))
                }
                tag = newTag ?? tag
                skipping = head.status == 200 ? position : 0
                body = attempts.transport.body(of: response).makeAsyncIterator()
                return
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
