internal import Foundation
public import Records

/// A database of a container. A value: copies with other configurations share the connections.
public struct Database: Sendable {
    /// The container of the database.
    public let container: Container
    /// Public, private or shared.
    public let scope: DatabaseScope
    private var configuration = OperationConfiguration()
    private var group: OperationGroup?

    init(_ container: Container, _ scope: DatabaseScope) {
        self.container = container
        self.scope = scope
    }

    /// The same database with a configuration for the operations that are added here. Properties that it leaves out come from the group.
    public func configured(_ configuration: OperationConfiguration = OperationConfiguration(), group: OperationGroup? = nil) -> Database {
        var database = self
        database.configuration = configuration.or(self.configuration)
        database.group = group ?? self.group
        return database
    }

    /// Adds an operation, which begins at once or after others.
    /// - Parameters:
    ///   - operation: the operation to run.
    ///   - dependencies: the operation begins when they have ended, in whatever way.
    ///   - onEvent: takes each event. The operation waits for it.
    @discardableResult
    public func add<Operation: DatabaseOperation>(
        _ operation: Operation, after dependencies: [any OperationDependency] = [],
        _ onEvent: @escaping @Sendable (Operation.Event) async -> Void = { _ in }
    ) -> OperationHandle<Operation.Output> {
        start(UUID().uuidString, after: dependencies) { context async throws(OperationError) -> Operation.Output in
            if Task.isCancelled { throw .cancelled }
            return try await operation.run(in: context, onEvent)
        }
    }

    /// The events of an operation. It begins with the first one that is asked for.
    public func events<Operation: DatabaseOperation>(
        of operation: Operation, after dependencies: [any OperationDependency] = []
    ) -> OperationEvents<Operation> {
        OperationEvents { onEvent in add(operation, after: dependencies, onEvent) }
    }

    /// Runs an operation. It is cancelled with the task.
    /// - Throws: ``OperationError``.
    public func perform<Operation: DatabaseOperation>(
        _ operation: Operation, _ onEvent: @escaping @Sendable (Operation.Event) async -> Void = { _ in }
    ) async throws(OperationError) -> Operation.Output {
        let handle = add(operation, onEvent)
        return try await withTaskCancellationHandler { await handle.result } onCancel: { handle.cancel() }.get()
    }

    /// The same database for calls that somebody waits for.
    var waitedFor: Database { configured(OperationConfiguration(qualityOfService: settings.qualityOfService ?? .userInitiated)) }

    private var settings: OperationConfiguration { configuration.or(group?.defaultConfiguration) }

    /// Starts the work of an operation.
    func start<Output: Sendable>(
        _ operationID: String, after dependencies: [any OperationDependency], steps: OperationSteps? = nil,
        _ work: @escaping @Sendable (OperationContext) async throws(OperationError) -> Output
    ) -> OperationHandle<Output> {
        let settings = settings
        let qualityOfService = settings.qualityOfService ?? .utility
        let rank = container.scheduler.rank(qualityOfService, settings.queuePriority ?? .normal)
        return OperationHandle(operationID: operationID, priority: qualityOfService.taskPriority) {
            for dependency in dependencies { await dependency.finished() }
            do throws(OperationError) {
                let output = try await work(OperationContext(operationID: operationID, scope, container, rank, settings, steps: steps))
                return .success(output)
            } catch {
                return .failure(error)
            }
        }
    }
}
