import NIOCore
import NIOPosix
import NIOSSL
import TestSupport

/// A TLS client that only trusts ``TestCertificate``, and only reads on demand.
enum TLSClient {
    /// Sends a request on a new connection.
    /// - Parameter read: receives each part, and returns true to continue.
    static func send(_ request: [UInt8], port: Int, _ read: (ByteBuffer) async throws -> Bool) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(TestCertificate.pem.utf8)))
        let context = try NIOSSLContext(configuration: configuration)
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(
            host: "127.0.0.1", port: port
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: request))
            for try await part in inbound where try await !read(part) { return }
        }
    }
}
