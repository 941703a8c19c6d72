internal import NIOCore
internal import Synchronization

/// A file on its way up: tells the progress, and keeps the error of the file, which the connection would report as its own.
struct CountedFile<File: AsyncSequence & Sendable>: AsyncSequence, Sendable where File.Element == ByteBuffer {
    typealias Element = ByteBuffer

    private final class Failed: Sendable {
        let error = Mutex<(any Error)?>(nil)
    }

    private let file: File
    private let size: Int64
    private let progress: @Sendable (TransferProgress) -> Void
    private let failed = Failed()

    init(file: File, size: Int64, progress: @escaping @Sendable (TransferProgress) -> Void) {
        self.file = file
        self.size = size
        self.progress = progress
    }

    /// The error that reading the file threw.
    var error: (any Error)? { failed.error.withLock { $0 } }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var file: File.AsyncIterator
        fileprivate let counted: CountedFile
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
