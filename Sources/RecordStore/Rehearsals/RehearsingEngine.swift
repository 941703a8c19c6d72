public import Records

/// An engine with fault injection. It wraps the databases of another engine.
public struct RehearsingEngine: RecordEngine {
    private let base: any RecordEngine
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

    public func containers() async throws -> [ContainerID] {
        try await base.containers()
    }

    public func close() async {
        await base.close()
    }
}

extension RehearsingEngine: EnvironmentListing {
    /// - Throws: `RecordError` BAD_REQUEST if the underlying engine does not support it.
    public func environments(of container: ContainerID) async throws -> [Environment] {
        guard let listing = base as? any EnvironmentListing else {
            throw RecordError(.badRequest, "This store can't list the environments of its containers")
        }
        return try await listing.environments(of: container)
    }
}

extension RehearsingEngine: StoreHealthReporting {
    public func health() async -> [StoreHealth] {
        await (base as? any StoreHealthReporting)?.health() ?? []
    }
}
