import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A client with full control over when and how much it reads.
final class TestSocket {
    struct Failed: Error {
        let what: String
        let code: CInt
    }

    /// Blocking calls must not occupy the server's threads. As many as the sockets of the tests that run at a time.
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 64)
        pool.start()
        return pool
    }()

    private let descriptor: CInt
    private var unread: [UInt8] = []

    /// Connects, and closes at the end of the body.
    /// - Parameter receiveBuffer: the size of the receive buffer in bytes; `nil` for the system's default.
    static func with<Result: Sendable>(
        port: Int, receiveBuffer: Int? = nil, _ body: @escaping @Sendable (TestSocket) throws -> Result
    ) async throws -> Result {
        try await threads.runIfActive { try body(TestSocket(port: port, receiveBuffer: receiveBuffer)) }
    }

    private init(port: Int, receiveBuffer: Int?) throws {
        #if canImport(Darwin)
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw Failed(what: "socket", code: errno) }
        if let receiveBuffer {
            var size = CInt(receiveBuffer)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        // Only a server that never answers reaches it.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failed(what: "connect", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Makes the end of the connection a reset, which drops what is still on its way (SO_LINGER of 0).
    func endWithReset() {
        var none = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
    }

    /// Sends bytes.
    /// - Throws: an error if the server accepts no more, or has closed the connection.
    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            #if canImport(Darwin)
                let flags: CInt = 0
            #else
                let flags = CInt(MSG_NOSIGNAL)
            #endif
            let count = bytes[sent...].withUnsafeBytes { Self.send(descriptor, $0, flags) }
            guard count >= 0 else { throw Failed(what: "send", code: errno) }
            sent += count
        }
    }

    private static func send(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer, _ flags: CInt) -> Int {
        #if canImport(Glibc)
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
        #elseif canImport(Musl)
            Musl.send(descriptor, bytes.baseAddress, bytes.count, flags)
        #else
            Darwin.send(descriptor, bytes.baseAddress, bytes.count, flags)
        #endif
    }

    /// - Returns: up to the given number of bytes; empty at the end.
    func read(upTo count: Int) throws -> [UInt8] {
        if !unread.isEmpty {
            defer { unread.removeFirst(min(count, unread.count)) }
            return Array(unread.prefix(count))
        }
        var code: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let got = recv(descriptor, buffer.baseAddress, count, 0)
            if got < 0 { code = errno }
            initialized = max(0, got)
        }
        if code != 0 { throw Failed(what: "recv", code: code) }
        return bytes
    }

    func read(exactly count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let part = try read(upTo: min(1 << 20, count - bytes.count))
            if part.isEmpty {
                throw Failed(what: "the connection ended after \(bytes.count) of \(count) bytes", code: 0)
            }
            bytes += part
        }
        return bytes
    }

    /// The number of bytes up to the end of the connection, including an abnormal end.
    func countToEnd() -> Int {
        var count = 0
        while let part = try? read(upTo: 1 << 20), !part.isEmpty { count += part.count }
        return count
    }

    /// Reads the head of an answer, up to and including the empty line.
    func readHead() throws -> Answer {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let part = try read(upTo: 4096)
            if part.isEmpty { throw Failed(what: "the connection ended in the head", code: 0) }
            if let end = (head + part).firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                unread = Array((head + part)[end...]) + unread
                head = Array((head + part)[..<end])
            } else {
                head += part
            }
        }
        return try Answer(head: String(decoding: head, as: UTF8.self))
    }

    func readAnswer(to method: String = "GET") throws -> Answer {
        var answer = try readHead()
        if method == "HEAD" || answer.status == 304 || answer.status < 200 { return answer }
        if answer["transfer-encoding"] == "chunked" {
            while true {
                let chunk = try readChunk()
                if chunk.isEmpty { return answer }
                answer.body += chunk
            }
        }
        guard let count = answer["content-length"].flatMap({ Int($0) }) else {
            throw Failed(what: "no length", code: 0)
        }
        answer.body = try read(exactly: count)
        return answer
    }

    /// One chunk of a chunked body; empty at its end.
    func readChunk() throws -> [UInt8] {
        var line: [UInt8] = []
        while !line.suffix(2).elementsEqual([13, 10]) { line += try read(exactly: 1) }
        guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else {
            throw Failed(what: "chunk", code: 0)
        }
        return Array(try read(exactly: size + 2).dropLast(2))
    }
}

/// A parsed answer.
struct Answer: Sendable {
    struct Malformed: Error {
        let text: String
    }

    let status: Int
    /// By lower-case name; values of repeated headers are joined.
    let fields: [String: String]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(_ name: String) -> String? { fields[name] }

    init(head: String) throws {
        let lines = head.split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Malformed(text: head)
        }
        self.status = status
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
        self.fields = Dictionary(fields, uniquingKeysWith: { $0 + ", " + $1 })
    }
}

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
