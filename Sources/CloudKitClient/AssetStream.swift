internal import AsyncHTTPClient
public import NIOCore
internal import NIOHTTP1

/// The bytes of a file, streamed with backpressure. Each reader sends requests of its own, and resumes broken connections.
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
        _ attempts: FileAttempts, from offset: Int64, size: Int64, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) throws(CloudKitFailure) {
        guard offset >= 0, offset <= size else { throw attempts.failure(.invalidRequest("There is no byte \(offset) in a file of \(size)")) }
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

        /// - Throws: ``CloudKitFailure``; `CancellationError`. The bytes before it are good: a new stream may begin after them.
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
                        throw Transport.Trouble.lost("the file ended at byte \(position) of \(size)")
                    }
                    let skipped = Swift.min(skipping, Int64(part.readableBytes))
                    part.moveReaderIndex(forwardBy: Int(skipped))
                    skipping -= skipped
                    if part.readableBytes == 0 { continue }
                    position += Int64(part.readableBytes)
                    guard position <= size else { throw attempts.failure(.unexpectedAnswer(status: 200, "the file has more than its \(size) bytes")) }
                    attempts.received(part.readableBytes)
                    progress(TransferProgress(bytes: position, size: size))
                    return part
                } catch let failure as CloudKitFailure {
                    throw failure
                } catch {
                    body = nil
                    // All of it is there, even if the connection broke at the end.
                    if position == size { return nil }
                    try await attempts.failed(attempts.transport.trouble(error), after: attempts.now - asked)
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
                case .failure(let trouble):
                    try await attempts.failed(trouble, after: attempts.now - asked)
                    continue
                }
                let head = Transport.Reply(status: Int(response.status.code), headers: response.headers)
                guard head.status == 200 || head.status == 206 else {
                    // An answer that breaks off says no more than its status.
                    try await attempts.refused((try? await attempts.transport.reply(of: response).get()) ?? head)
                    continue
                }
                attempts.answered(head)
                if head.status == 206, head.headers.first(name: "Content-Range")?.hasPrefix("bytes \(position)-") != true {
                    throw attempts.failure(.unexpectedAnswer(status: 206, "it is not the part that was asked for"))
                }
                // A file that is longer or shorter than the record says will not become right by another attempt.
                if let rest = head.headers.first(name: "Content-Length").flatMap({ Int64($0) }), rest != (head.status == 200 ? size : size - position) {
                    throw attempts.failure(.unexpectedAnswer(status: head.status, "the file has not the \(size) bytes that its record says"))
                }
                let newTag = head.headers.first(name: "ETag")
                if position > 0, let tag, let newTag, tag != newTag {
                    throw attempts.failure(.unexpectedAnswer(status: head.status, "the file is another one than before the connection broke"))
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
