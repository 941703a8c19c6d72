internal import NIOCore

/// Closes a connection whose client has taken nothing for a long time though something is there for it.
///
/// A client that takes a little every now and then is never cut off, however long an answer takes at its pace. So what counts is not when
/// a part of an answer has gone out but whether anything arrives: what waits in the process grows less, or the other side acknowledges.
final class StalledPeerHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny

    private struct Progress: Equatable {
        let waiting: Int
        /// What the other side has acknowledged; 0 where the system doesn't tell.
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
        // A channel that can't tell is closed, or a test's: nobody waits on it.
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// How many bytes the other side has acknowledged since the connection began.
    private static func acknowledged(_ context: ChannelHandlerContext, _ use: @escaping (UInt64) -> Void) {
        #if os(Linux)
            guard let provider = context.channel as? any SocketOptionProvider else { return use(0) }
            let info: EventLoopFuture<LinuxTCPInfo> = provider.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
            // A connection that just ended says nothing more.
            info.assumeIsolated().whenComplete { result in use((try? result.get())?.bytesAcknowledged ?? 0) }
        #else
            use(0)
        #endif
    }
}

#if os(Linux)
    /// The kernel's `struct tcp_info` (linux/tcp.h) up to the field that is needed, which the C library's declaration lacks.
    private struct LinuxTCPInfo: Sendable {
        private let before: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
        /// `tcpi_bytes_acked`: 0 from kernels that don't count them.
        let bytesAcknowledged: UInt64
    }
#endif
