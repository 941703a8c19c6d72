import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A fake server on a port of 127.0.0.1: records every request, and answers each as a script says, also with broken
/// answers.
public final class ScriptedServer: Sendable {
    public struct Request: Sendable {
        public var method: String
        /// Path and query as they were sent.
        public var target: String
        /// Names in lower case.
        public var headers: [String: String]
        public var body: String
        /// The connection, counted from 1.
        public var connection: Int

        public var path: String { String(target.prefix { $0 != "?" }) }

        /// A parameter of the query, as it was sent.
        public func parameter(_ name: String) -> String? {
            let query = target.drop { $0 != "?" }.dropFirst()
            return query.split(separator: "&").first { $0.hasPrefix("\(name)=") }.map {
                String($0.dropFirst(name.count + 1))
            }
        }
    }

    /// The bytes of an answer, and the end of the connection.
    public struct Reply: Sendable {
        public var bytes: [UInt8]
        public var closes: Bool
        /// The number of requests that must have come before this is sent.
        public var requests: Int
        /// True if one space after the other follows, until the client goes.
        public var drips = false

        public init(bytes: [UInt8], closes: Bool = false, requests: Int = 0) {
            (self.bytes, self.closes, self.requests) = (bytes, closes, requests)
        }

        /// A head, and then one space after the other.
        public static func drip(_ headers: [String: String] = [:]) -> Reply {
            let lines = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
            var reply = Reply(
                bytes: Array("HTTP/1.1 200 Status\r\nContent-Type: application/json\r\n\(lines)\r\n".utf8))
            reply.drips = true
            return reply
        }

        public static func json(_ text: String, status: Int = 200, _ headers: [String: String] = [:]) -> Reply {
            raw(
                text, status: status,
                headers.merging(["Content-Type": "application/json; charset=UTF-8"]) { given, _ in given })
        }

        public static func raw(_ text: String, status: Int = 200, _ headers: [String: String] = [:]) -> Reply {
            let lines = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
            return Reply(
                bytes: Array(
                    "HTTP/1.1 \(status) Status\r\nContent-Length: \(text.utf8.count)\r\n\(lines)\r\n\(text)".utf8))
        }

        /// The error of a whole request, with more members.
        public static func error(_ code: String, status: Int, _ more: String = "", _ headers: [String: String] = [:])
            -> Reply
        {
            json(
                #"{"uuid":"u-1","serverErrorCode":"\#(code)","reason":"Because of \#(code)"\#(more)}"#, status: status,
                headers)
        }

        /// Ends the connection without a byte.
        public static let close = Reply(bytes: [], closes: true)

        /// Only the first bytes, and then the end of the connection.
        public func cut(after count: Int) -> Reply { Reply(bytes: Array(bytes.prefix(count)), closes: true) }

        /// The same once so many requests have come, so that they are under way together.
        public func after(requests: Int) -> Reply { Reply(bytes: bytes, closes: closes, requests: requests) }

        /// The number of bytes of the head.
        public var headCount: Int { bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? bytes.count }
    }

    public typealias Script = @Sendable (_ request: Request, _ number: Int) -> Reply

    private struct State {
        var connections = 0
        var requests: [Request] = []
        var held: [(reply: Reply, send: @Sendable (Reply) -> Void)] = []
    }

    private let script: Script
    private let state = Mutex(State())

    private init(_ script: @escaping Script) {
        self.script = script
    }

    /// All requests so far.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// Serves while the body runs.
    /// - Parameter script: makes the answer to a request, which is counted from 0.
    public static func run(_ script: @escaping Script, _ body: (_ address: String, ScriptedServer) async throws -> Void)
        async throws
    {
        let server = ScriptedServer(script)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let number = server.state.withLock { state in
                    state.connections += 1
                    return state.connections
                }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(server, number))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body("http://127.0.0.1:\(channel.localAddress?.port ?? 0)", server)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    /// Answers in turn; the last one is repeated.
    public static func run(_ replies: Reply..., body: (_ address: String, ScriptedServer) async throws -> Void)
        async throws
    {
        try await run({ _, number in replies[min(number, replies.count - 1)] }, body)
    }

    private func answer(_ request: Request, _ send: @escaping @Sendable (Reply) -> Void) {
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        let reply = script(request, number)
        let ready = state.withLock { state in
            state.held.append((reply, send))
            let count = state.requests.count
            defer { state.held.removeAll { $0.reply.requests <= count } }
            return state.held.filter { $0.reply.requests <= count }
        }
        for (reply, send) in ready { send(reply) }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: ScriptedServer
        private let number: Int
        private var received: [UInt8] = []

        init(_ server: ScriptedServer, _ number: Int) {
            self.server = server
            self.number = number
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += Array(unwrapInboundIn(data).readableBytesView)
            while let request = takeRequest() {
                let channel = context.channel
                server.answer(request) { reply in
                    let written = channel.writeAndFlush(ByteBuffer(bytes: reply.bytes))
                    if reply.drips { Self.drip(into: channel) }
                    if reply.closes { written.whenComplete { _ in channel.close(promise: nil) } }
                }
            }
        }

        private static func drip(into channel: any Channel) {
            channel.eventLoop.scheduleTask(in: .milliseconds(1)) {
                guard channel.isActive else { return }
                channel.writeAndFlush(ByteBuffer(string: " ")).whenSuccess { drip(into: channel) }
            }
        }

        /// The next request, once all of it is there.
        private func takeRequest() -> Request? {
            guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            var lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
            let first = lines.removeFirst().split(separator: " ").map(String.init)
            let headers = lines.reduce(into: [String: String]()) { headers, line in
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
            }
            let length = headers["content-length"].flatMap { Int($0) } ?? 0
            guard received.count >= end.upperBound + length else { return nil }
            let body = String(decoding: received[end.upperBound..<end.upperBound + length], as: UTF8.self)
            received.removeFirst(end.upperBound + length)
            return Request(method: first[0], target: first[1], headers: headers, body: body, connection: number)
        }
    }
}
