import Foundation
import NIOCore
import NIOPosix
import Records
import Synchronization

/// A fake server that answers each request with the next text of a script, or closes the connection.
final class ScriptedServer: Sendable {
    private let script: [String?]
    private let taken = Mutex(0)

    /// - Parameter script: the answers in order; `nil` closes the connection. The last one is repeated.
    private init(_ script: [String?]) {
        self.script = script
    }

    /// The number of requests received.
    var requests: Int { taken.withLock { $0 } }

    static func run(_ script: String?..., body: (URL, ScriptedServer) async throws -> Void) async throws {
        let server = ScriptedServer(script)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler(server)) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let url = URL(string: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)") else { throw RecordError(.internalError, "no URL") }
        do {
            try await body(url, server)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
    }

    /// A complete JSON answer.
    static func json(_ text: String, status: String = "200 OK") -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
    }

    private func next() -> String? {
        taken.withLock { taken in
            defer { taken += 1 }
            return script[min(taken, script.count - 1)]
        }
    }

    /// Treats each packet with a head as a request, because the requests of these tests fit into one packet.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: ScriptedServer

        init(_ server: ScriptedServer) {
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard String(buffer: unwrapInboundIn(data)).contains(" HTTP/1.1\r\n") else { return }
            guard let answer = server.next() else { return context.close(promise: nil) }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }
    }
}
