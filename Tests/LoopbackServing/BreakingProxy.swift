import NIOCore
import NIOPosix
import Synchronization

/// Forwards connections to a server on loopback until it breaks them.
public final class BreakingProxy: Sendable {
    public enum Plan: Sendable {
        case forward
        /// The request of this number, counted from 1, and all after it never arrive. This is how a process that ends
        /// looks from outside.
        case stopBeforeRequest(Int)
        /// The answer to the request of this number and everything after it never arrive. The request does.
        case stopBeforeAnswer(Int)
        /// The connection breaks once, after so many bytes of all answers together.
        case breakOnce(afterBytes: Int)
        /// The connection breaks within each request whose number this divides, or within its answer. Only a part of
        /// that arrives.
        case breakEvery(Int, Message, Part)
    }

    public enum Message: Sendable, CaseIterable {
        case request, answer
    }

    /// The part of a message that arrives.
    public enum Part: Sendable, CaseIterable {
        case nothing, firstByte, halfOfHead, head, halfOfBody, allButLastByte

        fileprivate func count(head: Int, whole: Int) -> Int {
            switch self {
            case .nothing: 0
            case .firstByte: 1
            case .halfOfHead: head / 2
            case .head: head
            case .halfOfBody: head + (whole - head) / 2
            case .allButLastByte: whole - 1
            }
        }
    }

    private struct State {
        var plan: Plan
        var requests = 0
        var bytes = 0
        var breaks = 0
        var isStopped = false
        var heads = ""
    }

    private enum Verdict {
        case forward(ByteBuffer)
        /// Waits for the rest of a message.
        case hold
        /// Forwards the bytes, and closes the connection.
        case breakOff(ByteBuffer?)
    }

    /// The request that a connection is busy with. Clients here do not send another one before its answer.
    private final class Exchange {
        var number = 0
        var held = ByteBuffer()
    }

    private let state: Mutex<State>

    private init(_ plan: Plan) {
        state = Mutex(State(plan: plan))
    }

    /// The number of requests that came.
    public var requests: Int { state.withLock { $0.requests } }
    /// The number of connections that were broken by ``Plan/breakEvery(_:_:_:)``.
    public var breaks: Int { state.withLock { $0.breaks } }
    public var isStopped: Bool { state.withLock { $0.isStopped } }
    /// The heads of all requests and answers.
    public var heads: String { state.withLock { $0.heads } }

    public static func run<Value>(
        to port: Int, _ plan: Plan, _ body: (_ port: Int, BreakingProxy) async throws -> Value
    ) async throws -> Value {
        let proxy = BreakingProxy(plan)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: port).flatMapThrowing {
                    server in
                    let exchange = Exchange()
                    try client.pipeline.syncOperations.addHandler(
                        Side(to: server) { proxy.judge(request: $0, exchange) })
                    try server.pipeline.syncOperations.addHandler(
                        Side(to: client) { proxy.judge(answer: $0, exchange) })
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

    /// Lets no further request arrive. ``isStopped`` is true once one came.
    public func stop() { state.withLock { $0.plan = .stopBeforeRequest($0.requests + 1) } }

    private func judge(request part: ByteBuffer, _ exchange: Exchange) -> Verdict {
        state.withLock { state in
            if state.isStopped { return .breakOff(nil) }
            // The client writes the head of a request in one piece.
            if Self.begins(part, ["POST ", "GET "]) {
                state.requests += 1
                exchange.number = state.requests
                exchange.held.clear()
                state.heads += Self.head(of: part)
            }
            if case .stopBeforeRequest(let number) = state.plan, state.requests >= number {
                state.isStopped = true
                return .breakOff(nil)
            }
            return Self.judge(.request, part, exchange, &state)
        }
    }

    private func judge(answer part: ByteBuffer, _ exchange: Exchange) -> Verdict {
        state.withLock { state in
            if state.isStopped { return .breakOff(nil) }
            if case .stopBeforeAnswer(let number) = state.plan, state.requests >= number {
                state.isStopped = true
                return .breakOff(nil)
            }
            if Self.begins(part, ["HTTP/"]) { state.heads += Self.head(of: part) }
            defer { state.bytes += part.readableBytes }
            guard case .breakOnce(afterBytes: let limit) = state.plan, state.bytes + part.readableBytes > limit else {
                return Self.judge(.answer, part, exchange, &state)
            }
            state.plan = .forward
            return .breakOff(part.getSlice(at: part.readerIndex, length: max(0, limit - state.bytes)))
        }
    }

    /// Keeps a message that the plan breaks until all of it is there, because only then its middle and end are known.
    private static func judge(_ message: Message, _ part: ByteBuffer, _ exchange: Exchange, _ state: inout State)
        -> Verdict
    {
        guard case .breakEvery(let interval, message, let arriving) = state.plan,
            exchange.number.isMultiple(of: interval)
        else { return .forward(part) }
        exchange.held.writeImmutableBuffer(part)
        guard let (head, whole) = extent(of: exchange.held) else { return .hold }
        state.breaks += 1
        return .breakOff(
            exchange.held.getSlice(at: exchange.held.readerIndex, length: arriving.count(head: head, whole: whole)))
    }

    private static func begins(_ part: ByteBuffer, _ words: [String]) -> Bool {
        words.contains { part.readableBytesView.starts(with: $0.utf8) }
    }

    private static func head(of part: ByteBuffer) -> String {
        let bytes = part.readableBytesView
        return String(
            decoding: bytes[..<(bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? bytes.endIndex)],
            as: UTF8.self)
    }

    /// The number of bytes of a message's head and of all of it; `nil` if more is to come.
    private static func extent(of held: ByteBuffer) -> (head: Int, whole: Int)? {
        let bytes = Array(held.readableBytesView)
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).lowercased().split(whereSeparator: \.isNewline)
        if lines.contains(where: { $0.hasPrefix("transfer-encoding:") && $0.hasSuffix("chunked") }) {
            return bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8) ? (end, bytes.count) : nil
        }
        let length =
            lines.lazy.compactMap { $0.wholeMatch(of: /content-length: *([0-9]+)/).flatMap { Int($0.1) } }.first ?? 0
        return bytes.count >= end + length ? (end, end + length) : nil
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
            case .hold: break
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
