internal import Records
internal import Synchronization

extension FaultInjectingDatabase {
    /// Number of changes per read while a reordered pull is collected.
    private static var readingLimit: Int { 500 }

    // MARK: Database

    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        try checkToken(request.since, .database)
        var request = request
        if shapes(.pagesOfOne, .database) { request.limit = 1 }
        let isAfterEmptyPage = request.since.map { FaultToken($0) != nil } ?? false
        request.since = request.since.flatMap { FaultToken.engineToken(of: $0) }
        var page = try await base.databaseChanges(request)
        if shapes(.emptyPages, .database), !isAfterEmptyPage {
            let token = FaultToken.afterEmptyPage(since: request.since).token
            return DatabaseChangesPage(changes: [], syncToken: token, moreComing: true)
        }
        for index in page.changes.indices where page.changes[index].kind != .changed {
            if shapes(.deletedZoneChanged, .zone(page.changes[index].zoneID)) { page.changes[index].kind = .changed }
        }
        return page
    }

    func currentToken() async throws -> ChangeToken { try await base.require(.tellCurrentToken).currentToken() }
    func expireTokens() async throws { try await base.require(.expireTokens).expireTokens() }

    /// For a token of a pull with injected faults, explains the engine's token from which the pull continues.
    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        guard let token = FaultToken.engineToken(of: token) else {
            return TokenExplanation(
                subject: .zone(nil), scope: address.scope,
                userRecordName: address.scope == .public ? nil : caller.userRecordName, position: 0,
                moment: nil, progress: .firstPull, validity: .good, changesAfter: nil)
        }
        return try await base.require(.explainTokens).explain(token)
    }

    // MARK: Zone

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let zones = FaultArea.RequestedZones.zone(request.zoneID)
        try checkBusy(zones)
        try checkToken(request.since, zones)
        var request = request
        if shapes(.pagesOfOne, zones) { request.limit.records = 1 }
        if case .afterEmptyPage(let since)? = request.since.flatMap({ FaultToken($0) }) {
            request.since = since
            _ = shapes(.emptyPages, zones)
            return try await orderedPage(request)
        }
        guard shapes(.emptyPages, zones) else { return try await orderedPage(request) }
        // Only the first page of a stream reports the faults, so this fault is noted with it.
        _ = shapes(.childrenFirst, zones)
        // An error that the next page would cause must occur with the empty page too.
        let page = try await base.zoneChanges(
            ZoneChangesRequest(
                request.zoneID, since: request.since.flatMap { FaultToken.engineToken(of: $0) },
                limit: PageLimit(records: 1), desiredKeys: [],
                reverse: request.reverse))
        return ZoneChangesPage(
            zoneID: page.zoneID, changes: [], syncToken: FaultToken.afterEmptyPage(since: request.since).token,
            moreComing: true)
    }

    /// A page with children before parents, if the fault is active or was active when the pull began.
    private func orderedPage(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        var request = request
        if case .inOrderedPull(let number, let index, let since)? = request.since.flatMap({ FaultToken($0) }) {
            if let pull = faults.pulls.pull(number), pull.belongs(to: self, request.zoneID), pull.since == since {
                // Fails if the zone was deleted or the token expired in the meantime.
                _ = try await base.zoneChanges(
                    ZoneChangesRequest(
                        request.zoneID, since: pull.syncToken, limit: PageLimit(records: 1), desiredKeys: []))
                _ = shapes(.childrenFirst, .zone(request.zoneID))
                return try page(of: pull, number, from: index, request)
            }
            // A restarted first pull would omit deletions of records that were already delivered, so the token
            // expires.
            guard let since else { throw TokenCodec.expired }
            request.since = since
        }
        guard shapes(.childrenFirst, .zone(request.zoneID)) else { return try await base.zoneChanges(request) }
        let pull = try await wholePull(request)
        // A pull that fits into one page need not be kept.
        var fill = PageFill(request.limit)
        let isOnePage = pull.changes.allSatisfy { fill.admits(bytes: $0.bytes) }
        return try page(of: pull, isOnePage ? 0 : faults.pulls.keep(pull), from: 0, request)
    }

    /// Reads a pull to its end or to the size limit, and reorders it.
    private func wholePull(_ request: ZoneChangesRequest) async throws -> OrderedPulls.Pull {
        var reading = request
        // References determine the order, so all fields are needed.
        reading.desiredKeys = nil
        reading.limit = PageLimit(records: Self.readingLimit)
        var changes: [RecordChange] = []
        var bytes = 0
        let last = try await base.pull(reading) { page in
            changes += page.changes
            bytes += page.changes.reduce(0) { $0 + $1.bytes }
            return changes.count < OrderedPulls.changeLimit && bytes < OrderedPulls.byteLimit
        }
        return OrderedPulls.Pull(
            address: address, userRecordName: caller.userRecordName, zoneID: last.zoneID, since: request.since,
            changes: try ChildrenFirst.ordered(Self.latest(of: changes)), syncToken: last.syncToken,
            moreComing: last.moreComing)
    }

    /// Removes duplicates: a record saved during the pull occurs twice, and its later change is complete.
    private static func latest(of changes: [RecordChange]) -> [RecordChange] {
        let last = Dictionary(
            zip(changes.map(\.recordID.recordName), changes.indices), uniquingKeysWith: { _, last in last })
        return changes.enumerated().filter { last[$0.element.recordID.recordName] == $0.offset }.map(\.element)
    }

    private func page(of pull: OrderedPulls.Pull, _ number: UInt64, from index: Int, _ request: ZoneChangesRequest)
        throws -> ZoneChangesPage
    {
        var fill = PageFill(request.limit)
        let given = pull.changes.dropFirst(index).prefix { fill.admits(bytes: $0.bytes) }
        let changes = try given.map { change in
            var change = change
            change.record = try change.record?.keeping(request.desiredKeys)
            return change
        }
        let isLast = given.endIndex >= pull.changes.count
        return ZoneChangesPage(
            zoneID: pull.zoneID, changes: changes,
            syncToken: isLast
                ? pull.syncToken : FaultToken.inOrderedPull(number, index: given.endIndex, since: pull.since).token,
            moreComing: !isLast || pull.moreComing)
    }
}

extension OrderedPulls.Pull {
    fileprivate func belongs(to database: FaultInjectingDatabase, _ zoneID: ZoneID) -> Bool {
        address == database.address && userRecordName == database.caller.userRecordName
            && self.zoneID.zoneName == zoneID.zoneName
            && (address.scope != .shared || self.zoneID.ownerRecordName == zoneID.ownerRecordName)
    }
}

// MARK: - Tokens

/// A token that connects the pages of a pull with injected faults. It wraps a token of the engine. It is valid even
/// after the fault was turned off, so that a pull can finish.
///
/// The last token of a pull is always the engine's own, so that tokens kept by clients outlive the fault. Wrapping
/// tokens can be forged and are not trusted: the engine validates the wrapped token.
enum FaultToken {
    /// An empty page was returned; the page since this token follows.
    case afterEmptyPage(since: ChangeToken?)
    /// `index` changes of a reordered pull were returned. The start token allows the pull to be restarted.
    case inOrderedPull(UInt64, index: Int, since: ChangeToken?)

    /// Engine tokens never start with these bytes, because their first byte contains a format version.
    private static let mark = Array("Rhrs".utf8)

    /// Maximum length in bytes. Tokens of our engines have fewer than 100.
    private static let byteLimit = 1024

    /// - Returns: `nil` for an engine token or a malformed one, which the engine will reject.
    init?(_ token: ChangeToken) {
        let bytes = token.bytes
        guard bytes.count <= Self.byteLimit, bytes.starts(with: Self.mark) else { return nil }
        var rest = bytes.dropFirst(Self.mark.count)
        let kind = rest.popFirst()
        if kind == 2 {
            guard rest.count >= 12 else { return nil }
            let number = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let index = rest.dropFirst(8).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let since = Self.inner(rest.dropFirst(12))
            // Nothing is nested in a reordered pull.
            if let since, since.bytes.starts(with: Self.mark) { return nil }
            self = .inOrderedPull(number, index: index, since: since)
            return
        }
        guard kind == 1 else { return nil }
        let since = Self.inner(rest)
        // An empty page can occur within a reordered pull. No other nesting is possible.
        if let since, since.bytes.starts(with: Self.mark) {
            guard since.bytes.dropFirst(Self.mark.count).first == 2, FaultToken(since) != nil else { return nil }
        }
        self = .afterEmptyPage(since: since)
    }

    var token: ChangeToken {
        var bytes = Self.mark
        switch self {
        case .afterEmptyPage(let since):
            bytes.append(1)
            bytes += Array((since?.text ?? "").utf8)
        case .inOrderedPull(let number, let index, let since):
            bytes.append(2)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: index >> shift))
            }
            bytes += Array((since?.text ?? "").utf8)
        }
        return ChangeToken(bytes: bytes)
    }

    /// The engine's token for the same place or an earlier one; `nil` for the start.
    static func engineToken(of token: ChangeToken) -> ChangeToken? {
        switch FaultToken(token) {
        case nil: token
        case .inOrderedPull(_, _, let since)?: since
        case .afterEmptyPage(let since)?:
            if let since, case .inOrderedPull(_, _, let begun)? = FaultToken(since) { begun } else { since }
        }
    }

    /// The wrapped token, in the text that the engine gave it.
    private static func inner(_ bytes: ArraySlice<UInt8>) -> ChangeToken? {
        bytes.isEmpty ? nil : ChangeToken(text: String(decoding: bytes, as: UTF8.self))
    }
}

// MARK: - Pulls in memory

/// Pulls that were read completely in order to be reordered. They are kept in memory until clients have fetched their
/// pages.
///
/// If a pull is no longer kept (because of newer ones or a restart), it starts again at its beginning: the client gets
/// some changes twice but misses none. A first pull can't be restarted this way, because deletions of records already
/// delivered would be left out. Its token expires instead.
final class OrderedPulls: Sendable {
    /// Maximum number of pulls kept and their maximum total size in bytes. The least recently used ones are dropped.
    private static let limit = 256
    private static let totalByteLimit = 64 << 20

    /// Estimated bytes of a change besides its fields.
    private static let overhead = 512

    /// Maximum number of changes and bytes of fields in one pull. Larger pulls are reordered in parts of this size.
    static let changeLimit = 20_000
    static let byteLimit = 32 << 20

    /// The changes of a pull in the order of delivery.
    struct Pull: Sendable {
        let address: DatabaseAddress
        let userRecordName: Name
        let zoneID: ZoneID
        let since: ChangeToken?
        let changes: [RecordChange]
        /// The engine's token after all changes.
        let syncToken: ChangeToken
        let moreComing: Bool
    }

    private struct HeldPull {
        let number: UInt64
        let pull: Pull
        let bytes: Int
    }

    private struct State {
        /// Ordered by last use, the most recently used pull last.
        var held: [HeldPull] = []
        var bytes = 0
    }

    private let state = Mutex(State())

    func keep(_ pull: Pull) -> UInt64 {
        let number = UInt64.random(in: .min ... .max)
        let bytes = pull.changes.reduce(0) { $0 + $1.bytes + Self.overhead }
        state.withLock { state in
            state.held.append(HeldPull(number: number, pull: pull, bytes: bytes))
            state.bytes += bytes
            while state.held.count > 1, state.held.count > Self.limit || state.bytes > Self.totalByteLimit {
                state.bytes -= state.held.removeFirst().bytes
            }
        }
        return number
    }

    func pull(_ number: UInt64) -> Pull? {
        state.withLock { state in
            guard let index = state.held.firstIndex(where: { $0.number == number }) else { return nil }
            let found = state.held.remove(at: index)
            state.held.append(found)
            return found.pull
        }
    }
}

// MARK: - Order

/// Orders records before those they depend on, and otherwise keeps commit order.
///
/// A record's parent and the targets of its DELETE_SELF and VALIDATE references always follow it. Targets of plain
/// references follow it if that does not contradict the first rule. Cycles are broken at the earliest change.
struct ChildrenFirst {
    private struct Links {
        var strong: Set<Int> = []
        var weak: Set<Int> = []
    }

    private let changes: [RecordChange]
    private let links: [Links]
    /// Number of changes that depend on a change and are not placed yet.
    private var strongPending: [Int]
    private var weakPending: [Int]
    private var isDone: [Bool]

    /// - Throws: `RecordError` INTERNAL_ERROR if stored fields are damaged.
    static func ordered(_ changes: [RecordChange]) throws -> [RecordChange] {
        var order = try ChildrenFirst(changes)
        return order.run()
    }

    private init(_ changes: [RecordChange]) throws {
        self.changes = changes
        let places = Dictionary(
            zip(changes.map(\.recordID.recordName), changes.indices), uniquingKeysWith: { _, last in last })
        links = try changes.enumerated().map { index, change in try Self.links(of: change, at: index, places) }
        strongPending = Array(repeating: 0, count: changes.count)
        weakPending = strongPending
        isDone = Array(repeating: false, count: changes.count)
        for link in links {
            for target in link.strong { strongPending[target] += 1 }
            for target in link.weak { weakPending[target] += 1 }
        }
    }

    private static func links(of change: RecordChange, at index: Int, _ places: [Name: Int]) throws -> Links {
        var links = Links()
        guard change.kind != .deleted, let record = change.record else { return links }
        if let place = record.parent.flatMap({ places[$0] }) { links.strong.insert(place) }
        for field in try record.fields.decoded() {
            for case .reference(let reference) in field.value.elements
            where reference.zoneID.map({ $0.zoneName == record.recordID.zoneID.zoneName }) ?? true {
                guard let place = places[reference.recordName] else { continue }
                if reference.action == .none { links.weak.insert(place) } else { links.strong.insert(place) }
            }
        }
        links.strong.remove(index)
        links.weak.remove(index)
        links.weak.subtract(links.strong)
        return links
    }

    private mutating func run() -> [RecordChange] {
        var ordered: [RecordChange] = []
        ordered.reserveCapacity(changes.count)
        // No remaining record depends on free changes; only plain references depend on almost free ones.
        var free = changes.indices.filter { strongPending[$0] == 0 && weakPending[$0] == 0 }[...]
        var almostFree = changes.indices.filter { strongPending[$0] == 0 && weakPending[$0] > 0 }[...]
        var rest = changes.indices
        while let next = free.popFirst() ?? almostFree.popFirst() ?? rest.popFirst() {
            if isDone[next] { continue }
            isDone[next] = true
            ordered.append(changes[next])
            for target in links[next].strong.sorted() {
                strongPending[target] -= 1
                if strongPending[target] == 0 {
                    if weakPending[target] == 0 { free.append(target) } else { almostFree.append(target) }
                }
            }
            for target in links[next].weak.sorted() {
                weakPending[target] -= 1
                if weakPending[target] == 0, strongPending[target] == 0 { free.append(target) }
            }
        }
        return ordered
    }
}
