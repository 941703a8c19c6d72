internal import CloudKitClient
internal import Foundation
internal import Records

/// Sends the changes of one zone. If an answer is lost, it looks up whether the changes were made.
struct ChangeSender: Sendable {
    enum Change: Sendable {
        case save(Record)
        case delete(RecordID)

        /// The name of the root record, if the change saves a new share; `nil` for other changes.
        var newShareRoot: Name? {
            if case .save(let record) = self, record.isShare, record.recordChangeTag == nil {
                record.sharing?.rootName
            } else {
                nil
            }
        }

        var recordID: RecordID {
            switch self {
            case .save(let record): record.recordID
            case .delete(let recordID): recordID
            }
        }
    }

    /// The outcome of a change: the saved record, or `nil` for a deletion.
    typealias Outcome = Result<Record?, OperationError>

    /// The maximum number of times that a batch is sent if its answers are lost.
    private static let attempts = 5

    let zoneID: ZoneID
    let savePolicy: ModifyRecords.SavePolicy
    let isAtomic: Bool
    let unanswered: Set<RecordID>
    let context: OperationContext
    let deliver: @Sendable (ModifyRecords.Event) async -> Void
    /// The change tags of the root records of new shares.
    private var rootTags: [Name: String] = [:]

    init(
        zoneID: ZoneID, savePolicy: ModifyRecords.SavePolicy, isAtomic: Bool, unanswered: Set<RecordID>,
        context: OperationContext,
        deliver: @escaping @Sendable (ModifyRecords.Event) async -> Void
    ) {
        self.zoneID = zoneID
        self.savePolicy = savePolicy
        self.isAtomic = isAtomic
        self.unanswered = unanswered
        self.context = context
        self.deliver = deliver
    }

    /// - Throws: ``OperationError`` `limitExceeded` for an atomic batch that is too large for a request. The app divides
    ///   it then.
    func checkSize(of changes: [Change]) throws(OperationError) {
        let shares = changes.count { $0.newShareRoot != nil }
        guard isAtomic, max(shares, changes.count - shares) > DatabaseClient.itemLimit else { return }
        throw OperationError(
            .limitExceeded,
            "\(changes.count) changes can't be one atomic request: \(DatabaseClient.itemLimit) is CloudKit's limit")
    }

    /// - Returns: the errors of single items.
    /// - Throws: ``OperationError`` if the operation fails as a whole.
    func send(_ changes: [Change]) async throws(OperationError) -> [OperationError.Item: OperationError] {
        // A root record must be saved before its share. Its answer contains the change tag that the share needs.
        let shares = changes.filter { $0.newShareRoot != nil }
        if shares.isEmpty { return try await sendBatches(changes) }
        let errors = try await sendBatches(changes.filter { $0.newShareRoot == nil })
        if isAtomic, !errors.isEmpty {
            return await finish(shares, shares.map { _ in .failure(.batchFailed) }).merging(errors) { first, _ in first
            }
        }
        let roots = shares.compactMap(\.newShareRoot)
        var sender = self
        let found = try await context.request { try await $0.lookup(roots, in: zoneID, desiredKeys: []) }
        for (root, record) in zip(roots, found) { sender.rootTags[root] = try? record.get().recordChangeTag }
        return try await sender.sendBatches(shares).merging(errors) { first, _ in first }
    }

    private func sendBatches(_ changes: [Change]) async throws(OperationError) -> [OperationError.Item: OperationError]
    {
        var errors: [OperationError.Item: OperationError] = [:]
        for start in stride(from: 0, to: changes.count, by: DatabaseClient.itemLimit) {
            let batch = Array(changes[start..<min(start + DatabaseClient.itemLimit, changes.count)])
            errors.merge(try await sendBatch(batch)) { first, _ in first }
        }
        return errors
    }

    private func sendBatch(_ changes: [Change]) async throws(OperationError) -> [OperationError.Item: OperationError] {
        let unsure = unanswered.union(await context.steps?.unanswered ?? [])
        var ready: [Change] = []
        var failed: [RecordID: OperationError] = [:]
        for change in changes {
            do throws(OperationError) {
                ready.append(try await uploadingFiles(of: change))
            } catch {
                // Without a connection, the remaining uploads would fail as well.
                if Task.isCancelled || error.isOfNetwork { throw error }
                failed[change.recordID] = error
            }
        }
        // The file may be gone because an earlier attempt saved its record.
        for (recordID, error) in failed where unsure.contains(recordID) { failed[recordID] = .lost(error) }
        if isAtomic, let (_, error) = failed.first {
            return await finish(
                changes,
                changes.map {
                    .failure(failed[$0.recordID] ?? (unsure.contains($0.recordID) ? .lost(error) : .batchFailed))
                })
        }
        var outcomes = try await outcomes(of: ready, unsure: unsure).makeIterator()
        return await finish(
            changes,
            changes.map { change in
                failed[change.recordID].map { .failure($0) } ?? outcomes.next() ?? .failure(.cancelled)
            })
    }

    /// Delivers the outcomes as events.
    private func finish(_ changes: [Change], _ outcomes: [Outcome]) async -> [OperationError.Item: OperationError] {
        var errors: [OperationError.Item: OperationError] = [:]
        let events = zip(changes, outcomes).map { change, outcome -> ModifyRecords.Event in
            if case .failure(let error) = outcome { errors[.record(change.recordID)] = error }
            return switch change {
            case .delete(let recordID): .deleted(recordID, outcome.map { _ in })
            case .save(let record): .saved(record.recordID, outcome.map { $0 ?? record })
            }
        }
        // All outcomes are stored together, so that no part of an atomic batch is missing if the program is killed.
        await context.steps?.answered(changes.map(\.recordID), events.compactMap { ModifyRecords.json(of: $0) })
        for event in events { await deliver(event) }
        return errors
    }

    // MARK: One request

    /// Sends changes until all outcomes are known.
    /// - Parameter unsure: records whose changes may already have been made, by this run of the operation or an earlier
    ///   one.
    private func outcomes(of changes: [Change], unsure: Set<RecordID>) async throws(OperationError) -> [Outcome] {
        var results = [Outcome?](repeating: nil, count: changes.count)
        var unsure = unsure
        var attempt = 1
        while true {
            var open = changes.indices.filter { results[$0] == nil }
            do throws(OperationError) {
                let suspects = open.filter { unsure.contains(changes[$0].recordID) }
                if !suspects.isEmpty {
                    for (place, outcome) in zip(suspects, try await findOut(suspects.map { changes[$0] })) {
                        results[place] = outcome
                    }
                    open.removeAll { results[$0] != nil }
                }
                if open.isEmpty { break }
                let sending = open.map { changes[$0] }
                try await context.steps?.willSend(sending.map(\.recordID))
                for (place, answer) in zip(open, try await answers(to: sending, unsure: unsure)) {
                    results[place] = answer
                }
                break
            } catch {
                let left = open.map { changes[$0] }
                switch error.code {
                case _ where error.isOfItems && left.count > 1 && !isAtomic:
                    let middle = open.count / 2
                    do throws(OperationError) {
                        for half in [open[..<middle], open[middle...]] {
                            for (place, outcome) in zip(
                                half, try await outcomes(of: half.map { changes[$0] }, unsure: unsure))
                            { results[place] = outcome }
                        }
                    } catch {
                        // The half that failed has delivered its own outcomes.
                        await tellKnown(results, of: changes)
                        throw error
                    }
                    return results.map { $0 ?? .failure(.cancelled) }
                case .serverResponseLost where !Task.isCancelled && attempt < Self.attempts:
                    unsure.formUnion(left.map(\.recordID))
                    attempt += 1
                default:
                    // Callers must know which changes were made, and which may have been made.
                    if error.code == .serverResponseLost { unsure.formUnion(left.map(\.recordID)) }
                    let lost = OperationError.lost(error)
                    for place in open {
                        if unsure.contains(changes[place].recordID) {
                            results[place] = .failure(lost)
                        } else if error.isOfItems {
                            results[place] = .failure(error)
                        }
                    }
                    if error.isOfItems { break }
                    await tellKnown(results, of: changes)
                    if Task.isCancelled { throw error.code == .serverResponseLost ? .cancelled : error }
                    // A network error or a busy server would mean that nothing was done.
                    throw (error.isOfNetwork || error.isTemporary)
                        && open.contains { unsure.contains(changes[$0].recordID) } ? lost : error
                }
            }
            if results.allSatisfy({ $0 != nil }) { break }
        }
        return results.map { $0 ?? .failure(.cancelled) }
    }

    /// Delivers the known outcomes when the operation fails as a whole.
    private func tellKnown(_ results: [Outcome?], of changes: [Change]) async {
        let known = changes.indices.filter { results[$0] != nil }
        _ = await finish(known.map { changes[$0] }, known.compactMap { results[$0] })
    }

    /// Sends one request.
    /// - Parameter unsure: records whose changes may already have been made. A conflict of such a record may be the
    ///   change itself.
    private func answers(to changes: [Change], unsure: Set<RecordID>) async throws(OperationError) -> [Outcome] {
        let operations = changes.map { operation(of: $0) }
        let answers = try await context.request {
            try await $0.modify(operations, in: zoneID, atomic: isAtomic, desiredKeys: [])
        }
        var outcomes: [Outcome] = []
        var conflicts: [Int] = []
        for (index, answer) in answers.enumerated() {
            switch (answer, changes[index]) {
            case (.success(.saved(let received)), .save(let record)):
                outcomes.append(.success(record.saved(as: received)))
            case (.success, _): outcomes.append(.success(nil))
            // The record does not exist, so the deletion is done. In an atomic batch, this error may be the reason why
            // nothing was done.
            case (.failure(let error), .delete) where error.code == .notFound && (!isAtomic || changes.count == 1):
                outcomes.append(.success(nil))
            case (.failure(let error), let change):
                let failure = OperationError(error)
                if case .save = change, failure.code == .serverRecordChanged { conflicts.append(index) }
                outcomes.append(.failure(failure))
            }
        }
        // The error does not contain the server's record, so it is looked up. If the lookup fails, the conflict is
        // reported without it, and the other changes are still made.
        let current =
            conflicts.isEmpty ? [] : (try? await lookup(conflicts.map { changes[$0].recordID.recordName })) ?? []
        for (index, current) in zip(conflicts, current) {
            guard case .save(let record) = changes[index] else { continue }
            guard case .success(let server) = current else {
                // A new record keeps its conflict: the record that it conflicted with was deleted since. Nothing was
                // lost, and the next attempt succeeds.
                if case .failure(let error) = current, error.code == .notFound, record.recordChangeTag != nil {
                    outcomes[index] = .failure(OperationError(error))
                }
                continue
            }
            if unsure.contains(record.recordID), let arrived = arrived(record, in: server) {
                outcomes[index] = .success(arrived)
            } else if case .success(let serverRecord) = context.record(.success(server)) {
                outcomes[index] = outcomes[index].mapError { error in
                    var error = error
                    error.conflict = conflict(of: record, with: serverRecord)
                    return error
                }
            }
        }
        return outcomes
    }

    // MARK: Lost answers

    /// Compares changes whose answers were lost with the records on the server.
    /// - Returns: an outcome for each change; `nil` if the change was not made.
    private func findOut(_ changes: [Change]) async throws(OperationError) -> [Outcome?] {
        let current = try await lookup(changes.map(\.recordID.recordName))
        let found = zip(changes, current).map { change, current -> Outcome? in
            switch (change, current) {
            case (.delete, .success): return nil
            case (.delete, .failure(let error)) where error.code == .notFound || error.code == .zoneNotFound:
                return .success(nil)
            case (.save(let record), .failure(let error)) where error.code == .notFound:
                if savePolicy != .ifServerRecordUnchanged || record.recordChangeTag == nil { return nil }
                return .failure(OperationError(error))
            case (.save(let record), .success(let server)):
                if let arrived = arrived(record, in: server) { return .success(arrived) }
                if savePolicy != .ifServerRecordUnchanged || server.recordChangeTag == record.recordChangeTag {
                    return nil
                }
                guard case .success(let serverRecord) = context.record(.success(server)) else { return nil }
                var error = OperationError(.serverRecordChanged, "Another client saved the record")
                error.conflict = conflict(of: record, with: serverRecord)
                return .failure(error)
            // The lookup has to wait. The change may have been made.
            case (_, .failure(let error)) where error.isTemporary: return .failure(.lost(OperationError(error)))
            case (_, .failure(let error)): return .failure(OperationError(error))
            }
        }
        return isAtomic ? asWhole(changes, found, isUnmade: zip(changes, current).contains(where: isAsBefore)) : found
    }

    /// Returns whether the record on the server is the same as before the change.
    private func isAsBefore(_ change: Change, _ current: Result<ReceivedRecord, ServerError>) -> Bool {
        switch (change, current) {
        case (.save(let record), .success(let server)): server.recordChangeTag == record.recordChangeTag
        case (.save(let record), .failure(let error)):
            error.code == .notFound && (record.recordChangeTag == nil || savePolicy != .ifServerRecordUnchanged)
        case (.delete, .success): true
        case (.delete, .failure): false
        }
    }

    /// Resolves the outcomes of an atomic batch, which was made either as a whole or not at all.
    /// - Parameter isUnmade: true if at least one record is unchanged, so that the batch was not made. If another
    ///   record looks saved, another client saved the same values.
    private func asWhole(_ changes: [Change], _ found: [Outcome?], isUnmade: Bool) -> [Outcome?] {
        func isMade(_ change: Change, _ outcome: Outcome?) -> Bool {
            // A missing record does not prove the deletion: the record may have been missing before.
            if case .save = change, case .success? = outcome { true } else { false }
        }
        func isFailed(_ outcome: Outcome?) -> Bool { if case .failure? = outcome { true } else { false } }
        func isUnknown(_ outcome: Outcome?) -> Bool {
            if case .failure(let error)? = outcome { error.code == .serverResponseLost } else { false }
        }
        // Without this one, the others of the batch cannot be sent.
        if let unknown = found.first(where: isUnknown) { return found.map { $0 ?? unknown } }
        if !isUnmade, zip(changes, found).contains(where: isMade) {
            // The batch was made. Records that differ were saved by other clients since.
            return found.map { outcome in
                guard case .failure(let error)? = outcome else { return outcome ?? .success(nil) }
                return .success(error.conflict?.serverRecord)
            }
        }
        // Changes that were made are not sent again. The others are.
        guard found.contains(where: isFailed) else { return found }
        return found.map { isFailed($0) ? $0 : .failure(.batchFailed) }
    }

    private func lookup(_ recordNames: [Name]) async throws(OperationError) -> [Result<ReceivedRecord, ServerError>] {
        try await context.request { try await $0.lookup(recordNames, in: zoneID) }
    }

    /// The server's version of the record if it contains the values that were sent, perhaps with later changes to other
    /// keys; `nil` if it does not contain them.
    private func arrived(_ record: Record, in server: ReceivedRecord) -> Record? {
        guard server.recordChangeTag != record.recordChangeTag,
            case .success(let now) = context.record(.success(server))
        else { return nil }
        let keys = sentKeys(of: record)
        return record.isContained(in: now, keys: keys) ? record.found(as: now, keys: keys) : nil
    }

    private func conflict(of record: Record, with server: Record) -> OperationError.Conflict {
        OperationError.Conflict(
            serverRecord: server, clientRecord: record,
            ancestorRecord: record.recordChangeTag == nil ? nil : record.withoutChanges)
    }

    // MARK: Requests

    private func sentKeys(of record: Record) -> Set<Name> {
        savePolicy == .allKeys ? record.changedKeys.union(record.fields.keys) : record.changedKeys
    }

    private func operation(of change: Change) -> RecordOperation {
        switch change {
        case .delete(let recordID): return RecordOperation(.forceDelete, recordName: recordID.recordName)
        case .save(let record):
            let kind: RecordOperation.Kind =
                savePolicy != .ifServerRecordUnchanged
                ? .forceUpdate : record.recordChangeTag == nil ? .create : .update
            var operation = RecordOperation(
                kind, recordName: record.recordID.recordName, recordType: record.recordType,
                recordChangeTag: kind == .update ? record.recordChangeTag : nil)
            for key in sentKeys(of: record) {
                let content = record.fields[key]
                if let value = content?.value {
                    operation.fields[key] = FieldInput(value, isEncrypted: content?.isEncrypted ?? false)
                } else if kind != .create {
                    operation.fields[key] = .cleared
                }
            }
            if record.parentHasChanged { operation.parent = record.parent.map { .record($0) } ?? .cleared }
            if let share = record.sharing, record.replacedSharing != nil || record.recordChangeTag == nil {
                operation.share = ShareInput(publicPermission: share.publicPermission, participants: share.participants)
                // Whatever the policy, participants are saved only if no other client changed the share.
                operation.recordChangeTag = record.recordChangeTag
                if record.recordChangeTag == nil, let root = share.rootName {
                    operation.share.root = ShareInput.Root(recordName: root, recordChangeTag: rootTags[root])
                }
            }
            return operation
        }
    }

    // MARK: Files

    /// Uploads the files of a change, and returns the change with their receipts.
    private func uploadingFiles(of change: Change) async throws(OperationError) -> Change {
        guard case .save(var record) = change else { return change }
        if let error = record.unwritable { throw error }
        let keys = sentKeys(of: record).filter { key in record.fields[key]?.files.contains { $0.asset == nil } ?? false
        }.sorted()
        var uploads: [(key: Name, place: Int, file: FileBytes)] = []
        for key in keys {
            for (place, file) in (record.fields[key]?.files ?? []).enumerated() where file.asset == nil {
                guard let url = file.fileURL else {
                    throw OperationError(.assetFileNotFound, "The file in '\(key)' has no address")
                }
                do {
                    uploads.append((key, place, try await FileBytes(of: url)))
                } catch {
                    throw OperationError(.assetFileNotFound, "The file in '\(key)' can't be read: \(error)")
                }
            }
        }
        let total = uploads.reduce(0) { $0 + $1.file.size }
        var sent: Int64 = 0
        let recordID = record.recordID
        for upload in uploads {
            guard let content = record.fields[upload.key] else { continue }
            let request = UploadRequest(
                recordType: record.recordType, fieldName: upload.key, recordName: recordID.recordName)
            let asset = try await withProgress(of: total, after: sent, { await deliver(.progress(recordID, $0)) }) {
                (progress: @escaping @Sendable (Int64) -> Void) async throws(OperationError) -> Asset in
                try await context.transfer { database, files in
                    let slot = try await database.uploadSlots([request], in: zoneID)[0].get()
                    return try await files.upload(to: slot, size: upload.file.size, progress: { progress($0.bytes) }) {
                        upload.file
                    }
                }
            }
            sent += upload.file.size
            var files = content.files
            files[upload.place].asset = asset
            record = record.uploading(content.replacing(files), for: upload.key)
        }
        await deliver(.progress(record.recordID, 1))
        return .save(record)
    }
}

extension OperationError {
    /// True if the server refused the request because of one of its items. The other items may be valid.
    var isOfItems: Bool {
        code == .limitExceeded || serverError != nil && (code == .invalidArguments || code == .serverRejectedRequest)
    }

    /// - Parameter error: the reason why the outcome cannot be looked up.
    fileprivate static func lost(_ error: OperationError) -> OperationError {
        OperationError(
            .serverResponseLost, "The change may have been made: \(error.reason)", retryAfter: error.retryAfter)
    }

    fileprivate static let batchFailed = OperationError(
        .batchRequestFailed, "Another change of the atomic batch failed")
}
