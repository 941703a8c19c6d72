internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// A body that was read and can be read again. After it is dropped, remaining copies of the request hold no memory.
final class KeptBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private static let pieceSize = 64 << 10

    private let bytes: Mutex<[UInt8]>

    init(_ bytes: [UInt8]) {
        self.bytes = Mutex(bytes)
    }

    var all: [UInt8] { bytes.withLock { $0 } }

    func drop() { bytes.withLock { $0 = [] } }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(rest: bytes.withLock { $0 }[...])
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>

        mutating func next() async -> ByteBuffer? {
            if rest.isEmpty { return nil }
            defer { rest = rest.dropFirst(pieceSize) }
            return ByteBuffer(bytes: rest.prefix(pieceSize))
        }
    }
}
