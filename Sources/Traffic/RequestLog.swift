internal import Records
internal import Synchronization

/// The requests of late, in memory, and what they add up to: the clients that were seen (``ClientBook``) and the numbers (``Telemetry``).
///
/// It is bounded, whatever is asked: ``capacity`` requests, ``bodiesLimit`` bytes of their bodies, ``restLimit`` of the rest, and what
/// ``ClientBook`` keeps. Bodies of old requests go first, then the oldest requests themselves.
public final class RequestLog: Sendable {
    /// Requests that are kept, unless it is said otherwise.
    public static let limit = 10_000
    /// Bytes of bodies that are kept.
    public static let bodiesLimit = 24 << 20
    /// Bytes for all else, for each request there is room for. Most take less; one that says much of itself takes the room of others.
    private static let roomOfRequest = 1 << 10
    /// The same for all together, in a log of few requests.
    private static let leastRestLimit = 8 << 20
    /// Requests that are looked at before others may note theirs.
    private static let chunkSize = 256

    /// Requests after a place in the log, oldest first.
    public struct Page: Sendable {
        public var requests: [ServedRequest]
        /// Where the next page begins.
        public var cursor: Int64
        /// Requests that came after the place and are kept no more.
        public var missed: Int64
    }

    /// Requests that this log keeps.
    public let capacity: Int
    /// Bytes of all but bodies that this log keeps.
    public var restLimit: Int { max(Self.leastRestLimit, capacity * Self.roomOfRequest) }
    /// What this log is told from one of another run of the server by: 16 hexadecimal digits. Places in one mean nothing in another.
    public let run: String
    private let state: Mutex<State>

    /// - Parameter limit: requests that are kept; with 0 nothing is noted at all.
    public init(limit: Int = RequestLog.limit) {
        let capacity = max(0, limit)
        let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        run = String(repeating: "0", count: 16 - digits.utf8.count) + digits
        self.capacity = capacity
        state = Mutex(State(capacity: capacity, restLimit: max(Self.leastRestLimit, capacity * Self.roomOfRequest)))
    }

    /// Whether requests are noted.
    public var isOn: Bool { capacity > 0 }

    /// Remembers a request that was answered; the oldest ones go when there are too many.
    public func note(_ request: ServedRequest, bodies: RequestBodies = RequestBodies()) {
        guard isOn else { return }
        let (request, size) = request.cut()
        // What went is released here: nobody has to wait for that.
        let (gone, followers) = state.withLock { state in
            let gone = state.note(request, size: size, bodies)
            return (gone, state.followers.isEmpty ? [] : Array(state.followers.values))
        }
        for follower in followers { follower.yield() }
        withExtendedLifetime(gone) {}
    }

    // MARK: Reading

    /// The latest requests, newest first.
    /// - Parameters:
    ///   - id: only those before this one; none when it is kept no more.
    public func latest(_ count: Int, before id: String? = nil, where isWanted: (ServedRequest) -> Bool = { _ in true }) -> [ServedRequest] {
        search(count, before: id) { request, _ in isWanted(request) }
    }

    /// The same, picked by what is kept of the bodies too.
    public func search(_ count: Int, before id: String? = nil, where isWanted: (ServedRequest, RequestBodies?) -> Bool) -> [ServedRequest] {
        var end = Int64.max
        if let id {
            guard let cursor = cursor(of: id) else { return [] }
            end = cursor
        }
        var found: [ServedRequest] = []
        while found.count < count {
            // Whoever looks through all of them keeps nobody from noting more meanwhile.
            let entries = state.withLock { $0.entries(before: end, atMost: Self.chunkSize) }
            guard let last = entries.last else { break }
            end = last.request.number
            for kept in entries where isWanted(kept.request, kept.bodies) {
                found.append(kept.request)
                if found.count == count { break }
            }
        }
        return found
    }

    /// - Returns: `nil` when it is not known, or not any more.
    public func request(_ id: String) -> ServedRequest? {
        entry(id)?.request
    }

    /// What is kept of the bodies of a request; `nil` when it is not known, or only too old for that.
    public func bodies(of id: String) -> RequestBodies? {
        entry(id)?.bodies
    }

    /// - Parameter id: in letters of either case.
    private func entry(_ id: String) -> Kept? {
        let id = id.lowercased()
        var end = Int64.max
        while true {
            let entries = state.withLock { $0.entries(before: end, atMost: Self.chunkSize) }
            guard let last = entries.last else { return nil }
            if let entry = entries.first(where: { $0.request.id == id }) { return entry }
            end = last.request.number
        }
    }

    /// The clients that were seen, those included whose requests are kept no more.
    public var clients: ClientBook { state.withLock { $0.clients } }

    /// The numbers since the log was begun.
    public var telemetry: Telemetry { state.withLock { $0.telemetry } }

    // MARK: Following

    /// The place after the latest request: from here only what comes is seen.
    public var cursor: Int64 { state.withLock { $0.next - 1 } }

    /// The place after a request; `nil` when it is not known, or not any more.
    public func cursor(of id: String) -> Int64? {
        entry(id)?.request.number
    }

    /// The requests after a place, oldest first. Nothing is missed or doubled by whoever goes on with the cursor of the page.
    /// - Parameter cursor: -1 for the beginning.
    public func page(after cursor: Int64, limit: Int) -> Page {
        state.withLock { state in
            let start = max(cursor + 1, state.first)
            let end = min(state.next, start + Int64(max(1, limit)))
            guard start < end else { return Page(requests: [], cursor: max(cursor, state.next - 1), missed: 0) }
            return Page(
                requests: (start..<end).compactMap { state.entry($0)?.request }, cursor: end - 1, missed: start - (cursor + 1))
        }
    }

    /// A sign after each request that is noted. Those that come while nobody takes them are one: a follower that is slow takes no memory.
    public func signals() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.followerCount += 1
            state.followers[state.followerCount] = continuation
            return state.followerCount
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.followers.removeValue(forKey: number) }
        }
        return stream
    }
}

/// A request as it is kept. It is handed around by reference: a page copies hundreds of them.
private final class Entry: Sendable {
    let request: ServedRequest
    let size: Int

    init(_ request: ServedRequest, size: Int) {
        self.request = request
        self.size = size
    }
}

private struct Kept: Sendable {
    let entry: Entry
    /// `nil` when there were none, or they are gone.
    var bodies: RequestBodies?

    var request: ServedRequest { entry.request }
}

/// A ring: the request of number n stands at n modulo the capacity.
private struct State {
    let capacity: Int
    let restLimit: Int
    var ring: [Kept?] = []
    /// The numbers of the oldest request that is kept, of the oldest one with bodies, and of the next one to come.
    var first: Int64 = 0
    var firstWithBodies: Int64 = 0
    var next: Int64 = 0
    var size = 0
    var bodiesSize = 0
    var texts = SharedTexts()
    var clients = ClientBook()
    var telemetry = Telemetry()
    var followers: [Int: AsyncStream<Void>.Continuation] = [:]
    var followerCount = 0

    init(capacity: Int, restLimit: Int) {
        self.capacity = capacity
        self.restLimit = restLimit
    }

    /// - Returns: a request that is kept no more, if any.
    mutating func note(_ request: ServedRequest, size: Int, _ bodies: RequestBodies) -> Kept? {
        var request = request
        texts.share(&request)
        request.number = next
        request.smells = clients.note(request)
        telemetry.note(request)
        var gone = next - first >= Int64(capacity) ? dropFirst() : nil
        let kept = Kept(entry: Entry(request, size: size), bodies: bodies.size > 0 ? bodies : nil)
        if ring.count < capacity { ring.append(kept) } else { ring[slot(next)] = kept }
        next += 1
        self.size += size
        bodiesSize += bodies.size
        while bodiesSize > RequestLog.bodiesLimit, firstWithBodies < next { dropFirstBodies() }
        while self.size > restLimit, first < next { gone = dropFirst() }
        return gone
    }

    private mutating func dropFirst() -> Kept? {
        let kept = ring[slot(first)]
        ring[slot(first)] = nil
        size -= kept?.entry.size ?? 0
        bodiesSize -= kept?.bodies?.size ?? 0
        first += 1
        firstWithBodies = max(firstWithBodies, first)
        return kept
    }

    private mutating func dropFirstBodies() {
        let slot = slot(firstWithBodies)
        bodiesSize -= ring[slot]?.bodies?.size ?? 0
        ring[slot]?.bodies = nil
        firstWithBodies += 1
    }

    private func slot(_ number: Int64) -> Int { Int(number % Int64(capacity)) }

    func entry(_ number: Int64) -> Kept? {
        number >= first && number < next ? ring[slot(number)] : nil
    }

    /// Newest first.
    func entries(before end: Int64, atMost count: Int) -> [Kept] {
        let end = min(end, next)
        let start = max(first, end - Int64(count))
        return start < end ? (start..<end).reversed().compactMap { entry($0) } : []
    }
}
