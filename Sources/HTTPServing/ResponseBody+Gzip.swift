internal import Gzip
public import Hummingbird
public import NIOCore
internal import NIOPosix
internal import Synchronization

extension ResponseBody {
    /// A file that is compressed while it is sent, for clients that only accept gzip. Its length is unknown in advance.
    /// - Parameters:
    ///   - handle: the file, open for reading. The owner closes it; nobody else may read from it meanwhile.
    ///   - size: the size of the file in bytes.
    ///   - level: the compression level, from 1 (fastest) to 9 (smallest).
    ///   - owner: kept alive until the last byte is sent or the client is gone.
    public static func gzip(of handle: NIOFileHandle, size: Int64, level: Int, holding owner: any Sendable) -> ResponseBody {
        ResponseBody { writer in
            let file = try CompressedFile(handle, size: size, level: level)
            var piece = try await file.next()
            while let ready = piece {
                // Makes the next piece while the client takes this one.
                async let following = file.next()
                try await writer.write(ready)
                piece = try await following
            }
            withExtendedLifetime(owner) {}
            try await writer.finish(nil)
        }
    }
}

/// The compressed pieces of a file. They are made on threads that may block.
private final class CompressedFile: Sendable {
    /// The number of bytes to read at a time.
    private static let chunkSize = 64 << 10
    /// The minimum size in bytes of a piece, except the last one.
    private static let pieceSize = 32 << 10

    private struct State {
        let deflater: Deflater
        var offset: Int64 = 0
        var isFinished = false
    }

    private let handle: NIOFileHandle
    private let size: Int64
    private let state: Mutex<State>

    init(_ handle: NIOFileHandle, size: Int64, level: Int) throws {
        self.handle = handle
        self.size = size
        state = Mutex(State(deflater: try Deflater(level: level)))
    }

    /// - Returns: `nil` after the last piece.
    func next() async throws -> ByteBuffer? {
        try await NIOThreadPool.singleton.runIfActive { try self.makePiece() }
    }

    private func makePiece() throws -> ByteBuffer? {
        try state.withLock { state in
            if state.isFinished { return nil }
            var output = ByteBufferAllocator().buffer(capacity: Self.chunkSize)
            while output.readableBytes < Self.pieceSize, !state.isFinished {
                let count = min(Self.chunkSize, Int(size - state.offset))
                let input = try handle.read(count, from: state.offset)
                state.offset += Int64(count)
                state.isFinished = state.offset == size
                try state.deflater.compress(input, state.isFinished ? .last : .whenFull, into: &output)
            }
            return output
        }
    }
}
