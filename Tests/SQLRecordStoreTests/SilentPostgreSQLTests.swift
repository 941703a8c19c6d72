#if PostgreSQL && os(Linux)
    import Foundation
    import Synchronization
    import Testing

    @testable import SQLRecordStore

    /// A server of PostgreSQL that takes connections and then says nothing, as one whose processes are stopped.
    @Suite struct SilentPostgreSQLTests {
        /// Speaks as much of the protocol as a connection needs to begin.
        private final class Server: Sendable {
            /// The number of the connection, counted from 1, and the bytes of its request after the beginning; nil for
            /// the beginning itself.
            /// - Returns: false to say nothing.
            typealias Answers = @Sendable (_ connection: Int, _ request: [UInt8]?) -> Bool

            let port: UInt16
            private let listener: Socket
            private let clients = Clients()

            /// A socket that is closed once no thread uses it: the system gives its number to another one soon.
            private final class Socket: Sendable {
                let descriptor: Int32
                init(_ descriptor: Int32) { self.descriptor = descriptor }
                func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
                deinit { close(descriptor) }
            }

            private final class Clients: Sendable {
                let list = Mutex<[Socket]>([])
            }

            /// - Parameter ends: true to end connections whose beginning gets no answer.
            init(ends: Bool = false, _ answers: @escaping Answers) throws {
                let listener = Socket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
                self.listener = listener
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(listener.descriptor, $0, length) == 0 && listen(listener.descriptor, 8) == 0
                            && getsockname(listener.descriptor, $0, &length) == 0
                    }
                }
                try #require(isBound)
                port = UInt16(bigEndian: address.sin_port)
                Thread.detachNewThread { [clients] in
                    var count = 0
                    while case let descriptor = accept(listener.descriptor, nil, nil), descriptor >= 0 {
                        let client = Socket(descriptor)
                        count += 1
                        clients.list.withLock { $0.append(client) }
                        let number = count
                        Thread.detachNewThread {
                            withExtendedLifetime(client) { Self.serve(client.descriptor, number, ends: ends, answers) }
                        }
                    }
                }
            }

            deinit {
                listener.end()
                for client in clients.list.withLock({ $0 }) { client.end() }
            }

            private static func serve(_ client: Int32, _ number: Int, ends: Bool, _ answers: Answers) {
                guard read(client) != nil, answers(number, nil) else {
                    if ends { shutdown(client, Int32(SHUT_RDWR)) }
                    return
                }
                // Authentication is not needed, and the server is ready.
                send([UInt8(ascii: "R"), 0, 0, 0, 8, 0, 0, 0, 0] + ready, to: client)
                while let request = read(client) {
                    if answers(number, request) { send(row, to: client) }
                }
            }

            private static let ready: [UInt8] = [UInt8(ascii: "Z"), 0, 0, 0, 5, UInt8(ascii: "I")]
            /// One column `a`, one row `1`.
            private static let row: [UInt8] =
                [
                    UInt8(ascii: "T"), 0, 0, 0, 26, 0, 1, UInt8(ascii: "a"), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 0xFF,
                    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0,
                ]
                + [UInt8(ascii: "D"), 0, 0, 0, 11, 0, 1, 0, 0, 0, 1, UInt8(ascii: "1")] + [
                    UInt8(ascii: "C"), 0, 0, 0, 13,
                ] + Array("SELECT 1".utf8) + [0] + ready

            private static func read(_ client: Int32) -> [UInt8]? {
                var bytes = [UInt8](repeating: 0, count: 65536)
                let count = recv(client, &bytes, bytes.count, 0)
                return count > 0 ? Array(bytes[..<count]) : nil
            }

            private static func send(_ bytes: [UInt8], to client: Int32) {
                _ = Foundation.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            }
        }

        @Test func theDocumentedTimesAreThoseOfTheCode() throws {
            let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/postgresql.md")
            let request = PostgreSQLConnection.Patience().ofRequest
            let commit = request + PostgreSQLWriter.commitPatience
            #expect(
                try String(contentsOf: page, encoding: .utf8).contains(
                    "answer within \(request.components.seconds) seconds, a save that was being committed within "
                        + "\(commit.components.seconds)."))
        }

        /// - Parameter answer: how long the connection waits for its first answer. As long as a busy machine may take.
        private func connect(to server: Server, answer: Duration = .seconds(120)) throws -> PostgreSQLConnection {
            try PostgreSQLConnection(
                "host=127.0.0.1 port=\(server.port) user=u dbname=d sslmode=disable gssencmode=disable connect_timeout=120",
                patience: .init(silence: .milliseconds(50), answer: answer))
        }

        private static func isQuestion(_ request: [UInt8]?) -> Bool {
            request.map { String(decoding: $0, as: UTF8.self).contains("question") } ?? false
        }

        @Test func aServerThatAnswersNobodyIsLost() throws {
            // The connection begins. Its question, and all other connections, get nothing.
            let server = try Server { number, request in number == 1 && !Self.isQuestion(request) }
            defer { withExtendedLifetime(server) {} }
            let connection = try connect(to: server)
            connection.patience.answer = .milliseconds(50)
            let error = #expect(throws: SQLError.self) { try connection.row("SELECT 'question'") }
            #expect(error?.cause == .connectionLost && connection.wasSilent && !connection.isReady)
            // Nothing that comes after it waits.
            #expect(throws: SQLError.self) { try connection.execute("SELECT 1") }
            #expect(throws: SQLError.self) { try connection.post("SELECT 1") }
        }

        @Test func aStatementThatTakesLongIsWaitedForWhileOthersAreAnswered() throws {
            let waiting = DispatchSemaphore(value: 0)
            let server = try Server { number, request in
                // The question is answered once another connection has asked whether the server is there.
                if Self.isQuestion(request) { waiting.wait() } else if number == 2, request != nil { waiting.signal() }
                return true
            }
            defer { withExtendedLifetime(server) {} }
            let connection = try connect(to: server)
            #expect(try connection.row("SELECT 'question'") == ["1"])
            #expect(!connection.wasSilent)
        }

        @Test func aServerThatTakesNothingIsLost() throws {
            let hold = DispatchSemaphore(value: 0)
            defer { hold.signal() }
            let server = try Server { number, request in
                if Self.isQuestion(request) { hold.wait() }
                return number == 1
            }
            defer { withExtendedLifetime(server) {} }
            let connection = try connect(to: server)
            connection.patience.answer = .milliseconds(50)
            // More than the buffers of a connection hold.
            let text = "SELECT 'question \(String(repeating: "x", count: 32 << 20))'"
            let error = #expect(throws: SQLError.self) { try connection.row(text) }
            #expect(error?.cause == .connectionLost && connection.wasSilent)
        }

        /// Others need not wait for the same failure, and learn its cause. Later ones try again.
        @Test(arguments: [Duration.zero, .seconds(3600)]) func othersFailAsTheSlowConnectionDid(lifetime: Duration)
            throws
        {
            // Takes the beginning, and then ends the connection.
            let count = Mutex(0)
            let server = try Server(ends: true) { number, _ in
                count.withLock { $0 = number }
                return false
            }
            defer { withExtendedLifetime(server) {} }
            let pool = PostgreSQLPool(
                "host=127.0.0.1 port=\(server.port) user=u dbname=d sslmode=disable gssencmode=disable",
                slowness: .zero, failureLifetime: lifetime)
            let errors = try (0..<2).map { _ in try #require(throws: SQLError.self) { try pool.lend(nil) { _ in } } }
            #expect(errors[0].isOfConnecting && errors[0].message.contains("closed the connection"), "\(errors[0])")
            #expect(errors[1].message == errors[0].message && count.withLock { $0 } == (lifetime == .zero ? 2 : 1))
        }

        @Test func aConnectionThatIsNotAnsweredIsNotMade() throws {
            let server = try Server { _, request in request == nil }
            defer { withExtendedLifetime(server) {} }
            let error = #expect(throws: SQLError.self) { try connect(to: server, answer: .milliseconds(50)) }
            #expect(error?.isOfConnecting == true)
        }
    }
#endif
