internal import CSystemCalls
internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension NIOFileHandle {
    /// Reads bytes at an offset. Blocks the calling thread.
    /// - Returns: exactly the requested number of bytes.
    /// - Throws: `FileEndedEarly` if the file is too short, `IOError` if reading fails.
    func read(_ count: Int, from offset: Int64) throws -> ByteBuffer {
        try withUnsafeFileDescriptor { descriptor in
            var buffer = ByteBufferAllocator().buffer(capacity: count)
            while buffer.readableBytes < count {
                let start = offset + Int64(buffer.readableBytes)
                var failure: CInt = 0
                let got = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count - buffer.readableBytes) {
                    space in
                    let got = pread(descriptor, space.baseAddress, min(space.count, count), off_t(start))
                    if got < 0 { failure = errno }
                    return max(0, got)
                }
                if failure == EINTR { continue }
                if failure != 0 { throw IOError(errnoCode: failure, reason: "pread") }
                if got == 0 { throw FileEndedEarly(size: start, expected: offset + Int64(count)) }
            }
            return buffer
        }
    }

    /// Reads bytes at an offset without blocking, if the page cache has them.
    /// - Returns: exactly the requested number of bytes, or `nil`.
    func readCached(_ count: Int, from offset: Int64) -> ByteBuffer? {
        // On failure the caller reads the file the regular way, which reports the error.
        try? withUnsafeFileDescriptor { descriptor in
            var buffer = ByteBufferAllocator().buffer(capacity: count)
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
                max(0, CSystemCalls_readCached(descriptor, space.baseAddress, count, off_t(offset)))
            }
            return buffer.readableBytes == count ? buffer : nil
        }
    }

    /// The current size of a file in bytes.
    static func size(of descriptor: CInt) throws -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw IOError(errnoCode: errno, reason: "fstat") }
        return Int64(status.st_size)
    }
}

// MARK: - Sending

// Sends files with sendfile, without copying them through the process. Hummingbird only writes buffers, so file regions
// bypass it: they go directly to the handler behind the HTTP/1 encoder, between the head and the end that Hummingbird
// writes.

extension NIOFileHandle {
    /// The number of bytes to pass to the event loop at a time. Sending them takes as long as the client needs to
    /// receive them. If the task is cancelled or the client stalls, the connection is closed.
    private static let regionSize = 4 << 20
    /// The number of bytes per connection to hold in memory if the file must be copied.
    private static let chunkSize = 64 << 10

    /// Sends a range of the file as the body of an answer, as fast as the client takes it.
    func send(_ bytes: Range<Int64>, over channel: any Channel, to writer: inout any ResponseBodyWriter) async throws {
        // For small ranges, copying is as fast.
        guard bytes.count > Self.chunkSize, await channel.takesFileRegions else {
            return try await sendThroughMemory(bytes, over: channel, to: &writer)
        }
        try await withTaskCancellationHandler {
            try await sendRegions(bytes, over: channel)
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Keeps two regions with the event loop, so that one is being sent while this task handles the completion of the
    /// other.
    ///
    /// Returns only when no region is pending, even after a failure: the owner may then close the file, and sending
    /// from a closed file is fatal.
    private func sendRegions(_ bytes: Range<Int64>, over channel: any Channel) async throws {
        // The event loop uses the handle at the same time, and a handle must not be used twice concurrently. The file
        // size only needs the descriptor.
        let descriptor = try withUnsafeFileDescriptor { $0 }
        var underWay: EventLoopFuture<Void>?
        var result = Result<Void, any Error>.success(())
        for start in stride(from: bytes.lowerBound, to: bytes.upperBound, by: Self.regionSize) {
            let end = min(start + Int64(Self.regionSize), bytes.upperBound)
            let before = underWay
            do {
                // A region beyond the end of the file would neither be sent nor fail.
                let size = try Self.size(of: descriptor)
                guard end <= size else { throw FileEndedEarly(size: size, expected: bytes.upperBound) }
                underWay = channel.begin(FileRegion(fileHandle: self, readerIndex: Int(start), endIndex: Int(end)))
                try await before?.get()
            } catch {
                result = .failure(error)
                break
            }
        }
        do { try await underWay?.get() } catch { if case .success = result { result = .failure(error) } }
        try result.get()
    }

    /// Encryption is slower than reading, so the reads are paced.
    private func sendThroughMemory(
        _ bytes: Range<Int64>, over channel: any Channel, to writer: inout any ResponseBodyWriter
    ) async throws {
        writer = PacedWriter(writer, on: channel.eventLoop)
        for start in stride(from: bytes.lowerBound, to: bytes.upperBound, by: Self.chunkSize) {
            let count = min(Self.chunkSize, Int(bytes.upperBound - start))
            try await writer.write(try await NIOThreadPool.singleton.runIfActive { try self.read(count, from: start) })
        }
    }
}

extension Channel {
    /// True if the pipeline can send files without copying: it has the guard handler and no encryption.
    fileprivate var takesFileRegions: Bool {
        get async {
            let answer = eventLoop.submit {
                try self.pipeline.syncOperations.handler(type: ConnectionGuardHandler.self).takesFileRegions
            }
            // The handler is missing or the connection is closed. Copying is correct in both cases.
            return (try? await answer.get()) ?? false
        }
    }

    /// - Returns: a future that completes when the region was sent.
    fileprivate func begin(_ region: FileRegion) -> EventLoopFuture<Void> {
        let sent = eventLoop.makePromise(of: Void.self)
        triggerUserOutboundEvent(SentFileRegion(region: region), promise: sent)
        return sent.futureResult
    }
}

/// An outbound event that replaces a part of the body.
struct SentFileRegion: Sendable {
    let region: FileRegion

    func write(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        context.writeAndFlush(NIOAny(HTTPServerResponsePart.body(.fileRegion(region))), promise: promise)
    }
}
