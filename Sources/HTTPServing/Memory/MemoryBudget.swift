internal import Synchronization

/// The memory limit of a server for request bodies and answers together.
///
/// Collected bodies count until they are answered. Answers count until the client has taken them or is
/// gone. Small bodies and answers do not count, nor do asset downloads and uploads, which are streamed.
public final class MemoryBudget: Sendable {
    /// 128 MiB: four request bodies of the maximum size, or two of the largest answers, which count twice while they are made.
    public static let defaultLimit = 128 << 20
    /// 64 MiB. With less, one of the largest answers would only fit while nothing else counts.
    public static let leastLimit = 64 << 20

    private let limit: Int
    /// The heap is trimmed after this number of bytes was given back.
    private static let trimSize = 32 << 20

    private let taken = Atomic(0)
    private let returned = Atomic(0)

    /// - Parameter limit: the limit in bytes.
    public init(limit: Int = defaultLimit) {
        self.limit = limit
    }

    /// Bytes that were given back since the heap was trimmed.
    var returnedBytes: Int { returned.load(ordering: .relaxed) }

    /// The bytes in use.
    public var takenBytes: Int { taken.load(ordering: .relaxed) }

    /// - Parameter own: the bytes that the same request already uses.
    /// - Returns: true if there is room. A single request may exceed the limit, because it would never find room otherwise.
    func take(_ count: Int, beside own: Int) -> Bool {
        var before = taken.load(ordering: .relaxed)
        while before + count <= limit || before == own {
            let (isTaken, now) = taken.weakCompareExchange(expected: before, desired: before + count, ordering: .relaxed)
            if isTaken { return true }
            before = now
        }
        return false
    }

    /// Counts memory that is already in use, even beyond the limit.
    func count(_ count: Int) { taken.add(count, ordering: .relaxed) }

    func giveBack(_ count: Int) {
        taken.subtract(count, ordering: .relaxed)
        returned.add(count, ordering: .relaxed)
    }

    /// Decides whether to trim the heap now: ``trimSize`` bytes were given back since the last time, and none are in use.
    /// - Returns: true once; then false until as many bytes were given back again.
    public func takeTrimming() -> Bool {
        guard takenBytes == 0, returnedBytes >= Self.trimSize else { return false }
        returned.store(0, ordering: .relaxed)
        return true
    }
}
