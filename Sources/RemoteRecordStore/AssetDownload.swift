internal import AsyncHTTPClient
internal import CloudKitClient
public import NIOCore
internal import Records

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

        /// - Throws: `RecordError` TRY_AGAIN_LATER if the connection broke, or the bytes came too slowly. The download can be resumed after the received bytes.
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
