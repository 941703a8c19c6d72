internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

// The one place that knows how a file gets to the socket without passing through the process (sendfile). Hummingbird writes buffers only,
// so regions of the file are handed past it to the handler behind the HTTP/1 encoder, between the head and the end that Hummingbird writes.

extension NIOFileHandle {
    /// Bytes handed to the event loop at a time. To send them takes as long as the client does; what has to end sooner
    /// (a cancelled task, a client that is gone or stands still) closes the connection.
    private static let regionSize = 4 << 20
    /// Bytes that are held in memory for a connection where the file has to pass through it.
    private static let chunkSize = 64 << 10

    /// Sends bytes of the file as the body of an answer, or a part of it, as fast as the client takes them.
    func send(_ bytes: Range<Int64>, over channel: any Channel, to writer: inout any ResponseBodyWriter) async throws {
        // Below this the way through memory is as fast.
        guard bytes.count > Self.chunkSize, await channel.takesFileRegions else { return try await sendThroughMemory(bytes, over: channel, to: &writer) }
        try await withTaskCancellationHandler {
            try await sendRegions(bytes, over: channel)
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Two regions are with the event loop at a time: while this task hears of one, the other is being sent.
    ///
    /// Whatever fails, this returns when none is left: whoever holds the file may close it then, and to send from a closed one is fatal.
    private func sendRegions(_ bytes: Range<Int64>, over channel: any Channel) async throws {
        // The event loop uses the handle meanwhile, which can't be used by two at once; to look at the size takes the descriptor alone.
        let descriptor = try withUnsafeFileDescriptor { $0 }
        var underWay: EventLoopFuture<Void>?
        var result = Result<Void, any Error>.success(())
        for start in stride(from: bytes.lowerBound, to: bytes.upperBound, by: Self.regionSize) {
            let end = min(start + Int64(Self.regionSize), bytes.upperBound)
            let before = underWay
            do {
                // A region that ends beyond the file would never be sent and never fail.
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

    /// To encrypt takes longer than to read, so what is read is paced.
    private func sendThroughMemory(_ bytes: Range<Int64>, over channel: any Channel, to writer: inout any ResponseBodyWriter) async throws {
        writer = PacedWriter(writer, on: channel.eventLoop)
        for start in stride(from: bytes.lowerBound, to: bytes.upperBound, by: Self.chunkSize) {
            let count = min(Self.chunkSize, Int(bytes.upperBound - start))
            try await writer.write(try await NIOThreadPool.singleton.runIfActive { try self.read(count, from: start) })
        }
    }
}

extension Channel {
    /// Whether a file can be sent without passing through memory: the handler that does it is there, and nobody encrypts behind it.
    fileprivate var takesFileRegions: Bool {
        get async {
            let answer = eventLoop.submit {
                try self.pipeline.syncOperations.handler(type: ConnectionGuardHandler.self).takesFileRegions
            }
            // A connection without the handler, or one that is closed: what is sent there goes through memory, or nowhere.
            return (try? await answer.get()) ?? false
        }
    }

    /// - Returns: when the region was sent.
    fileprivate func begin(_ region: FileRegion) -> EventLoopFuture<Void> {
        let sent = eventLoop.makePromise(of: Void.self)
        triggerUserOutboundEvent(SentFileRegion(region: region), promise: sent)
        return sent.futureResult
    }
}

/// Sent down the channel in place of a part of the body.
struct SentFileRegion: Sendable {
    let region: FileRegion

    func write(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        context.writeAndFlush(NIOAny(HTTPServerResponsePart.body(.fileRegion(region))), promise: promise)
    }
}
