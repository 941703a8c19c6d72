import Hummingbird
import Testing

/// Connections during the shutdown of a server.
@Suite("Ending")
struct EndingTests {
    /// Fifty times, because the timing of the last accepted connection is random.
    @Test("A server that ends while clients connect ends in order", arguments: 0..<50)
    func connecting(_: Int) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        async let connecting: Void = {
            for await port in ports {
                await withTaskGroup(of: Void.self) { clients in
                    for _ in 0..<8 { clients.addTask { try? await TestSocket.with(port: port) { try $0.send([71]) } } }
                }
            }
        }()
        try await FileServer.run(routes: { _ in }) { server in
            let answer = try await server.answer("GET", "/nothing")
            #expect(answer.status == 404)
            port.yield(server.port)
        }
        port.finish()
        await connecting
    }
}
