internal import NIOPosix

/// Work that computes for long and waits for nothing. On the threads that answer requests it would keep everybody else waiting.
public enum LongWork {
    /// Bytes that are worked through quickly enough to stay where one is.
    private static let quickSize = 64 << 10

    /// Does work on a thread of its own, unless it is over quickly.
    /// - Parameter size: bytes that are worked on.
    public static func run<Value: Sendable>(on size: Int, _ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        size <= quickSize ? try work() : try await NIOThreadPool.singleton.runIfActive(work)
    }
}
