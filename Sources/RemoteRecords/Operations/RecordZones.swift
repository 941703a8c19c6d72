public import CloudKitClient
public import Records

/// Fetches zones by their IDs (CKFetchRecordZonesOperation).
public struct FetchRecordZones: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A zone, or its error: `zoneNotFound` if it does not exist.
        case fetched(ZoneID, Result<ReceivedZone, OperationError>)
    }

    /// The zones to fetch; `nil` for all zones of the database.
    public var zoneIDs: [ZoneID]?

    /// Creates an operation that fetches zones; all zones without IDs.
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
        let answers = try await context.request { try await $0.lookupZones(zoneIDs) }
        let results = answers.map { $0.map { context.local($0) }.mapError { OperationError($0) } }
        try await context.deliver(zip(zoneIDs, results), as: { .zone($0) }) { await deliver(.fetched($0, $1)) }
    }
}

/// Creates and deletes zones (CKModifyRecordZonesOperation). Saving a zone that already exists succeeds.
public struct ModifyRecordZones: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The zone that exists now, or the error.
        case saved(ZoneID, Result<ReceivedZone, OperationError>)
        /// A zone was deleted with all its records, or the error: `zoneNotFound` if it does not exist.
        case deleted(ZoneID, Result<Void, OperationError>)
    }

    /// The zones to create.
    public var zoneIDsToSave: [ZoneID]
    /// The zones to delete.
    public var zoneIDsToDelete: [ZoneID]

    /// Creates an operation that creates and deletes zones.
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

    /// Creates or deletes one zone with one request. If the answer is lost, the request is sent again, which has no
    /// further effect.
    /// - Returns: the zone; `nil` if the answer to a deletion was lost and the zone is gone. If the server refuses the
    ///   request, only this zone has the error.
    private func outcome(of operation: ZoneOperation, in context: OperationContext) async throws(OperationError)
        -> Result<ReceivedZone?, OperationError>
    {
        var wasLost = false
        while true {
            do throws(OperationError) {
                let answer = try await context.request { try await $0.modifyZones([operation])[0] }
                if wasLost, case .delete = operation, case .failure(let error) = answer, error.code == .zoneNotFound {
                    return .success(nil)
                }
                return answer.map { context.local($0) }.mapError { OperationError($0) }
            } catch {
                if error.isOfItems { return .failure(error) }
                guard error.code == .serverResponseLost, !Task.isCancelled, !wasLost else { throw error }
                wasLost = true
            }
        }
    }
}

// MARK: - Changes

/// Fetches the IDs of the zones that changed (CKFetchDatabaseChangesOperation). The public database has no such feed.
///
/// The web protocol does not report why a zone was deleted, so purged zones are reported as deleted.
public struct FetchDatabaseChanges: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable, Hashable {
        /// A zone was created, or has changes.
        case zoneChanged(ZoneID)
        /// A zone was deleted with all its records.
        case zoneDeleted(ZoneID)
        /// A token. All changes before it were delivered.
        case tokenUpdated(SyncToken)
    }

    /// The end of a feed or, if only one page is fetched, of that page.
    public struct Output: Sendable, Hashable {
        /// The token for the next fetch.
        public var changeToken: SyncToken
        /// True if there is another page.
        public var moreComing: Bool
    }

    /// The token to begin after; `nil` for all zones.
    public var previousToken: SyncToken?
    /// The maximum number of zones in an answer; `nil` for the server's choice.
    public var resultsLimit: Int?
    /// True to fetch all pages, false to fetch one.
    public var fetchesAllChanges: Bool

    /// Creates an operation that fetches the zones that changed after a token.
    public init(since previousToken: SyncToken? = nil, resultsLimit: Int? = nil, fetchesAllChanges: Bool = true) {
        self.previousToken = previousToken
        self.resultsLimit = resultsLimit
        self.fetchesAllChanges = fetchesAllChanges
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) -> Output {
        guard context.scope != .public else {
            throw OperationError(.badDatabase, "The public database has no changes to fetch")
        }
        var token = previousToken
        var trail = context.client.trail(of: "changes/database", after: token?.text)
        while true {
            let since = token
            let page = try await context.request { try await $0.databaseChanges(since: since, limit: resultsLimit) }
            for zone in page.zones {
                await deliver(
                    zone.isDeleted ? .zoneDeleted(context.local(zone.zoneID)) : .zoneChanged(context.local(zone.zoneID))
                )
            }
            if fetchesAllChanges || !page.moreComing { await deliver(.tokenUpdated(page.syncToken)) }
            guard fetchesAllChanges, page.moreComing else {
                return Output(changeToken: page.syncToken, moreComing: page.moreComing)
            }
            try await trail.followed(page.syncToken.text, isEmpty: page.zones.isEmpty)
            token = page.syncToken
            if Task.isCancelled { throw .cancelled }
        }
    }
}

/// Fetches the changes in zones (CKFetchRecordZoneChangesOperation).
///
/// Each record is delivered once, in its latest version, in the order of the latest changes. Delivered tokens remain
/// valid even if the operation fails.
public struct FetchRecordZoneChanges: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A saved record, or an error if it could not be read. The ID is `nil` if the server does not report it.
        case changed(RecordID?, Result<Record, OperationError>)
        /// A deleted record. The type is `nil` if the server does not report it, which is usual for CloudKit.
        case deleted(RecordID, Name?)
        /// A token of a zone. All changes before it were delivered, and more follow.
        case tokenUpdated(ZoneID, SyncToken)
        /// The end of a zone: its last token, or an error. After `changeTokenExpired`, delete the local data of the
        /// zone and fetch it without a token.
        case zoneFinished(ZoneID, Result<FetchDatabaseChanges.Output, OperationError>)
    }

    /// The maximum number of zones in one request.
    private static let zonesAtOnce = 20

    /// The zones to fetch, each with its token, limit and keys.
    public var zones: [ZonePull]
    /// True to fetch all pages of each zone, false to fetch one page of each.
    public var fetchesAllChanges: Bool

    /// Creates an operation that fetches the changes in zones.
    public init(_ zones: [ZonePull], fetchesAllChanges: Bool = true) {
        self.zones = zones
        self.fetchesAllChanges = fetchesAllChanges
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        var errors: [OperationError.Item: OperationError] = [:]
        var queue = zones[...]
        while !queue.isEmpty {
            var open = queue.prefix(Self.zonesAtOnce).map {
                (pull: $0, trail: context.client.trail(of: "changes/zone", after: $0.since?.text))
            }
            queue = queue.dropFirst(open.count)
            while !open.isEmpty {
                let (pulls, trails) = (open.map(\.pull), open.map(\.trail))
                let answers = try await context.request { try await $0.zoneChanges(pulls) }
                open = []
                for (index, answer) in answers.enumerated() {
                    let pull = pulls[index]
                    switch answer {
                    case .failure(let error):
                        let failure = OperationError(error)
                        errors[.zone(pull.zoneID)] = failure
                        await deliver(.zoneFinished(pull.zoneID, .failure(failure)))
                    case .success(let page):
                        guard let next = try await take(page, of: pull, in: context, deliver) else { continue }
                        var trail = trails[index]
                        do throws(OperationError) {
                            try await trail.followed(page.syncToken.text, isEmpty: page.changes.isEmpty)
                            open.append((next, trail))
                        } catch {
                            // An error of one zone does not stop the others.
                            if error.code == .operationCancelled { throw error }
                            errors[.zone(pull.zoneID)] = error
                            await deliver(.zoneFinished(pull.zoneID, .failure(error)))
                        }
                    }
                }
                if Task.isCancelled { throw .cancelled }
            }
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }

    /// - Returns: the request for the next page; `nil` after the last page.
    private func take(
        _ page: ZoneFeedPage, of pull: ZonePull, in context: OperationContext,
        _ deliver: @Sendable (Event) async -> Void
    ) async throws(OperationError) -> ZonePull? {
        for change in page.changes {
            switch change {
            case .saved(let received):
                await deliver(.changed(context.local(received.recordID), context.record(.success(received))))
            case .deleted(let deletion): await deliver(.deleted(context.local(deletion.recordID), deletion.recordType))
            case .failed(let error):
                let recordID = error.recordName.map { RecordID(recordName: $0, zoneID: pull.zoneID) }
                await deliver(.changed(recordID, .failure(OperationError(error))))
            }
        }
        guard fetchesAllChanges, page.moreComing else {
            let end = FetchDatabaseChanges.Output(changeToken: page.syncToken, moreComing: page.moreComing)
            await deliver(.zoneFinished(pull.zoneID, .success(end)))
            return nil
        }
        await deliver(.tokenUpdated(pull.zoneID, page.syncToken))
        var next = pull
        next.since = page.syncToken
        return next
    }
}
