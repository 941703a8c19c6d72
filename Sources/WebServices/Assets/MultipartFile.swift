internal import NIOCore

/// Streams the bytes of the only file in a `multipart/form-data` body as they arrive.
struct MultipartFile<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base
    let boundary: MultipartBoundary

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        var parser: MultipartParser

        mutating func next() async throws -> ByteBuffer? {
            while true {
                if let piece = try parser.next() { return piece }
                guard let bytes = try await base.next() else {
                    try parser.finish()
                    return nil
                }
                parser.take(bytes)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), parser: MultipartParser(boundary: boundary))
    }
}
