internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Hands on what is written no faster than the client takes it.
///
/// The writer below waits while the connection is full, but hears of that from the event loop alone: until the loop has come to what was written,
/// everything else is let through, and gathers before it. So this waits until the loop has come to what was written before the last part. At the end
/// all is with the connection, and no more of it waits there than a connection takes for itself.
struct PacedWriter: ResponseBodyWriter {
    private var parent: any ResponseBodyWriter
    private let loop: any EventLoop
    /// When the loop has come to the last part.
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
