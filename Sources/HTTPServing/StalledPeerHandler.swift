internal import NIOCore

/// Closes a connection whose client has taken nothing for a long time although output is waiting.
///
/// Clients that take a little now and then are never cut off, however long an answer takes. So the measure
/// is progress, not the completion of a write: the pending output shrinks, or the peer acknowledges bytes.
final class StalledPeerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private struct Progress: Equatable {
        let waiting: Int
        /// The number of bytes that the peer has acknowledged; 0 if the system does not tell.
        var acknowledged: UInt64 = 0
    }

    private let patience: TimeAmount
    private var check: Scheduled<Void>?
    private var last = Progress(waiting: 0)
    private var lastChange = NIODeadline.distantPast

    init(patience: TimeAmount) {
        self.patience = patience
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard check == nil, case let waiting = Self.waiting(context), waiting > 0 else { return }
        last = Progress(waiting: waiting)
        lastChange = .now()
        schedule(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
    }

    private func schedule(_ context: ChannelHandlerContext) {
        check = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.nanoseconds / 4)) { [self] in
            check = nil
            let waiting = Self.waiting(context)
            guard context.channel.isActive, waiting > 0 else { return }
            Self.acknowledged(context) { [self] acknowledged in compare(Progress(waiting: waiting, acknowledged: acknowledged), context) }
        }
    }

    private func compare(_ progress: Progress, _ context: ChannelHandlerContext) {
        if progress != last {
            last = progress
            lastChange = .now()
        } else if .now() - lastChange >= patience {
            return context.close(promise: nil)
        }
        if check == nil { schedule(context) }
    }

    private static func waiting(_ context: ChannelHandlerContext) -> Int {
        // The channel is closed, or a test channel. Nothing waits on it.
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// The number of bytes that the peer has acknowledged since the connection began.
    private static func acknowledged(_ context: ChannelHandlerContext, _ use: @escaping (UInt64) -> Void) {
        #if os(Linux)
            guard let provider = context.channel as? any SocketOptionProvider else { return use(0) }
            let info: EventLoopFuture<LinuxTCPInfo> = provider.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
            // A connection that just ended has no such information.
            info.assumeIsolated().whenComplete { result in use((try? result.get())?.bytesAcknowledged ?? 0) }
        #else
            use(0)
        #endif
    }
}

#if os(Linux)
    /// The kernel's `struct tcp_info` (linux/tcp.h) up to the required field, which the C library's declaration lacks.
    private struct LinuxTCPInfo: Sendable {
        private let before: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
        /// `tcpi_bytes_acked`; 0 on kernels that do not count them.
        let bytesAcknowledged: UInt64
    }
#endif
