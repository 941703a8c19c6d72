internal import CloudKitClient
internal import Foundation
public import Records

/// An operation that continues after the process ended: it is stored before it begins, and each outcome is stored
/// before it is delivered.
public protocol LongLivedOperation: DatabaseOperation where Output == Void {
    /// The name of the type in the store, such as `ModifyRecords`.
    static var kind: String { get }
    /// The parameters of the operation, to store them.
    var json: JSONObject { get }
    /// Creates the operation from stored parameters.
    init(json: JSONObject) throws
    /// Converts an event to JSON, to store it.
    /// - Returns: `nil` for an event that is not stored, such as progress.
    static func json(of event: Event) -> JSONObject?
    /// Creates an event from stored JSON.
    static func event(of json: JSONObject) throws -> Event
    /// The operation without the parts that these events complete.
    func remaining(after events: [Event]) -> Self
    /// The errors of the items in these events.
    static func errors(of events: [Event]) -> [OperationError.Item: OperationError]
}

extension ModifyRecords: LongLivedOperation {
    public static var kind: String { "ModifyRecords" }

    public var json: JSONObject {
        var object = JSONObject()
        object["save"] = .array(recordsToSave.map { .object($0.json) })
        object["delete"] = .array(recordIDsToDelete.map { .object($0.json) })
        object["savePolicy"] = .string(savePolicy.rawValue)
        object["isAtomic"] = .bool(isAtomic)
        return object
    }

    public init(json: JSONObject) throws {
        guard case .string(let name)? = json["savePolicy"], let savePolicy = SavePolicy(rawValue: name) else {
            throw UnreadableRecord()
        }
        self.init(
            saving: try json.objects("save").map { try Record(json: $0) },
            deleting: try json.objects("delete").map { try RecordID(json: .object($0)) },
            savePolicy: savePolicy, isAtomic: json["isAtomic"] == .bool(true))
    }

    public static func json(of event: Event) -> JSONObject? {
        switch event {
        case .progress: nil
        case .saved(let recordID, let result):
            JSONObject.kept(recordID, ["event": "saved"]).adding(result) { $0.json }
        case .deleted(let recordID, let result):
            JSONObject.kept(recordID, ["event": "deleted"]).adding(result) { _ in JSONObject() }
        }
    }

    public static func event(of json: JSONObject) throws -> Event {
        let recordID = try RecordID(json: json["recordID"])
        if json["event"] == "deleted" { return .deleted(recordID, try json.result { _ in }) }
        return .saved(recordID, try json.result { try Record(json: $0) })
    }

    public func remaining(after events: [Event]) -> ModifyRecords {
        let done = Set(
            events.compactMap { event -> RecordID? in
                switch event {
                case .progress: nil
                case .saved(let recordID, _), .deleted(let recordID, _): recordID
                }
            })
        var operation = self
        operation.recordsToSave.removeAll { done.contains($0.recordID) }
        operation.recordIDsToDelete.removeAll { done.contains($0) }
        return operation
    }

    public static func errors(of events: [Event]) -> [OperationError.Item: OperationError] {
        var errors: [OperationError.Item: OperationError] = [:]
        for event in events {
            switch event {
            case .saved(let recordID, .failure(let error)), .deleted(let recordID, .failure(let error)):
                errors[.record(recordID)] = error
            default: break
            }
        }
        return errors
    }
}

extension FetchRecords: LongLivedOperation {
    public static var kind: String { "FetchRecords" }

    public var json: JSONObject {
        var object = JSONObject()
        object["recordIDs"] = .array(recordIDs.map { .object($0.json) })
        object["desiredKeys"] = desiredKeys.map { .array($0.sorted().map { .string($0.string) }) }
        object["assetFolder"] = assetFolder.map { .string($0.path(percentEncoded: false)) }
        return object
    }

    public init(json: JSONObject) throws {
        self.init(try json.objects("recordIDs").map { try RecordID(json: .object($0)) })
        if case .array(let names)? = json["desiredKeys"] {
            desiredKeys = Set(names.compactMap { if case .string(let name) = $0 { Name(name) } else { nil } })
        }
        if case .string(let path)? = json["assetFolder"] { assetFolder = URL(filePath: path) }
    }

    public static func json(of event: Event) -> JSONObject? {
        switch event {
        case .progress: nil
        case .fetched(let recordID, let result): JSONObject.kept(recordID, [:]).adding(result) { $0.json }
        }
    }

    public static func event(of json: JSONObject) throws -> Event {
        .fetched(try RecordID(json: json["recordID"]), try json.result { try Record(json: $0) })
    }

    public func remaining(after events: [Event]) -> FetchRecords {
        let done = Set(events.compactMap { if case .fetched(let recordID, _) = $0 { recordID } else { nil } })
        var operation = self
        operation.recordIDs.removeAll { done.contains($0) }
        return operation
    }

    public static func errors(of events: [Event]) -> [OperationError.Item: OperationError] {
        var errors: [OperationError.Item: OperationError] = [:]
        for case .fetched(let recordID, .failure(let error)) in events { errors[.record(recordID)] = error }
        return errors
    }
}

// MARK: - Operations of a container

extension Container {
    /// A stored long-lived operation whose completion has not returned yet.
    public struct LongLivedOperationInfo: Sendable, Hashable {
        /// The ID for resuming the operation.
        public let operationID: String
        /// The type of the operation, such as `ModifyRecords`; see ``LongLivedOperation/kind``.
        public let kind: String
        /// The database of the operation.
        public let scope: DatabaseScope
        /// True if all outcomes are known, and only remain to be delivered.
        public let isFinished: Bool
    }

    /// Returns the long-lived operations to resume, in the order in which they were added. Call it once, at launch.
    ///
    /// An operation is listed until its completion has returned or it was cancelled. Outcomes are stored for a day.
    /// - Throws: ``OperationError``.
    public func longLivedOperations() async throws(OperationError) -> [LongLivedOperationInfo] {
        let store = try longLivedStore
        do {
            return try await store.operations().compactMap { operation in
                DatabaseScope(rawValue: operation.scope).map { scope in
                    LongLivedOperationInfo(
                        operationID: operation.operationID, kind: operation.kind, scope: scope,
                        isFinished: operation.isFinished)
                }
            }
        } catch {
            throw OperationError(any: error)
        }
    }

    /// Continues a long-lived operation that an earlier process began. The new callbacks also receive all events that
    /// were delivered before.
    /// - Parameters:
    ///   - type: the type of the operation, which ``LongLivedOperationInfo/kind`` names.
    ///   - operationID: its ID from ``longLivedOperations()``.
    ///   - configuration: replaces the default configuration of a new operation.
    ///   - onEvent: receives each event.
    ///   - onCompletion: receives the result. When it returns, the operation is removed from the store.
    /// - Throws: ``OperationError``: `unknownItem` if there is no such operation, `invalidArguments` if it has another
    ///   type or is already running, `internalError` if its stored data is unreadable.
    @discardableResult
    public func resume<Operation: LongLivedOperation>(
        _ type: Operation.Type, withID operationID: String,
        configuration: OperationConfiguration = OperationConfiguration(),
        _ onEvent: @escaping @Sendable (Operation.Event) async -> Void,
        onCompletion: @escaping @Sendable (Result<Void, OperationError>) async -> Void
    ) async throws(OperationError) -> OperationHandle<Void> {
        let store = try longLivedStore
        // Before the operation is read, so that it cannot end in between.
        guard store.begin(operationID) else { throw .isRunning }
        do {
            guard let stored = try await store.operation(operationID) else {
                throw OperationError(.unknownItem, "There is no long-lived operation '\(operationID)'")
            }
            guard stored.kind == Operation.kind else {
                throw OperationError(.invalidArguments, "The operation is of the type \(stored.kind)")
            }
            let operation = try Operation(json: stored.request)
            let events = try stored.events.map { try Operation.event(of: $0) }
            let database = Database(self, stored.scope).configured(configuration)
            return database.run(
                operation, stored.operationID, in: store, after: [], onEvent, onCompletion, EarlierRun(events, stored))
        } catch {
            store.end(operationID)
            throw OperationError(any: error)
        }
    }

    /// Removes a long-lived operation that will not be resumed, such as one with unreadable data. It may have been
    /// carried out in part.
    /// - Throws: ``OperationError``: `invalidArguments` if the operation is running. Cancel its handle instead.
    public func forgetLongLivedOperation(withID operationID: String) async throws(OperationError) {
        let store = try longLivedStore
        guard store.begin(operationID) else { throw .isRunning }
        defer { store.end(operationID) }
        do {
            try await store.remove(operationID)
        } catch {
            throw OperationError(any: error)
        }
    }

    fileprivate var longLivedStore: LongLivedStore {
        get throws(OperationError) {
            guard let longLived else {
                throw OperationError(.invalidArguments, "The container has no file for long-lived operations")
            }
            return longLived
        }
    }
}

extension OperationError {
    fileprivate static let isRunning = OperationError(.invalidArguments, "The operation runs already")
}

/// The events and the outcome of an operation from an earlier process.
private struct EarlierRun<Event: Sendable>: Sendable {
    var events: [Event] = []
    var unanswered: Set<RecordID> = []
    var outcome: Result<Void, OperationError>?

    init() {}

    init(_ events: [Event], _ stored: LongLivedStore.StoredOperation) {
        self.events = events
        unanswered = stored.unanswered
        outcome = stored.outcome
    }
}

extension Database {
    /// Adds an operation that continues after the process ended. It is stored in the container's file before it begins.
    ///
    /// Operations only run while the program runs. The next process must call ``Container/longLivedOperations()`` and
    /// resume them.
    /// - Parameters:
    ///   - operation: the operation to store and run.
    ///   - dependencies: the operations to wait for. The operation begins when all of them have finished, failed or
    ///     been cancelled.
    ///   - onEvent: receives each event. If the process ends before the completion has returned, the events are
    ///     delivered again.
    ///   - onCompletion: receives the result. When it returns, the operation is removed from the store.
    /// - Throws: ``OperationError`` if the operation cannot be stored. Then it does not begin.
    @discardableResult
    public func addLongLived<Operation: LongLivedOperation>(
        _ operation: Operation, after dependencies: [any OperationDependency] = [],
        _ onEvent: @escaping @Sendable (Operation.Event) async -> Void,
        onCompletion: @escaping @Sendable (Result<Void, OperationError>) async -> Void
    ) async throws(OperationError) -> OperationHandle<Void> {
        let store = try container.longLivedStore
        let operationID = UUID().uuidString
        // Code that lists the operations at this moment must not resume this one.
        _ = store.begin(operationID)
        do {
            try await store.add(operationID, Operation.kind, scope, operation.json)
        } catch {
            store.end(operationID)
            throw OperationError(.internalError, "The operation can't be kept: \(error)")
        }
        return run(operation, operationID, in: store, after: dependencies, onEvent, onCompletion, EarlierRun())
    }

    /// Runs an operation that is marked as running in the store.
    fileprivate func run<Operation: LongLivedOperation>(
        _ operation: Operation, _ operationID: String, in store: LongLivedStore,
        after dependencies: [any OperationDependency],
        _ onEvent: @escaping @Sendable (Operation.Event) async -> Void,
        _ onCompletion: @escaping @Sendable (Result<Void, OperationError>) async -> Void,
        _ earlier: EarlierRun<Operation.Event>
    ) -> OperationHandle<Void> {
        let steps = OperationSteps(store, operationID, unanswered: earlier.unanswered)
        let pacing = container.client.pacing
        return start(operationID, after: dependencies, steps: steps) { context async throws(OperationError) -> Void in
            defer { store.end(operationID) }
            for event in earlier.events { await onEvent(event) }
            let outcome: Result<Void, OperationError>
            if let known = earlier.outcome {
                // The errors of items are stored with their events.
                outcome = known.mapError {
                    $0.code == .partialFailure ? .partialFailure(Operation.errors(of: earlier.events)) : $0
                }
            } else {
                outcome = await Self.outcome(
                    of: operation.remaining(after: earlier.events), in: context, onEvent,
                    errors: Operation.errors(of: earlier.events))
            }
            let failure = await steps.failure
            if earlier.outcome == nil, failure == nil, !Task.isCancelled {
                var error: OperationError?
                if case .failure(let found) = outcome { error = found }
                // If this fails, the next process looks up all outcomes again, and nothing is lost.
                try? await store.finish(operationID, error, at: pacing.time())
            }
            await onCompletion(outcome)
            try? await store.remove(operationID)
            if let failure { throw failure }
            try outcome.get()
        }
    }

    /// Runs the remaining part of an operation.
    /// - Parameter errors: the errors of the items that failed in an earlier process.
    private static func outcome<Operation: LongLivedOperation>(
        of operation: Operation, in context: OperationContext,
        _ onEvent: @escaping @Sendable (Operation.Event) async -> Void,
        errors: [OperationError.Item: OperationError]
    ) async -> Result<Void, OperationError> {
        if Task.isCancelled { return .failure(.cancelled) }
        do throws(OperationError) {
            try await operation.run(in: context, onEvent)
            return errors.isEmpty ? .success(()) : .failure(.partialFailure(errors))
        } catch {
            guard error.code == .partialFailure else { return .failure(error) }
            return .failure(.partialFailure(errors.merging(error.partialErrors) { first, _ in first }))
        }
    }
}
