public import Records

/// An engine with fault injection. It wraps the databases of another engine.
public struct RehearsingEngine: ForwardingEngine {
    public let base: any RecordEngine
    private let rehearsals: Rehearsals

    public init(_ base: any RecordEngine, _ rehearsals: Rehearsals) {
        self.base = base
        self.rehearsals = rehearsals
    }

    /// Opens a database with the faults that are on and those requested by ``RehearsalScope/current``.
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        let database = try await base.database(address, as: caller)
        var owner = caller
        owner.access = .unrestricted
        return RehearsingDatabase(
            base: database, unrestricted: { [base, owner] in owner == caller ? database : try await base.database(address, as: owner) },
            rehearsals: rehearsals, scope: RehearsalScope.current)
    }
}
