internal import Accounts
internal import Records

extension DatabaseAddress {
    /// The same database, or for a connected container the nearest one that its connections reach.
    func reached(by connections: [ContainerConnection]) -> DatabaseAddress {
        guard let connection = connections.first(where: { $0.environment == environment }) ?? connections.first else { return self }
        return DatabaseAddress(
            container: container, environment: connection.environment, scope: connection.reach.contains(scope) ? scope : .public)
    }
}
