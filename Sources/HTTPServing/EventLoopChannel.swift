internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import Records

/// Serves each connection on its own event loop. A request that needs no other thread then costs no switch to one.
///
/// Whatever takes long leaves the loop, because it would delay the loop's other connections: see ``Routes/Threads``,
/// and ``Hummingbird/ResponseBody/leavingEventLoop`` for answers.
struct EventLoopChannel<Base: ServerChildChannel>: ServerChildChannel {
    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        base.setup(channel: channel, logger: logger)
    }

    func handle(value: Base.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}

/// Runs the tasks of a connection on its event loop.
private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

// MARK: - What leaves the loop

extension Request {
    /// The largest body in bytes that is parsed on an event loop. It has some 60 names.
    private static let smallBody: Int64 = 4 << 10

    /// True if the body is small, and needs no decoding.
    var hasSmallBody: Bool {
        // Nobody reads the body of a GET.
        if method == .get { return true }
        if headers.contains(.transferEncoding) || headers.contains(.contentEncoding) { return false }
        return headers.contentLength ?? 0 <= Self.smallBody
    }
}

extension ResponseBody {
    /// The same body. A stream or a large body is written by the ``Records/ConcurrencyPool``: making, compressing or
    /// copying it takes long.
    var leavingEventLoop: ResponseBody {
        if let contentLength, contentLength <= RequestMemory.uncounted { return self }
        return ResponseBody(contentLength: contentLength) { writer in
            let writer = writer
            try await ConcurrencyPool.run { try await self.write(writer) }
        }
    }
}
