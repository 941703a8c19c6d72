import ArgumentParser
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// The least that a server on these libraries costs: answers every request with the same bytes.
@main
struct FloorServers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "floor-servers", abstract: "Servers that always give the same answer; `make bench` runs them.",
        subcommands: [OnHummingbird.self, OnNIO.self])
}

/// An answer as Skylight sent it.
struct GivenAnswer: ParsableArguments {
    @Argument(help: "A file with the answer: head and body.")
    var file: String

    func parsed() throws -> (status: Int, fields: [(String, String)], body: ByteBuffer) {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { throw ValidationError("There is no head") }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw ValidationError("There is no status")
        }
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
        return (status, fields, ByteBuffer(bytes: bytes[end.upperBound...]))
    }
}

/// The driver waits for this line.
private func announce(_ address: SocketAddress?) {
    FileHandle.standardOutput.write(Data("Listening on http://127.0.0.1:\(address?.port ?? 0)\n".utf8))
}

// MARK: - Hummingbird

struct OnHummingbird: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "hummingbird")

    @OptionGroup var answer: GivenAnswer

    func run() async throws {
        let answer = try answer.parsed()
        var headers = HTTPFields()
        for (name, value) in answer.fields {
            // Hummingbird adds these itself.
            guard !["content-length", "date", "server"].contains(name.lowercased()), let name = HTTPField.Name(name)
            else { continue }
            headers.append(HTTPField(name: name, value: value))
        }
        let response = Response(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: answer.body))
        var logger = Logger(label: "floor")
        logger.logLevel = .error
        let application = Application(
            responder: SameResponse(response: response),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { announce($0.localAddress) }, logger: logger)
        try await application.runService()
    }
}

private struct SameResponse: HTTPResponder {
    let response: Response

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        for try await _ in request.body {}
        return response
    }
}

// MARK: - NIO

struct OnNIO: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "nio")

    @OptionGroup var answer: GivenAnswer

    func run() async throws {
        let answer = try answer.parsed()
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status),
            headers: HTTPHeaders(answer.fields))
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(SameAnswer(head, answer.body))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        announce(channel.localAddress)
        try await channel.closeFuture.get()
    }
}

private final class SameAnswer: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let head: HTTPResponseHead
    private let body: ByteBuffer

    init(_ head: HTTPResponseHead, _ body: ByteBuffer) {
        (self.head, self.body) = (head, body)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
