public import Records
internal import Synchronization

/// The fault injections that are on in a server.
///
/// Kept in memory only: after a restart none is on.
public final class FaultInjection: Sendable {
    /// Maximum number of fault injections that can be on at the same time.
    public static let limit = 200

    private let state = Mutex<[ActiveFault]>([])
    let pulls = OrderedPulls()
    let saves = RecentSaves()
    let clock: @Sendable () -> Timestamp

    /// - Parameter clock: the time source used for saving records.
    public init(clock: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.clock = clock
    }

    /// All fault injections that are on, oldest first.
    public var running: [ActiveFault] { state.withLock { $0 } }

    /// True if no fault injection is on.
    public var isIdle: Bool { state.withLock { $0.isEmpty } }

    /// Turns a fault on. If it is already on in the same area, its count starts again.
    /// - Throws: `RecordError` BAD_REQUEST for a one-time fault, for a user that the fault does not take, and if ``limit`` is reached.
    public func start(_ setting: FaultSetting, in area: FaultArea = .everywhere) throws {
        guard setting.fault.kind != .act else {
            throw RecordError(.badRequest, "'\(setting.fault.rawValue)' is a one-time event and can't be started")
        }
        try area.check(for: setting.fault)
        let running = ActiveFault(fault: setting.fault, area: area, remaining: setting.count, items: setting.items, since: clock())
        try state.withLock { state in
            if let index = state.firstIndex(where: { $0.fault == setting.fault && $0.area == area }) {
                state[index] = running
                return
            }
            guard state.count < Self.limit else {
                throw RecordError(.badRequest, "\(Self.limit) rehearsals are active, which is the limit; stop some first")
            }
            state.append(running)
        }
    }

    /// Turns faults off.
    /// - Parameters:
    /// - fault: `nil` for all.
    /// - area: exactly this area; `nil` for all areas.
    /// - Returns: the number of faults that were on.
    @discardableResult
    public func stop(_ fault: InjectedFault? = nil, in area: FaultArea? = nil) -> Int {
        let count = state.withLock { state in
            let before = state.count
            state.removeAll { running in fault.map { $0 == running.fault } ?? true && area.map { $0 == running.area } ?? true }
            return before - state.count
        }
        if !isOn(.laggingIndex, where: { _ in true }) { saves.clear() }
        return count
    }

    /// True if a fault is on in an area that satisfies `covers`.
    public func isOn(_ fault: InjectedFault, where covers: (FaultArea) -> Bool) -> Bool {
        state.withLock { state in state.contains { $0.fault == fault && covers($0.area) } }
    }

    /// Counts a request to fail. After the last one the fault is turned off.
    /// - Returns: the fault that the request must fail with; `nil` if none is on for it.
    public func take(_ fault: InjectedFault, where covers: (ActiveFault) -> Bool) -> ActiveFault? {
        state.withLock { state in
            guard let index = state.firstIndex(where: { $0.fault == fault && covers($0) }) else { return nil }
            let running = state[index]
            guard let remaining = running.remaining else { return running }
            if remaining > 1 { state[index].remaining = remaining - 1 } else { state.remove(at: index) }
            return running
        }
    }
}
