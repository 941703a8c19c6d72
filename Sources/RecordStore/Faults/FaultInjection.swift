public import Records
internal import Synchronization

/// The active faults of a server.
///
/// Kept in memory only: after a restart none is active.
public final class FaultInjection: Sendable {
    /// Maximum number of active faults.
    public static let limit = 200

    private let state = Mutex<[ActiveFault]>([])
    let pulls = OrderedPulls()
    let saves = RecentSaves()
    let clock: @Sendable () -> Timestamp

    /// - Parameter clock: the time source used for saving records.
    public init(clock: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.clock = clock
    }

    /// All active faults, oldest first.
    public var active: [ActiveFault] { state.withLock { $0 } }

    /// True if no fault is active.
    public var isIdle: Bool { state.withLock { $0.isEmpty } }

    /// Turns a fault on. If it is already active in the same area, its count starts again.
    /// - Throws: `RecordError` BAD_REQUEST for a one-time fault, for an area with a user if the fault does not affect
    ///   notifications, and if ``limit`` is reached.
    public func start(_ setting: FaultSetting, in area: FaultArea = .everywhere) throws {
        guard setting.fault.kind != .act else {
            throw RecordError(.badRequest, "'\(setting.fault.rawValue)' is a one-time event and can't be started")
        }
        try area.check(for: setting.fault)
        let active = ActiveFault(
            fault: setting.fault, area: area, remaining: setting.count, items: setting.items, since: clock())
        try state.withLock { state in
            if let index = state.firstIndex(where: { $0.fault == setting.fault && $0.area == area }) {
                state[index] = active
                return
            }
            guard state.count < Self.limit else {
                throw RecordError(
                    .badRequest, "\(Self.limit) rehearsals are active, which is the limit; stop some first")
            }
            state.append(active)
        }
    }

    /// Turns faults off.
    /// - Parameters:
    ///   - fault: the fault; `nil` for all faults.
    ///   - area: exactly this area; `nil` for all areas.
    /// - Returns: the number of faults that were active.
    @discardableResult
    public func stop(_ fault: InjectedFault? = nil, in area: FaultArea? = nil) -> Int {
        let count = state.withLock { state in
            let before = state.count
            state.removeAll { active in
                fault.map { $0 == active.fault } ?? true && area.map { $0 == active.area } ?? true
            }
            return before - state.count
        }
        if !isActive(.laggingIndex, where: { _ in true }) { saves.clear() }
        return count
    }

    /// True if a fault is active in an area that satisfies `covers`.
    public func isActive(_ fault: InjectedFault, where covers: (FaultArea) -> Bool) -> Bool {
        state.withLock { state in state.contains { $0.fault == fault && covers($0.area) } }
    }

    /// Counts a request that must fail. After the last one the fault is turned off.
    /// - Returns: the fault with which the request must fail; `nil` if none is active for it.
    public func take(_ fault: InjectedFault, where covers: (ActiveFault) -> Bool) -> ActiveFault? {
        state.withLock { state in
            guard let index = state.firstIndex(where: { $0.fault == fault && covers($0) }) else { return nil }
            let active = state[index]
            guard let remaining = active.remaining else { return active }
            if remaining > 1 { state[index].remaining = remaining - 1 } else { state.remove(at: index) }
            return active
        }
    }
}

/// An active fault.
public struct ActiveFault: Sendable, Hashable {
    public let fault: InjectedFault
    public let area: FaultArea
    /// Number of requests still to fail; `nil` for faults of another kind.
    public internal(set) var remaining: Int?
    /// The items that fail, for `partial-failure`; `nil` for other faults.
    public let items: FailingItems?
    public let since: Timestamp

    public init(fault: InjectedFault, area: FaultArea, remaining: Int?, items: FailingItems? = nil, since: Timestamp) {
        self.fault = fault
        self.area = area
        self.remaining = remaining
        self.items = items
        self.since = since
    }
}

extension InjectedFault: JSONWord {}

extension ActiveFault: JSONObjectCoded {
    package static let form = JSONForm<ActiveFault>(
        { fault, remaining, items, area, since in
            ActiveFault(fault: fault, area: area, remaining: remaining, items: items, since: since)
        },
        JSONPart("rehearsal", \.fault), JSONPart("count", \.remaining), JSONPart(joined: .items, \.items),
        JSONPart(joined: .members, \.area), JSONPart("since", \.since))
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
        { container, environment, scope, zoneName, owner, user in
            FaultArea(
                container: container, environment: environment, scope: scope,
                zoneID: zoneName.map { ZoneID(zoneName: $0, ownerRecordName: owner) }, user: user)
        },
        JSONPart("container", \.container), JSONPart("environment", \.environment), JSONPart("database", \.scope),
        JSONPart("zone", \.zoneID?.zoneName), JSONPart("owner", \.zoneID?.ownerRecordName), JSONPart("user", \.user))
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

    public init(
        container: ContainerID? = nil, environment: Environment? = nil, scope: DatabaseScope? = nil,
        zoneID: ZoneID? = nil, user: Name? = nil
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        self.zoneID = zoneID
        self.user = user
    }

    /// - Throws: `RecordError` BAD_REQUEST if the fault can't be limited to a part of this area.
    public func check(for fault: InjectedFault) throws(RecordError) {
        if user != nil, !fault.shapesNotifications {
            throw RecordError(
                .badRequest, "'\(fault.rawValue)' takes no user: only rehearsals of notifications have one")
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
            user.map { "user \($0)" },
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
    private let noted = Mutex<Set<InjectedFault>>([])

    public init(asking asked: Set<InjectedFault> = [], items: FailingItems = .standard, isExempt: Bool = false) {
        self.asked = asked
        self.items = items
        self.isExempt = isExempt
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
