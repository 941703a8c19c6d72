internal import Synchronization

/// How much memory a server gives to bodies of requests and to answers, all of them together.
///
/// Counted are bodies that are collected, until they are answered, and answers, until the client has taken them or is gone. What is small is not
/// counted, nor are the bytes of assets, which are never held as a whole.
public final class MemoryBudget: Sendable {
    /// 128 MiB: four of the largest bodies at a time, or two of the largest answers, which count twice while they are made.
    public static let defaultLimit = 128 << 20
    /// 64 MiB. With less, one of the largest answers would find room only while nothing else is counted.
    public static let leastLimit = 64 << 20

    private let limit: Int
    private let taken = Atomic(0)

    /// - Parameter limit: bytes.
    public init(limit: Int = defaultLimit) {
        self.limit = limit
    }

    /// Bytes that are taken now.
    public var takenBytes: Int { taken.load(ordering: .relaxed) }

    /// - Parameter own: bytes that the same request has taken already.
    /// - Returns: true if there is room. A request that is alone may take more than the limit, because it would never find room otherwise.
    func take(_ count: Int, beside own: Int) -> Bool {
        var before = taken.load(ordering: .relaxed)
        while before + count <= limit || before == own {
            let (isTaken, now) = taken.weakCompareExchange(expected: before, desired: before + count, ordering: .relaxed)
            if isTaken { return true }
            before = now
        }
        return false
    }

    /// Counts what is there already, be it more than there is room for.
    func count(_ count: Int) { taken.add(count, ordering: .relaxed) }

    func giveBack(_ count: Int) { taken.subtract(count, ordering: .relaxed) }
}
