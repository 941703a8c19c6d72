public import CloudKitClient
public import Records

/// Fetches zones (CKFetchRecordZonesOperation).
public struct FetchRecordZones: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A zone that does not exist is `zoneNotFound`.
        case fetched(ZoneID, Result<ReceivedZone, OperationError>)
    }

    /// `nil` for all zones of the database.
    public var zoneIDs: [ZoneID]?

    /// A fetch of zones; of all of them without IDs.
    public init(_ zoneIDs: [ZoneID]? = nil) {
        self.zoneIDs = zoneIDs
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        guard let zoneIDs else {
            for zone in try await context.request({ try await $0.zones() }) {
                await deliver(.fetched(context.local(zone.zoneID), .success(context.local(zone))))
            }
            return
        }
        var errors: [OperationError.Item: OperationError] = [:]
        let answers = try await context.request { try await $0.lookupZones(zoneIDs) }
        for (zoneID, answer) in zip(zoneIDs, answers) {
            let result = answer.map { context.local($0) }.mapError { OperationError($0) }
            if case .failure(let error) = result { errors[.zone(zoneID)] = error }
            await deliver(.fetched(zoneID, result))
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }
}

/// Creates and deletes zones (CKModifyRecordZonesOperation). Saving a zone that exists succeeds.
public struct ModifyRecordZones: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A zone that is there now, or its error.
        case saved(ZoneID, Result<ReceivedZone, OperationError>)
        /// All records of the zone are deleted with it. A zone that does not exist is `zoneNotFound`.
        case deleted(ZoneID, Result<Void, OperationError>)
    }

    /// The zones to create.
    public var zoneIDsToSave: [ZoneID]
    /// The zones to delete.
    public var zoneIDsToDelete: [ZoneID]

    /// Changes of zones.
    public init(saving zoneIDsToSave: [ZoneID] = [], deleting zoneIDsToDelete: [ZoneID] = []) {
        self.zoneIDsToSave = zoneIDsToSave
        self.zoneIDsToDelete = zoneIDsToDelete
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        var errors: [OperationError.Item: OperationError] = [:]
        for operation in zoneIDsToSave.map(ZoneOperation.create) + zoneIDsToDelete.map(ZoneOperation.delete) {
            let result = try await outcome(of: operation, in: context)
            if case .failure(let error) = result { errors[.zone(operation.zoneID)] = error }
            switch operation {
            case .create(let zoneID):
                await deliver(.saved(zoneID, result.flatMap { $0.map { .success($0) } ?? .failure(.cancelled) }))
            case .delete(let zoneID): await deliver(.deleted(zoneID, result.map { _ in }))
            }
            if Task.isCancelled { throw .cancelled }
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }

    /// Sends one zone per request. If its answer is lost, it is sent again: the second time has no effect of its own.
    /// - Returns: the zone; `nil` for a deletion whose answer was lost. A request that the server refuses as a whole is an error of its zone alone.
    private func outcome(of operation: ZoneOperation, in context: OperationContext) async throws(OperationError) -> Result<ReceivedZone?, OperationError> {
        var wasLost = false
        while true {
            do throws(OperationError) {
                let answer = try await context.request { try await $0.modifyZones([operation])[0] }
                if wasLost, case .delete = operation, case .failure(let error) = answer, error.code == .zoneNotFound { return .success(nil) }
                return answer.map { context.local($0) }.mapError { OperationError($0) }
            } catch {
                if error.isOfItems { return .failure(error) }
                guard error.code == .serverResponseLost, !Task.isCancelled, !wasLost else { throw error }
                wasLost = true
            }
        }
    }
}
