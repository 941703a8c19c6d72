public import Records

/// An engine with fault injection. It wraps the databases of another engine.
public struct FaultInjectingEngine: ForwardingEngine {
    public let base: any RecordEngine
    private let faults: FaultInjection

    public init(_ base: any RecordEngine, _ faults: FaultInjection) {
        self.base = base
        self.faults = faults
    }

    /// Opens a database with the faults that are on and those requested by ``RequestFaults/current``.
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        let database = try await base.database(address, as: caller)
        var owner = caller
        owner.access = .unrestricted
        return FaultInjectingDatabase(
            base: database, unrestricted: { [base, owner] in owner == caller ? database : try await base.database(address, as: owner) },
            faults: faults, scope: RequestFaults.current)
    }
}
