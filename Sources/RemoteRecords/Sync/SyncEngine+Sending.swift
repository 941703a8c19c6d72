internal import CloudKitClient
internal import Records
internal import Synchronization

extension SyncEngine {
    /// Sends the changes that are pending now. Changes that are added meanwhile stay pending, so that an app that adds
    /// each failed change again does not keep the engine busy for ever.
    /// - Returns: true if the outcome of any change is known.
    /// - Throws: the error that stopped it; otherwise a partial failure with the changes that were refused.
    @discardableResult
    func send(_ options: SendChangesOptions) async throws(OperationError) -> Bool {
        await tell(.willSendChanges)
        var pass = SendingPass(lastNumber: kept.withLock { $0.pending.lastNumber })
        var failure: OperationError?
        do throws(OperationError) {
            try await sendAll(options, &pass)
        } catch {
            failure = error
        }
        await tell(.didSendChanges)
        if let failure = failure ?? pass.failure { throw failure }
        return !pass.zones.isEmpty || !pass.records.isEmpty
    }

    private func sendZones(_ changes: [PendingDatabaseChange], _ pass: inout SendingPass) async throws(OperationError) {
        var sent = Event.SentDatabaseChanges()
        var done: [PendingDatabaseChange] = []
        var failure: OperationError?
        pass.zones.formUnion(changes.map(\.zoneID))
        // One request at a time, because outcomes must be known even if a later request fails. The server needs a
        // request for each change anyway.
        for change in changes {
            do throws(OperationError) {
                if let zone = try await send(change) {
                    sent.savedZones.append(zone)
                } else {
                    sent.deletedZoneIDs.append(change.zoneID)
                }
                done.append(change)
            } catch {
                if error.isRefusal {
                    done.append(change)
                    pass.refused[.zone(change.zoneID)] = error
                } else {
                    failure = failure ?? error
                }
                // The other zones would fail as well.
                guard error.isRefusal || error.code == .zoneBusy else { break }
                switch change {
                case .saveZone(let zoneID):
                    sent.failedZoneSaves.append(.init(zone: ReceivedZone(zoneID: zoneID), error: error))
                case .deleteZone(let zoneID): sent.failedZoneDeletes[zoneID] = error
                }
            }
        }
        if !done.isEmpty || failure?.code == .zoneBusy {
            await tell(.sentDatabaseChanges(sent))
            await update { [done, deleted = sent.deletedZoneIDs] state in
                state.pendingDatabaseChanges.removeAll { done.contains($0) }
                for zoneID in deleted { state.forget(zoneID) }
            }
        }
        if let failure { throw failure }
    }

    /// - Returns: the zone that exists now; `nil` for a deleted zone.
    /// - Throws: the error of the zone or of its request. If the change was made, it counts even if the task was
    ///   cancelled in the meantime.
    private func send(_ change: PendingDatabaseChange) async throws(OperationError) -> ReceivedZone? {
        let operation =
            switch change {
            case .saveZone(let zoneID): ModifyRecordZones(saving: [zoneID])
            case .deleteZone(let zoneID): ModifyRecordZones(deleting: [zoneID])
            }
        let answer = Mutex<Result<ReceivedZone?, OperationError>?>(nil)
        do throws(OperationError) {
            try await database.waitedFor.perform(operation) { event in
                answer.withLock { answer in
                    switch event {
                    case .saved(_, let result): answer = result.map { $0 }
                    case .deleted(_, let result): answer = result.map { nil }
                    }
                }
            }
        } catch {
            if answer.withLock({ $0 == nil }) { throw error }
        }
        return try only(answer.withLock { $0 })
    }

    private func sendAll(_ options: SendChangesOptions, _ pass: inout SendingPass) async throws(OperationError) {
        try await sendZones(kept.withLock { $0.pendingDatabaseChanges.filter { options.scope.contains($0) } }, &pass)
        while true {
            // The app may change a record after it was requested for this batch. That change stays pending.
            let asked = kept.withLock { $0.pending.moment }
            guard let requested = await nextBatch(options) else { return }
            let batch = kept.withLock { pass.part(of: requested, $0.pending) }
            let isMissingMore = !pass.records.isSuperset(of: batch.missing)
            pass.records.formUnion(batch.missing)
            if !batch.missing.isEmpty { await update { $0.pending.removeSaves(of: batch.missing, addedUntil: asked) } }
            // The app may have added these zones in the meantime. They are sent before their records.
            let zoneIDs = Set(batch.changes.map(\.recordID.zoneID)).subtracting(pass.zones)
            let zones = kept.withLock {
                $0.pendingDatabaseChanges.filter { zoneIDs.contains($0.zoneID) && options.scope.contains($0) }
            }
            if !zones.isEmpty {
                try await sendZones(zones, &pass)
            } else if !batch.changes.isEmpty {
                try await send(batch, askedAt: asked, &pass)
            } else if !isMissingMore {
                return
            }
        }
    }

    private func send(_ batch: RecordZoneChangeBatch, askedAt asked: Int64, _ pass: inout SendingPass)
        async throws(OperationError)
    {
        pass.records.formUnion(batch.changes.map(\.recordID))
        // If the program is killed now, the next run looks up the outcomes of these changes. A change that the app adds
        // in the meantime is separate.
        let unanswered = await update { $0.pending.begin(batch.changes, askedAt: asked) }
        var outcomes: [Outcome] = []
        var failure: OperationError?
        // Each zone is a separate request, so that the zone of an error is known.
        for changes in batch.byZone where failure == nil {
            let (known, error) = await outcomesOfZone(changes, unanswered)
            outcomes += known
            failure = error
        }
        await take(outcomes, of: batch, &pass, &failure)
        if let failure { throw failure }
    }

    /// Sends the changes of one zone.
    /// - Returns: the known outcomes, and an error if sending must stop for now.
    private func outcomesOfZone(_ changes: RecordZoneChangeBatch, _ unanswered: Set<RecordID>) async -> (
        [Outcome], OperationError?
    ) {
        var operation = ModifyRecords(
            saving: changes.recordsToSave, deleting: changes.recordIDsToDelete, isAtomic: changes.atomicByZone)
        operation.unanswered = unanswered
        let answered = Mutex<[Outcome]>([])
        do throws(OperationError) {
            try await database.waitedFor.perform(operation) { event in
                if let outcome = Outcome(event) { answered.withLock { $0.append(outcome) } }
            }
            return (answered.withLock { $0 }, nil)
        } catch {
            let outcomes = answered.withLock { $0 }
            if error.code == .partialFailure { return (outcomes, nil) }
            guard error.isRefusal else { return (outcomes, error) }
            // The same request would be refused again, and nothing would ever be sent after it. That holds even if the
            // outcomes could not be looked up.
            let known = outcomes.filter { $0.error?.code != .serverResponseLost }
            let recordIDs = Set(known.map(\.change.recordID))
            return (
                known
                    + changes.changes.filter { !recordIDs.contains($0.recordID) }.map { Outcome($0, .failure(error)) },
                nil
            )
        }
    }

    /// Delivers the outcomes of a batch.
    /// - Parameter failure: set to an error if sending must stop for now.
    private func take(
        _ outcomes: [Outcome], of batch: RecordZoneChangeBatch, _ pass: inout SendingPass,
        _ failure: inout OperationError?
    ) async {
        let isMade = outcomes.contains { $0.error == nil }
        if isMade { pass.waiting = [] }
        // A parent must be saved before its children and deleted after them. They may be in other batches, and those
        // that were added since the pass began are in the next pass.
        let (first, last) = kept.withLock { ($0.pending.firstNumber, $0.pending.lastPendingNumber) }
        let mayWait = isMade || first.map { $0 <= pass.lastNumber } ?? false
        let hasLater = last.map { $0 > pass.lastNumber } ?? false
        var postponed: [RecordID: Postponement] = [:]
        // If a change of an atomic batch stays pending, the other changes of its batch stay pending as well.
        var postponedZones: [ZoneID: Postponement] = [:]
        for outcome in outcomes {
            guard let error = outcome.error, error.code != .batchRequestFailed else { continue }
            let recordID = outcome.change.recordID
            if let reason = error.endOfSending(at: recordID) {
                failure = failure ?? reason
                postponed[recordID] = .untilLater
            } else if error.code == .referenceViolation {
                if mayWait, pass.waiting.insert(recordID).inserted {
                    postponed[recordID] = .afterOthers
                } else if hasLater {
                    postponed[recordID] = .untilNextPass
                }
            }
            if let postponement = postponed[recordID] { postponedZones[recordID.zoneID] = postponement }
        }
        var again: [PendingRecordZoneChange] = []
        var later: [PendingRecordZoneChange] = []
        var sent = Event.SentRecordZoneChanges()
        var known: Set<RecordID> = []
        let records = Dictionary(batch.recordsToSave.map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
        for outcome in outcomes {
            let recordID = outcome.change.recordID
            let postponement =
                outcome.error?.code == .batchRequestFailed ? postponedZones[recordID.zoneID] : postponed[recordID]
            if postponement == .untilLater { continue }
            known.insert(recordID)
            switch outcome.result {
            case .success(let record?): sent.savedRecords.append(record)
            case .success(nil): sent.deletedRecordIDs.append(recordID)
            case .failure where postponement == .afterOthers: again.append(outcome.change)
            case .failure where postponement == .untilNextPass: later.append(outcome.change)
            case .failure(let error):
                pass.refused[.record(recordID)] = error
                if case .saveRecord = outcome.change, let record = records[recordID] {
                    sent.failedRecordSaves.append(.init(record: record, error: error))
                } else {
                    sent.failedRecordDeletes[recordID] = error
                }
            }
        }
        // Delivered before the state changes: if the program ends in between, the changes must not be gone while their
        // outcome is unknown.
        if known.count > again.count + later.count { await tell(.sentRecordZoneChanges(sent)) }
        let lastNumber = pass.lastNumber
        pass.lastNumber = await update { [known, again, later] state in
            state.pending.end(known: known)
            for change in later where state.pending[change.recordID] == nil { state.pending.add(change) }
            return again.isEmpty ? lastNumber : state.pending.addAgain(again, after: lastNumber)
        }
    }
}

/// The changes that were pending when sending began, and what became of them.
private struct SendingPass {
    /// The number of the last pending change of a record that belongs to the pass.
    var lastNumber: Int64
    /// The zones whose changes were sent.
    var zones: Set<ZoneID> = []
    /// The records whose changes were sent, and those that the app no longer has.
    var records: Set<RecordID> = []
    /// Records whose changes were refused because of other records since the last change that was made. They are sent
    /// again after all others.
    var waiting: Set<RecordID> = []
    /// The changes that were refused.
    var refused: [OperationError.Item: OperationError] = [:]

    init(lastNumber: Int64) {
        self.lastNumber = lastNumber
    }

    var failure: OperationError? { refused.isEmpty ? nil : .partialFailure(refused) }

    /// Returns the changes of a batch that belong to the pass. A batch of an app that does not use the pending changes
    /// may have others; each record is sent once then. What is to be made as a whole is not divided.
    func part(of batch: RecordZoneChangeBatch, _ pending: PendingChanges) -> RecordZoneChangeBatch {
        func belongs(_ recordID: RecordID) -> Bool {
            pending.number(of: recordID).map { $0 <= lastNumber } ?? !records.contains(recordID)
        }
        var isWanted = belongs
        if batch.atomicByZone {
            let zoneIDs = Set(batch.changes.map(\.recordID).filter(belongs).map(\.zoneID))
            isWanted = { zoneIDs.contains($0.zoneID) }
        }
        var part = batch
        part.recordsToSave.removeAll { !isWanted($0.recordID) }
        part.recordIDsToDelete.removeAll { !isWanted($0) }
        return part
    }
}

/// When to send a change again that stays pending.
private enum Postponement {
    /// After the other pending changes of the pass.
    case afterOthers
    /// In the next pass, which has more changes.
    case untilNextPass
    /// When sending resumes.
    case untilLater
}

/// The outcome of a change.
private struct Outcome: Sendable {
    let change: PendingRecordZoneChange
    /// The saved record; `nil` for a deletion.
    let result: Result<Record?, OperationError>

    init(_ change: PendingRecordZoneChange, _ result: Result<Record?, OperationError>) {
        (self.change, self.result) = (change, result)
    }

    /// - Returns: `nil` for a progress event.
    init?(_ event: ModifyRecords.Event) {
        switch event {
        case .progress: return nil
        case .saved(let recordID, let result): self.init(.saveRecord(recordID), result.map { $0 })
        case .deleted(let recordID, let result): self.init(.deleteRecord(recordID), result.map { nil })
        }
    }

    var error: OperationError? { if case .failure(let error) = result { error } else { nil } }
}

extension OperationError {
    /// True if a request or an item was refused for a permanent reason. False if the answer is missing, or if the user
    /// must sign in or free space.
    fileprivate var isRefusal: Bool {
        switch code {
        case .notAuthenticated, .operationCancelled, .quotaExceeded, .serverResponseLost: false
        case .invalidArguments, .limitExceeded: true
        // A faulty server refuses every request, and may be repaired.
        case .internalError: serverError != nil && failure == nil
        default: !isTemporary && serverError != nil
        }
    }

    /// The error that stops sending, if the failed change must stay pending; `nil` if the change was refused.
    fileprivate func endOfSending(at recordID: RecordID) -> OperationError? {
        if isTemporary || code == .serverResponseLost || code == .operationCancelled { return self }
        guard code == .serverRecordChanged, conflict == nil else { return nil }
        return OperationError(
            .networkUnavailable, "The server's version of '\(recordID.recordName)' could not be fetched")
    }
}

extension RecordZoneChangeBatch {
    /// The changes by zone, both in the order of the batch.
    fileprivate var byZone: [RecordZoneChangeBatch] {
        let saves = Dictionary(grouping: recordsToSave, by: \.recordID.zoneID)
        let deletions = Dictionary(grouping: recordIDsToDelete, by: \.zoneID)
        return changes.byZone(\.recordID.zoneID).map { zoneID, _ in
            RecordZoneChangeBatch(
                recordsToSave: saves[zoneID] ?? [], recordIDsToDelete: deletions[zoneID] ?? [],
                atomicByZone: atomicByZone)
        }
    }
}
