internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Forwards writes no faster than the client takes them.
///
/// The parent writer blocks while the connection is full, but it learns that from the event loop. Until the loop has
/// processed earlier writes, all further writes pass and pile up. So this writer waits until the loop has processed the write
/// before the last one. At the end all bytes are with the connection, with no more than one connection's buffer waiting.
struct PacedWriter: ResponseBodyWriter {
    private var parent: any ResponseBodyWriter
    private let loop: any EventLoop
    /// Completes when the event loop has processed the last write.
    private var reached: EventLoopFuture<Void>?

    init(_ parent: any ResponseBodyWriter, on loop: any EventLoop) {
        self.parent = parent
        self.loop = loop
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        try await parent.write(buffer)
        let before = reached
        reached = loop.submit {}
        try await before?.get()
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await reached?.get()
        try await parent.finish(trailingHeaders)
    }
}
