internal import AsyncHTTPClient
internal import NIOCore
internal import RecordStore

extension RemoteDatabase: CommitSignalling {
    /// How long to wait before a connection that broke is made again.
    private static let pause: Duration = .seconds(1)

    /// A signal after each commit on the server, and whenever the connection came or went: what happened while there was none is not known,
    /// so who follows should look. Ends when the engine is closed or nobody listens any more.
    func commits() -> AsyncStream<Void> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listening = Task { [line] in
            while !Task.isCancelled, line.server.isOpen {
                do {
                    // The first sign comes as soon as the server listens.
                    for try await part in try await line.stream("commits") where Self.holdsSign(part.readableBytesView) { continuation.yield() }
                } catch {
                    // Whoever follows learns by its own request why there is no connection.
                }
                if Task.isCancelled || !line.server.isOpen { break }
                continuation.yield()
                // Cancelled sleep ends at once, and so does the loop then.
                try? await Task.sleep(for: Self.pause)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in listening.cancel() }
        return signals
    }

    /// What a quiet server sends as a sign of life.
    private static let signOfLife = Array(": still here\n\n".utf8)

    /// Whether a part of the stream is more than a sign of life. Parts may be cut anywhere, and hold several signs: only what is just the one
    /// is quiet, for a signal too many does no harm.
    static func holdsSign(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.elementsEqual(signOfLife)
    }
}
