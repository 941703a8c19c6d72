public import Records
internal import Synchronization

/// The recent requests, in memory, with the known clients (``ClientBook``) and the statistics (``Telemetry``).
///
/// The memory is bounded by ``capacity`` requests, ``bodiesLimit`` bytes for bodies, 1 KiB per request for other data
/// (8 MiB at least), and the limits of ``ClientBook``. The log drops the bodies of old requests first, then the oldest
/// requests.
public final class RequestLog: Sendable {
    /// The default ``capacity``.
    public static let standardCapacity = 10_000
    /// The limit for all bodies, in bytes.
    public static let bodiesLimit = 8 << 20
    /// The limit for other data, in bytes per request of the capacity. Most requests need less, so large ones may use
    /// more.
    private static let roomOfRequest = 1 << 10
    /// The minimum of that limit for a small capacity, in bytes.
    private static let leastRestLimit = 8 << 20
    /// The number of requests that a search reads before it releases the lock.
    private static let chunkSize = 256

    /// Requests after a position in the log, the oldest first.
    public struct Page: Sendable {
        public var requests: [ServedRequest]
        /// The position at which the next page begins.
        public var cursor: Int64
        /// The number of requests after the position that are no longer kept.
        public var missed: Int64
    }

    /// The maximum number of requests in this log.
    public let capacity: Int
    /// The id of this log, which differs for each run of the server: 16 hexadecimal digits. Positions are valid only
    /// within the same run.
    public let run: String
    /// The log of the notifications to devices.
    public let notifications: NotificationLog
    private let state: Mutex<State>
    private let noted = Signals()
    /// Hashes of `desiredKeys` whose fields all exist, so that the schema is not read for each request.
    private let knownKeys = Mutex<Set<Int>>([])
    private static let knownKeysLimit = 1000

    /// - Parameter capacity: the maximum number of requests; 0 disables the log, and that of notifications.
    public init(capacity: Int = RequestLog.standardCapacity) {
        let capacity = max(0, capacity)
        run = String(UInt64.random(in: 0...UInt64.max), digits: 16, radix: 16)
        self.capacity = capacity
        notifications = NotificationLog(isOn: capacity > 0)
        state = Mutex(State(capacity: capacity, restLimit: max(Self.leastRestLimit, capacity * Self.roomOfRequest)))
    }

    /// True if the log records requests.
    public var isOn: Bool { capacity > 0 }

    /// Records an answered request. Drops the oldest requests if a limit is exceeded.
    public func note(_ request: ServedRequest, bodies: RequestBodies = RequestBodies()) {
        guard isOn else { return }
        let (request, size) = request.cut()
        // Releases the dropped requests outside of the lock, so that other threads do not wait.
        let gone = state.withLock { $0.note(request, size: size, bodies) }
        noted.send()
        withExtendedLifetime(gone) {}
    }

    /// Returns whether a hash was passed to ``learnKeys(_:)`` before.
    public func knowsKeys(_ hash: Int) -> Bool { knownKeys.withLock { $0.contains(hash) } }

    /// Remembers a hash of `desiredKeys` whose fields all exist.
    public func learnKeys(_ hash: Int) {
        knownKeys.withLock { known in
            if known.count >= Self.knownKeysLimit { known.removeAll() }
            known.insert(hash)
        }
    }

    // MARK: Reading

    /// The latest requests, the newest first.
    /// - Parameters:
    ///   - id: returns only requests before this one, and none if it is no longer kept.
    public func latest(_ count: Int, before id: String? = nil, where isWanted: (ServedRequest) -> Bool = { _ in true })
        -> [ServedRequest]
    {
        search(count, before: id) { request, _ in isWanted(request) }
    }

    /// The latest requests, the newest first, with a predicate that also sees the kept parts of the bodies.
    public func search(_ count: Int, before id: String? = nil, where isWanted: (ServedRequest, RequestBodies?) -> Bool)
        -> [ServedRequest]
    {
        var end = Int64.max
        if let id {
            guard let cursor = cursor(of: id) else { return [] }
            end = cursor
        }
        var found: [ServedRequest] = []
        while found.count < count {
            // Reads in chunks, so that a long search does not block new requests.
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

    /// - Returns: `nil` if the request is unknown or no longer kept.
    public func request(_ id: String) -> ServedRequest? {
        entry(id)?.request
    }

    /// The kept parts of a request's bodies; `nil` if the request is unknown, or its bodies are no longer kept.
    public func bodies(of id: String) -> RequestBodies? {
        entry(id)?.bodies
    }

    /// - Parameter id: the id, case-insensitive.
    private func entry(_ id: String) -> KeptRequest? {
        let id = id.lowercased()
        var end = Int64.max
        while true {
            let entries = state.withLock { $0.entries(before: end, atMost: Self.chunkSize) }
            guard let last = entries.last else { return nil }
            if let entry = entries.first(where: { $0.request.id == id }) { return entry }
            end = last.request.number
        }
    }

    /// The known clients, including those whose requests are no longer kept.
    public var clients: ClientBook { state.withLock { $0.clients } }

    /// The number of requests of apps in a container's environment that failed, as a whole or in items, in the minutes
    /// that began at a time or later.
    public func errors(in container: ContainerID, _ environment: Environment, since time: Timestamp) -> Int {
        state.withLock { $0.telemetry.errors(in: container, environment, since: time) }
    }

    /// The first minute whose errors are recent: of the last hour, and not before the oldest request that is kept, so that
    /// those that are counted can be listed.
    public func startOfRecent(at now: Timestamp) -> Timestamp {
        let hour = (now.milliseconds - 3_600_000 + 59_999) / 60_000
        let oldest = state.withLock { $0.first > 0 ? $0.entry($0.first)?.request.started.milliseconds : nil }
        return Timestamp(milliseconds: max(hour, (oldest ?? 0) / 60_000) * 60_000)
    }

    /// The statistics since the log was created.
    public var telemetry: Telemetry { state.withLock { $0.telemetry } }

    // MARK: Following

    /// The position after the latest request, from which a follower sees only new requests.
    public var cursor: Int64 { state.withLock { $0.next - 1 } }

    /// The position after a request; `nil` if the request is unknown or no longer kept.
    public func cursor(of id: String) -> Int64? {
        entry(id)?.request.number
    }

    /// The requests after a position, the oldest first. Consecutive calls with the cursor of the previous page neither
    /// skip nor repeat requests.
    /// - Parameter cursor: -1 for the beginning.
    public func page(after cursor: Int64, limit: Int) -> Page {
        state.withLock { state in
            let start = max(cursor + 1, state.first)
            let end = min(state.next, start + Int64(max(1, limit)))
            guard start < end else { return Page(requests: [], cursor: max(cursor, state.next - 1), missed: 0) }
            return Page(
                requests: (start..<end).compactMap { state.entry($0)?.request }, cursor: end - 1,
                missed: start - (cursor + 1))
        }
    }

    /// A signal after each recorded request. Pending signals are merged, so slow followers need no additional memory.
    public func signals() -> AsyncStream<Void> { noted.listen() }
}

/// A recorded request. It is a class, so that copying hundreds of entries for a page is cheap.
private final class Entry: Sendable {
    let request: ServedRequest
    let size: Int

    init(_ request: ServedRequest, size: Int) {
        self.request = request
        self.size = size
    }
}

private struct KeptRequest: Sendable {
    let entry: Entry
    /// The bodies of the request; `nil` if there were none, or they were dropped.
    var bodies: RequestBodies?

    var request: ServedRequest { entry.request }
}

/// A ring buffer: request n is at index n modulo the capacity.
private struct State {
    let capacity: Int
    let restLimit: Int
    var ring: [KeptRequest?] = []
    /// The numbers of the oldest request, of the oldest request with bodies, and of the next request.
    var first: Int64 = 0
    var firstWithBodies: Int64 = 0
    var next: Int64 = 0
    var size = 0
    var bodiesSize = 0
    var texts = SharedTexts()
    var clients = ClientBook()
    var telemetry = Telemetry()

    init(capacity: Int, restLimit: Int) {
        self.capacity = capacity
        self.restLimit = restLimit
    }

    /// - Returns: a dropped request, if any.
    mutating func note(_ request: ServedRequest, size: Int, _ bodies: RequestBodies) -> KeptRequest? {
        var request = request
        texts.share(&request)
        request.number = next
        request.warnings = clients.note(request)
        // A console page that follows changes stays connected while it is open. Its stream says nothing about clients
        // of apps.
        if !(request.isStream && request.client.isOfSkylight) { telemetry.note(request) }
        var gone = next - first >= Int64(capacity) ? dropFirst() : nil
        let kept = KeptRequest(entry: Entry(request, size: size), bodies: bodies.size > 0 ? bodies : nil)
        if ring.count < capacity { ring.append(kept) } else { ring[slot(next)] = kept }
        next += 1
        self.size += size
        bodiesSize += bodies.size
        while bodiesSize > RequestLog.bodiesLimit, firstWithBodies < next { dropFirstBodies() }
        while self.size > restLimit, first < next { gone = dropFirst() }
        return gone
    }

    private mutating func dropFirst() -> KeptRequest? {
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

    func entry(_ number: Int64) -> KeptRequest? {
        number >= first && number < next ? ring[slot(number)] : nil
    }

    /// The entries, the newest first.
    func entries(before end: Int64, atMost count: Int) -> [KeptRequest] {
        let end = min(end, next)
        let start = max(first, end - Int64(count))
        return start < end ? (start..<end).reversed().compactMap { entry($0) } : []
    }
}

// MARK: - Bodies

/// The kept parts of a request's and an answer's body.
public struct RequestBodies: Sendable, Hashable {
    /// The maximum number of bytes kept per body.
    public static let limit = 64 << 10

    /// A body or its beginning. The bytes of asset files are not kept.
    public struct Body: Sendable, Hashable {
        /// The kept bytes, at most ``RequestBodies/limit``.
        public let bytes: [UInt8]
        /// The number of bytes in the whole body.
        public let total: Int

        /// - Parameter bytes: the whole body, without content encoding.
        public init(_ bytes: [UInt8]) {
            self.init(bytes, of: bytes.count)
        }

        /// - Parameter total: the number of bytes in the whole body, which begins with these bytes.
        public init(_ bytes: [UInt8], of total: Int) {
            // Shares the array without a copy if it fits, unless its capacity is larger: arrays that grew have room for
            // up to as much again.
            self.bytes =
                bytes.count <= RequestBodies.limit && bytes.capacity <= bytes.count + bytes.count / 4
                ? bytes : Self.copy(of: bytes)
            self.total = total
        }

        /// A copy in its own memory: an array made from a slice may keep the whole buffer alive.
        private static func copy(of bytes: [UInt8]) -> [UInt8] {
            bytes.withUnsafeBufferPointer { Array(UnsafeBufferPointer(rebasing: $0.prefix(RequestBodies.limit))) }
        }

        public var isCut: Bool { bytes.count < total }
    }

    public var request: Body?
    public var response: Body?

    public init(request: Body? = nil, response: Body? = nil) {
        self.request = request
        self.response = response
    }

    /// The memory use in bytes.
    var size: Int { (request?.bytes.count ?? 0) + (response?.bytes.count ?? 0) }
}

// MARK: - Filter

/// A filter for requests. Properties without a value match all requests.
public struct RequestFilter: Sendable, Hashable {
    public var container: ContainerID?
    public var environment: Environment?
    public var scope: DatabaseScope?
    public var operation: String?
    public var userRecordName: Name?
    /// ``ClientIdentity/id`` of the client.
    public var client: String?
    /// True to match only requests that failed, as a whole or in items.
    public var errorsOnly = false
    /// True to match only requests with warnings about the client.
    public var warningsOnly = false
    /// Words that must all appear in the properties of the request, regardless of case.
    /// Bodies are not searched. Words beyond the first ``wordLimit`` are ignored.
    public var text = "" {
        didSet {
            words = text.utf8.split(separator: UInt8(ascii: " ")).prefix(Self.wordLimit).map { $0.map(\.lowercased) }
        }
    }
    private var words: [[UInt8]] = []

    /// The maximum number of words in ``text``.
    public static let wordLimit = 16

    /// The word that finds the requests of a rehearsal. Its name alone may be in other texts, too.
    public static func text(ofRehearsal name: String) -> String { "rehearsed:\(name)" }

    public init() {}

    public func matches(_ request: ServedRequest) -> Bool {
        if let container, request.container != container { return false }
        if let environment, request.environment != environment { return false }
        if let scope, request.scope != scope { return false }
        if let operation, request.operation != operation { return false }
        if let userRecordName, request.userRecordName != userRecordName { return false }
        if let client, request.client.id != client { return false }
        if errorsOnly, !request.hasErrors { return false }
        if warningsOnly, request.warnings.isEmpty { return false }
        if words.isEmpty { return true }
        let texts = request.texts
        return words.allSatisfy { word in texts.contains { $0.contains(ignoringCase: word) } }
    }
}

extension ServedRequest {
    /// The texts that a search covers.
    fileprivate var texts: [String] {
        var texts = [id, method, target, operation, client.id, client.label, String(status)]
        texts += [client.userAgent, userRecordName?.string, recordType?.string, plan?.index].compactMap(\.self)
        texts += (rehearsals ?? "").split(separator: ",").map { RequestFilter.text(ofRehearsal: $0.trimmingSpaces) }
        texts += zoneIDs.map(\.zoneName.string) + pulls.compactMap(\.zoneID?.zoneName.string) + warnings.map(\.title)
        if let authentication {
            texts += [authentication.way.rawValue, authentication.credential, authentication.session].compactMap(\.self)
            texts += [authentication.problem?.kind, authentication.problem?.sentence].compactMap(\.self)
        }
        for error in itemErrors + [error].compactMap(\.self) {
            texts += [error.code.rawValue, error.reason, error.name?.string ?? ""]
        }
        return texts
    }
}

extension UInt8 {
    /// The lower case of ASCII letters. Other letters are compared case-sensitively.
    fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension String {
    fileprivate func contains(ignoringCase word: [UInt8]) -> Bool {
        var text = self
        return text.withUTF8 { bytes in
            guard let first = word.first, bytes.count >= word.count else { return word.isEmpty }
            return (0...(bytes.count - word.count)).contains { start in
                bytes[start].lowercased == first && word.indices.allSatisfy { bytes[start + $0].lowercased == word[$0] }
            }
        }
    }
}
