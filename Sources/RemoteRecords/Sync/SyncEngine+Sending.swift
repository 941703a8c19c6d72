internal import CloudKitClient
internal import Records
internal import Synchronization

extension SyncEngine {
    func send(_ options: SendChangesOptions) async throws(OperationError) {
        await tell(.willSendChanges)
        var failure: OperationError?
        do throws(OperationError) {
            try await sendAll(options)
        } catch {
            failure = error
        }
        await tell(.didSendChanges)
        if let failure { throw failure }
    }

    private func sendZones(_ scope: SendChangesOptions.Scope) async throws(OperationError) {
        var sent = Event.SentDatabaseChanges()
        var done: [PendingDatabaseChange] = []
        var failure: OperationError?
        // One at a time: what was made must be known, whatever becomes of the next ones. Each is a request of its own in any case.
        for change in kept.withLock({ $0.pendingDatabaseChanges.filter { scope.contains($0) } }) {
            do throws(OperationError) {
                switch change {
                case .saveZone(let zoneID): sent.savedZones.append(try await database.save(zoneID))
                case .deleteZone(let zoneID):
                    try await database.deleteRecordZone(withID: zoneID)
                    sent.deletedZoneIDs.append(zoneID)
                }
                done.append(change)
            } catch {
                if error.isRefusal { done.append(change) } else { failure = failure ?? error }
                // Other zones would fail as well.
                guard error.isRefusal || error.code == .zoneBusy else { break }
                switch change {
                case .saveZone(let zoneID): sent.failedZoneSaves.append(.init(zone: ReceivedZone(zoneID: zoneID), error: error))
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

    private func sendAll(_ options: SendChangesOptions) async throws(OperationError) {
        var waiting: Set<RecordID> = []
        while true {
            try await sendZones(options.scope)
            // The app may change a record after it was asked for. That change stays pending.
            let asked = kept.withLock { $0.pending.moment }
            let batch = await nextBatch(options)
            // The app may have added zones meanwhile. They go before their records.
            if kept.withLock({ $0.pendingDatabaseChanges.contains { options.scope.contains($0) } }) { continue }
            guard let batch else { return }
            if !batch.missing.isEmpty { await update { $0.pending.removeSaves(of: batch.missing, addedUntil: asked) } }
            if batch.recordsToSave.isEmpty, batch.recordIDsToDelete.isEmpty {
                if batch.missing.isEmpty { return }
                continue
            }
            try await send(batch, askedAt: asked, &waiting)
        }
    }

    /// - Parameter waiting: records whose changes were refused because of other records, since a change was made. They are sent again after all others.
    private func send(_ batch: RecordZoneChangeBatch, askedAt asked: Int64, _ waiting: inout Set<RecordID>) async throws(OperationError) {
        var operation = ModifyRecords(saving: batch.recordsToSave, deleting: batch.recordIDsToDelete, isAtomic: batch.atomicByZone)
        // If the program is killed now, the next one finds out what became of them. A change that the app adds meanwhile is one of its own.
        operation.unanswered = await update { $0.pending.begin(batch.changes, askedAt: asked) }
        let answered = Mutex<[ModifyRecords.Event]>([])
        var failure: OperationError?
        do throws(OperationError) {
            try await database.waitedFor.perform(operation) { event in
                if case .progress = event { return }
                answered.withLock { $0.append(event) }
            }
        } catch {
            if error.code != .partialFailure { failure = error }
        }
        await take(answered.withLock { $0 }, of: batch, &waiting, &failure)
        if let failure { throw failure }
    }

    /// Tells what became of a batch.
    /// - Parameter failure: set to an error after which sending stops for now.
    private func take(
        _ events: [ModifyRecords.Event], of batch: RecordZoneChangeBatch, _ waiting: inout Set<RecordID>, _ failure: inout OperationError?
    ) async {
        let isMade = events.contains { $0.isSuccess }
        if isMade { waiting = [] }
        // A parent must be there before its children, and go after them. They may be in other batches.
        let mayWait = isMade || kept.withLock { !$0.pending.first(1).isEmpty }
        var again: [PendingRecordZoneChange] = []
        var sent = Event.SentRecordZoneChanges()
        var known: Set<RecordID> = []
        let records = Dictionary(batch.recordsToSave.map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
        for event in events {
            switch event {
            case .progress: break
            case .saved(let recordID, .success(let record)):
                known.insert(recordID)
                sent.savedRecords.append(record)
            case .deleted(let recordID, .success):
                known.insert(recordID)
                sent.deletedRecordIDs.append(recordID)
            case .saved(let recordID, .failure(let error)), .deleted(let recordID, .failure(let error)):
                if error.isMendedByTime || error.code == .serverResponseLost || error.code == .operationCancelled {
                    failure = failure ?? error
                } else if error.code == .serverRecordChanged, error.conflict == nil {
                    failure = failure ?? OperationError(.networkUnavailable, "The server's version of '\(recordID.recordName)' could not be fetched")
                } else if error.code == .referenceViolation, mayWait, waiting.insert(recordID).inserted {
                    known.insert(recordID)
                    again.append(records[recordID] == nil ? .deleteRecord(recordID) : .saveRecord(recordID))
                } else if let record = records[recordID] {
                    known.insert(recordID)
                    sent.failedRecordSaves.append(.init(record: record, error: error))
                } else {
                    known.insert(recordID)
                    sent.failedRecordDeletes[recordID] = error
                }
            }
        }
        // Told first: a program that ends in between must not find the changes gone and their outcome unknown.
        if known.count > again.count { await tell(.sentRecordZoneChanges(sent)) }
        await update { [known, again] state in
            state.pending.end(known: known)
            for change in again where state.pending[change.recordID] == nil { state.pending.add(change) }
        }
    }
}

extension ModifyRecords.Event {
    fileprivate var isSuccess: Bool {
        switch self {
        case .saved(_, .success), .deleted(_, .success): true
        default: false
        }
    }
}

extension OperationError {
    /// True if a request, or an item, was refused for a reason that stays. False if the answer is missing, or if somebody has to sign in.
    fileprivate var isRefusal: Bool {
        switch code {
        case .notAuthenticated, .operationCancelled, .serverResponseLost: false
        case .invalidArguments, .limitExceeded: true
        default: !isMendedByTime && serverError != nil
        }
    }
}
