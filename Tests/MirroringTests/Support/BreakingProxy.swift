import NIOCore
import NIOPosix
import Synchronization

/// Forwards connections to a server on loopback until it breaks them.
final class BreakingProxy: Sendable {
    enum Plan: Sendable {
        case forward
        /// The request of this number, counted from 1, and all after it never arrive. This is how a process that ends looks from outside.
        case stopBeforeRequest(Int)
        /// The answer to the request of this number and everything after it never arrive. The request does.
        case stopBeforeAnswer(Int)
        /// The connection breaks once, after so many bytes of all answers together.
        case breakOnce(afterBytes: Int)
    }

    private struct State {
        var plan: Plan
        var requests = 0
        var bytes = 0
        var isStopped = false
    }

    private enum Verdict {
        case forward(ByteBuffer)
        /// Forwards the bytes, and closes the connection.
        case breakOff(ByteBuffer?)
    }

    private let state: Mutex<State>

    private init(_ plan: Plan) {
        state = Mutex(State(plan: plan))
    }

    /// The number of requests that came.
    var requests: Int { state.withLock { $0.requests } }
    var isStopped: Bool { state.withLock { $0.isStopped } }

    static func run<Value>(to port: Int, _ plan: Plan, _ body: (_ port: Int, BreakingProxy) async throws -> Value) async throws -> Value {
        let proxy = BreakingProxy(plan)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: port).flatMapThrowing { server in
                    try client.pipeline.syncOperations.addHandler(Side(to: server) { proxy.judge(request: $0) })
                    try server.pipeline.syncOperations.addHandler(Side(to: client) { proxy.judge(answer: $0) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let value = try await body(channel.localAddress?.port ?? 0, proxy)
            try await channel.close()
            return value
        } catch {
            try? await channel.close()
            throw error
        }
    }

    private func judge(request part: ByteBuffer) -> Verdict {
        state.withLock { state in
            if state.isStopped { return .breakOff(nil) }
            // The client writes the head of a request in one piece.
            let head = part.getString(at: part.readerIndex, length: min(5, part.readableBytes)) ?? ""
            if head.hasPrefix("POST ") || head.hasPrefix("GET ") { state.requests += 1 }
            if case .stopBeforeRequest(let number) = state.plan, state.requests >= number {
                state.isStopped = true
                return .breakOff(nil)
            }
            return .forward(part)
        }
    }

    private func judge(answer part: ByteBuffer) -> Verdict {
        state.withLock { state in
            if state.isStopped { return .breakOff(nil) }
            if case .stopBeforeAnswer(let number) = state.plan, state.requests >= number {
                state.isStopped = true
                return .breakOff(nil)
            }
            defer { state.bytes += part.readableBytes }
            guard case .breakOnce(afterBytes: let limit) = state.plan, state.bytes + part.readableBytes > limit else { return .forward(part) }
            state.plan = .forward
            return .breakOff(part.getSlice(at: part.readerIndex, length: max(0, limit - state.bytes)))
        }
    }

    /// One direction of a connection.
    private final class Side: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let peer: any Channel
        private let judge: (ByteBuffer) -> Verdict

        init(to peer: any Channel, _ judge: @escaping (ByteBuffer) -> Verdict) {
            self.peer = peer
            self.judge = judge
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch judge(unwrapInboundIn(data)) {
            case .forward(let part): peer.writeAndFlush(part, promise: nil)
            case .breakOff(let part):
                let own = context.channel
                let written = part.map { peer.writeAndFlush($0) } ?? context.eventLoop.makeSucceededVoidFuture()
                written.whenComplete { [peer] _ in
                    peer.close(promise: nil)
                    own.close(promise: nil)
                }
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            peer.close(promise: nil)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
