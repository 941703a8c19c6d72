public import Records
internal import Synchronization

/// The active faults of a server.
///
/// Kept in memory only: after a restart none is active.
public final class FaultInjection: Sendable {
    /// Maximum number of active faults.
    public static let limit = 200
    /// Maximum number of minutes until a fault ends by itself: a week.
    public static let minutesLimit = 7 * 24 * 60
    /// Maximum number of faults that are remembered after their end.
    public static let endedLimit = 20

    private struct State {
        /// The oldest first, in both lists.
        var active: [ActiveFault] = []
        var ended: [EndedFault] = []

        /// - Returns: the number of faults that ended.
        @discardableResult
        mutating func end(_ cause: EndedFault.Cause, at moment: Timestamp, where isOver: (ActiveFault) -> Bool) -> Int {
            let over = active.filter(isOver)
            active.removeAll(where: isOver)
            ended += over.map { fault in
                EndedFault(fault: fault, cause: cause, moment: fault.until.map { min($0, moment) } ?? moment)
            }
            ended.removeFirst(max(0, ended.count - FaultInjection.endedLimit))
            return over.count
        }
    }

    private let state = Mutex(State())
    let pulls = OrderedPulls()
    let saves = RecentSaves()
    let clock: @Sendable () -> Timestamp
    /// Delay of slow answers.
    public let answerDelay: Duration

    /// - Parameters:
    ///   - clock: the time source used for saving records, and for faults that end at a time.
    ///   - answerDelay: the delay of slow answers.
    public init(
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now, answerDelay: Duration = InjectedFault.answerDelay
    ) {
        self.clock = clock
        self.answerDelay = answerDelay
    }

    /// All active faults, oldest first.
    public var active: [ActiveFault] { withState { $0.active } }

    /// The faults that have ended, the latest first, up to ``endedLimit``.
    public var ended: [EndedFault] { withState { $0.ended.reversed() } }

    /// True if no fault is active.
    public var isIdle: Bool { withState { $0.active.isEmpty } }

    /// Turns a fault on. If it is already active in the same area, its count and time start again.
    /// - Parameter minutes: how long it lasts at most, from 1 to ``minutesLimit``; `nil` until it is stopped.
    /// - Throws: `RecordError` BAD_REQUEST for a one-time fault, for an area that the fault can't be limited to, for
    ///   another number of minutes, and if ``limit`` is reached.
    public func start(_ setting: FaultSetting, in area: FaultArea = .everywhere, minutes: Int? = nil) throws {
        guard setting.fault.kind != .act else {
            throw RecordError(.badRequest, "'\(setting.fault.rawValue)' is a one-time event and can't be started")
        }
        try area.check(for: setting.fault)
        guard (1...Self.minutesLimit).contains(minutes ?? 1) else {
            throw RecordError(
                .badRequest, "'minutes' is a whole number from 1 to \(Self.minutesLimit); leave it out for no end")
        }
        let now = clock()
        let active = ActiveFault(
            fault: setting.fault, area: area, remaining: setting.count, items: setting.items, since: now,
            until: minutes.map { Timestamp(milliseconds: now.milliseconds + Int64($0) * 60_000) })
        try withState { state in
            if let index = state.active.firstIndex(where: { $0.fault == setting.fault && $0.area == area }) {
                state.active[index] = active
                return
            }
            guard state.active.count < Self.limit else {
                throw RecordError(
                    .badRequest, "\(Self.limit) rehearsals are active, which is the limit; stop some first")
            }
            state.active.append(active)
        }
    }

    /// Turns faults off.
    /// - Parameters:
    ///   - fault: the fault; `nil` for all faults.
    ///   - area: exactly this area; `nil` for all areas.
    /// - Returns: the number of faults that were active.
    @discardableResult
    public func stop(_ fault: InjectedFault? = nil, in area: FaultArea? = nil) -> Int {
        withState { state in
            state.end(.stopped, at: clock()) { active in
                fault.map { $0 == active.fault } ?? true && area.map { $0 == active.area } ?? true
            }
        }
    }

    /// True if a fault is active in an area that satisfies `covers`.
    /// - Parameter request: the request that it would affect; `nil` for a notification.
    public func isActive(_ fault: InjectedFault, for request: RequestFaults?, where covers: (FaultArea) -> Bool)
        -> Bool
    {
        withState { state in
            state.active.contains { $0.fault == fault && $0.area.covers(request) && covers($0.area) }
        }
    }

    /// Counts a request that must fail. After the last one the fault is turned off.
    /// - Returns: the fault with which the request must fail; `nil` if none is active for it.
    public func take(_ fault: InjectedFault, for request: RequestFaults?, where covers: (ActiveFault) -> Bool)
        -> ActiveFault?
    {
        withState { state in
            guard
                let index = state.active.firstIndex(where: {
                    $0.fault == fault && $0.area.covers(request) && covers($0)
                })
            else { return nil }
            let active = state.active[index]
            state.active[index].struck += 1
            guard let remaining = active.remaining else { return active }
            state.active[index].remaining = remaining - 1
            if remaining <= 1 { state.end(.finished, at: clock()) { $0.remaining.map { $0 < 1 } ?? false } }
            return active
        }
    }

    /// Reads or changes the faults, after those whose time is over have ended.
    private func withState<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
        try state.withLock { state in
            if state.active.isEmpty { return try body(&state) }
            let lags = state.active.contains { $0.fault == .laggingIndex }
            if state.active.contains(where: { $0.until != nil }) {
                let now = clock()
                state.end(.timeOver, at: now) { $0.until.map { $0 <= now } ?? false }
            }
            defer {
                if lags, !state.active.contains(where: { $0.fault == .laggingIndex }) { saves.clear() }
            }
            return try body(&state)
        }
    }
}

/// An active fault.
public struct ActiveFault: Sendable, Hashable {
    public let fault: InjectedFault
    public let area: FaultArea
    /// Number of requests still to fail; `nil` for faults of another kind.
    public internal(set) var remaining: Int?
    /// Number of requests that it failed. The faults of other kinds are not counted.
    public internal(set) var struck = 0
    /// The items that fail, for `partial-failure`; `nil` for other faults.
    public let items: FailingItems?
    public let since: Timestamp
    /// When it ends by itself; `nil` if only a count or a stop ends it.
    public let until: Timestamp?

    public init(
        fault: InjectedFault, area: FaultArea, remaining: Int?, items: FailingItems? = nil, since: Timestamp,
        until: Timestamp? = nil
    ) {
        self.fault = fault
        self.area = area
        self.remaining = remaining
        self.items = items
        self.since = since
        self.until = until
    }
}

/// A fault that is over.
public struct EndedFault: Sendable, Hashable {
    public enum Cause: Sendable, Hashable {
        /// It failed as many requests as it should.
        case finished
        case timeOver
        case stopped
    }

    /// The fault as it was at its end.
    public let fault: ActiveFault
    public let cause: Cause
    public let moment: Timestamp
}

extension InjectedFault: JSONWord {}

extension ActiveFault: JSONObjectCoded {
    package static let form = JSONForm<ActiveFault>(
        { fault, remaining, items, area, since, until in
            ActiveFault(fault: fault, area: area, remaining: remaining, items: items, since: since, until: until)
        },
        JSONPart("rehearsal", \.fault), JSONPart("count", \.remaining), JSONPart(joined: .items, \.items),
        JSONPart(joined: .members, \.area), JSONPart("since", \.since), JSONPart("until", \.until))
}

extension JSONMember<FailingItems?> {
    fileprivate static var items: JSONMember {
        JSONMember(
            [
                MemberShape("every", isRequired: false, .integer), MemberShape("code", isRequired: false, String.shape),
            ],
            read: { object in
                try Int?.member("every", of: object).map { try FailingItems(every: $0, code: object.string("code")) }
            },
            write: { items, writer in
                guard let items else { return }
                writer.member("every", Int64(items.every))
                writer.member("code", items.code.rawValue)
            })
    }
}

// MARK: - Areas

extension FaultArea: JSONObjectCoded {
    package static let form = JSONForm<FaultArea>(
        { container, environment, scope, zoneName, owner, user, client in
            FaultArea(
                container: container, environment: environment, scope: scope,
                zoneID: zoneName.map { ZoneID(zoneName: $0, ownerRecordName: owner) }, user: user, client: client)
        },
        JSONPart("container", \.container), JSONPart("environment", \.environment), JSONPart("database", \.scope),
        JSONPart("zone", \.zoneID?.zoneName), JSONPart("owner", \.zoneID?.ownerRecordName), JSONPart("user", \.user),
        JSONPart("client", \.client))
}

/// The area affected by a fault. `nil` members match everything.
public struct FaultArea: Sendable, Hashable {
    public static let everywhere = FaultArea()

    public var container: ContainerID?
    public var environment: Environment?
    public var scope: DatabaseScope?
    /// The zone. If it has no owner, it matches zones of this name of all owners.
    public var zoneID: ZoneID?
    /// The user whose devices are notified. Only for faults of notifications.
    public var user: Name?
    /// The client whose requests are affected: its ID, its name, or its user agent. Not for faults of notifications.
    public var client: String?

    public init(
        container: ContainerID? = nil, environment: Environment? = nil, scope: DatabaseScope? = nil,
        zoneID: ZoneID? = nil, user: Name? = nil, client: String? = nil
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.zoneID = zoneID
        self.user = user
        self.client = client
    }

    /// - Throws: `RecordError` BAD_REQUEST if the fault can't be limited to a part of this area.
    public func check(for fault: InjectedFault) throws(RecordError) {
        if user != nil, !fault.shapesNotifications {
            throw RecordError(
                .badRequest, "'\(fault.rawValue)' takes no user: only rehearsals of notifications have one")
        }
        if client != nil, fault.shapesNotifications || fault.kind == .act {
            throw RecordError(
                .badRequest, "'\(fault.rawValue)' takes no client: only rehearsals that shape or fail requests have one"
            )
        }
        if fault == .assetGone, scope != nil || zoneID != nil {
            throw RecordError(
                .badRequest,
                "'\(fault.rawValue)' takes no database and no zone: the address of a file has neither; limit it to a container"
            )
        }
    }

    /// The zones that a request accesses.
    public enum RequestedZones: Sendable, Hashable {
        /// No zone, for example a list of zones.
        case database
        case zones([ZoneID])
        /// A query in all zones of the database.
        case allZones

        static func zone(_ zoneID: ZoneID) -> RequestedZones { .zones([zoneID]) }
    }

    /// True if the area covers a container, environment and scope.
    /// - Parameter scope: `nil` for requests without a database, such as device registration.
    public func covers(_ container: ContainerID, _ environment: Environment, _ scope: DatabaseScope?) -> Bool {
        self.container.map { $0 == container } ?? true && self.environment.map { $0 == environment } ?? true
            && self.scope.map { $0 == scope } ?? true
    }

    /// True if the area covers the client of a request. An area of one client covers no notification.
    func covers(_ request: RequestFaults?) -> Bool {
        client.map { request?.clientNames.contains($0) ?? false } ?? true
    }

    func covers(_ address: DatabaseAddress, _ zones: RequestedZones) -> Bool {
        covers(address.container, address.environment, address.scope) && covers(zones)
    }

    public func covers(_ zones: RequestedZones) -> Bool {
        guard let zoneID else { return true }
        return switch zones {
        case .database: false
        case .allZones: true
        case .zones(let zoneIDs):
            zoneIDs.contains { asked in
                // A zone ID without an owner, or with a placeholder for the caller, matches any owner.
                let owner = asked.ownerRecordName.flatMap { ZoneID.currentOwnerNames.contains($0) ? nil : $0 }
                return asked.zoneName == zoneID.zoneName
                    && (zoneID.ownerRecordName == nil || owner == nil || owner == zoneID.ownerRecordName)
            }
        }
    }
}

extension FaultArea: CustomStringConvertible {
    /// Text for display: `everywhere`, or `iCloud.com.example.App, development, private database, zone Notes`.
    public var description: String {
        let parts = [
            container?.description, environment?.rawValue, scope.map { "\($0.rawValue) database" },
            zoneID.map { "zone \($0.zoneName)" },
            user.map { "user \($0)" }, client.map { "client \($0)" },
        ].compactMap(\.self)
        return parts.isEmpty ? "everywhere" : parts.joined(separator: ", ")
    }
}

// MARK: - Faults of one request

/// Faults requested by one request in addition to the active ones, and the faults that affected its response.
public final class RequestFaults: Sendable {
    /// The faults of the current request.
    @TaskLocal public static var current: RequestFaults?

    /// Faults requested by the request itself.
    public let asked: Set<InjectedFault>
    /// The items that fail, if the request asks for `partial-failure`.
    public let items: FailingItems
    /// True if no fault affects the request.
    public let isExempt: Bool
    /// What identifies the client of the request: its ID, its name and its user agent.
    public let clientNames: Set<String>
    private let noted = Mutex<Set<InjectedFault>>([])

    public init(
        asking asked: Set<InjectedFault> = [], items: FailingItems = .standard, isExempt: Bool = false,
        by clientNames: Set<String> = []
    ) {
        self.asked = asked
        self.items = items
        self.isExempt = isExempt
        self.clientNames = clientNames
    }

    /// The faults that affected the response so far, in the order of ``InjectedFault``.
    public var shaped: [InjectedFault] {
        let noted = noted.withLock { $0 }
        return InjectedFault.allCases.filter { noted.contains($0) }
    }

    /// True if a fault failed the request, or items of it.
    public var hasFailed: Bool { noted.withLock { $0.contains { $0.kind == .failure } } }

    /// Records that a fault affected the response.
    public func note(_ fault: InjectedFault) {
        _ = noted.withLock { $0.insert(fault) }
    }
}
