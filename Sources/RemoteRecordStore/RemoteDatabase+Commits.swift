internal import AsyncHTTPClient
internal import NIOCore
internal import RecordStore

extension RemoteDatabase {
    /// The delay before a reconnection.
    private static let pause: Duration = .seconds(1)

    /// A signal after each commit on the server, and after each connect and disconnect, because
    /// commits in between are unknown. Ends when the engine is closed or the consumer stops listening.
    func commits() -> AsyncStream<Void> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listening = Task { [line] in
            while !Task.isCancelled, line.server.isOpen {
                do {
                    // The server sends the first signal as soon as it listens.
                    for try await part in try await line.stream("commits") where Self.holdsSign(part.readableBytesView) { continuation.yield() }
                } catch {
                    // The consumer's own requests report why there is no connection.
                }
                if Task.isCancelled || !line.server.isOpen { break }
                continuation.yield()
                // Cancellation ends the sleep, and then the loop.
                try? await Task.sleep(for: Self.pause)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in listening.cancel() }
        return signals
    }

    /// The keep-alive message of the server.
    private static let signOfLife = Array(": still here\n\n".utf8)

    /// True if a part of the stream is more than a keep-alive message. Parts may be split anywhere and may combine
    /// several messages. Only an exact keep-alive message is ignored, because an extra signal does no harm.
    static func holdsSign(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.elementsEqual(signOfLife)
    }
}
