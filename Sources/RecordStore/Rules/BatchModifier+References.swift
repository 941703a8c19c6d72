internal import JSON
internal import Records

// Cascading deletions and reference rules.

extension BatchModifier {
    /// Checks the references of a saved record as far as possible at this point.
    mutating func checkReferences(of fields: some Sequence<Field>, in zone: TransactionZone, at index: Int) throws {
        for field in fields {
            for reference in field.value.references where reference.action != .none {
                let isOwnZone = reference.zoneID.map { $0.zoneName == zone.zoneID.zoneName } ?? true
                guard isOwnZone else {
                    throw RecordError(
                        .badRequest,
                        "The reference in field '\(field.name)' has action \(reference.action.rawValue) and points into another zone; only NONE is allowed")
                }
                if reference.action == .validate {
                    deferred.add(.target(field: field.name), reference.recordName, in: zone, at: index)
                } else {
                    let limit = Self.deleteSelfLimit
                    if try transaction.deleteSelfCount(of: reference.recordName, in: zone.key, upTo: limit + 1) > limit {
                        throw RecordError(
                            .badRequest,
                            "The record '\(reference.recordName)' already is the target of \(Self.deleteSelfLimit) DELETE_SELF references, which is the limit")
                    }
                }
            }
        }
    }

    mutating func delete(_ operation: RecordOperation, in zone: TransactionZone, at index: Int) throws -> ModifyOutcome {
        guard let name = operation.recordName else {
            throw RecordError.unexpectedInput("Expected 'recordName' in the record of operation \(operation.kind.rawValue)")
        }
        let existing = try seen(transaction.record(named: name, in: zone.key), by: operation, in: zone)
        if let existing { try grants.checkDeleting(existing, transaction.schema) }
        try checkOplock(operation, existing)
        let recordID = RecordID(recordName: name, zoneID: zone.zoneID)
        guard let existing else { return .deleted(recordID) }
        // A share of a mirror gives no rights, and is deleted like any record.
        if let sharing = existing.sharing, sharing.share != nil, sharing.hierarchy != nil {
            if database == .shared { try leaveShare(existing, in: zone) } else { try stopSharing(existing, in: zone) }
            return .deleted(recordID)
        }
        let signature = signature
        let actions = try transaction.actions(on: name, in: zone.key)
        if actions.contains(.validate) { deferred.add(.notValidated, name, in: zone, at: index) }
        if let deletion = try transaction.delete(existing, in: zone.key, by: signature) {
            let target = FallenTarget(zone: zone.key, name: name, position: deletion.position, signature: signature)
            deferred.deletions.append(DeferredChecks.Deletion(index: index, target: target, zone: zone))
            if actions.contains(.deleteSelf) { try cascade(from: target, in: zone, at: index) }
        }
        try followDeletion(of: existing, in: zone)
        return .deleted(recordID)
    }

    /// Deletes records that refer to a deleted record with DELETE_SELF. Leaves the rest of a large cascade for later.
    private mutating func cascade(from target: FallenTarget, in zone: TransactionZone, at index: Int) throws {
        if cascadeRoom <= 0 || transaction.hasWorkedLong { return try transaction.leave([target]) }
        var cascade = Cascade(CascadeMemory([target]))
        let mayGoOn = { [cascadeRoom, transaction] in $0 < cascadeRoom && !transaction.hasWorkedLong }
        var isComplete = try cascade.run(in: transaction, while: mayGoOn)
        // Records that refer to the rest with VALIDATE may be deleted with it. This is checked after all operations. It must not depend on the
        // length of texts.
        if isComplete, cascade.queue.holdsRecords { isComplete = try cascade.force(in: transaction) { [cascadeRoom] in $0 < cascadeRoom } }
        cascadeRoom -= cascade.work
        for item in cascade.walks { walk.add(item) }
        for fallen in cascade.validated { deferred.add(.notValidated, fallen.name, in: zone, at: index) }
        if !isComplete { try transaction.leave(cascade.queue.targetsLeft) }
    }

    /// Errors of the deferred checks by operation. Each target is looked up once.
    func failures() throws -> [(index: Int, error: RecordError)] {
        var found: [DeferredChecks.Question: Bool] = [:]
        let unmet = try deferred.all.compactMap { check -> (index: Int, error: RecordError)? in
            let isMet = try found[check.question] ?? isMet(check)
            found[check.question] = isMet
            return isMet ? nil : (check.index, check.failure)
        }
        return try unmet + deferred.deletions.compactMap { deletion in try abandonment(by: deletion).map { (deletion.index, $0) } }
    }

    /// The error for a deleted record that still has a child. Children that refer to it with DELETE_SELF don't count: if they are still there,
    /// a long cascade deletes them later.
    private func abandonment(by deletion: DeferredChecks.Deletion) throws -> RecordError? {
        let (target, pageSize) = (deletion.target, 100)
        var doomed: Set<Name>?
        var after: Name?
        while true {
            let page = try transaction.children(of: target.name, in: target.zone, after: after, limit: pageSize)
            for child in page {
                let fallen = try doomed ?? Set(transaction.doomed(by: target))
                doomed = fallen
                if fallen.contains(child) { continue }
                let record = try transaction.record(named: child, in: target.zone)
                // The error must not reveal a record that the caller can't read.
                let isSeen = try record.map { try (deletion.zone.guest?.permission(for: $0) != nil || deletion.zone.guest == nil) && grants.canRead($0, transaction.schema) }
                return RecordError(
                    .validatingReferenceError,
                    "The record '\(target.name)' is the parent of \(isSeen == true ? "'\(child)'" : "another one"); delete its children first, or in the same request")
            }
            guard page.count == pageSize else { return nil }
            after = page.last
        }
    }

    private func isMet(_ check: DeferredChecks.Check) throws -> Bool {
        let (name, zone) = (check.question.name, check.zone)
        switch check.question.kind {
        case .reach:
            guard let guest = zone.guest else { return true }
            return try transaction.record(named: name, in: zone.key).map { guest.canWrite($0) } ?? true
        case .target: return try transaction.record(orUser: name, in: zone, of: database, at: now) != nil
        case .parent: return try transaction.record(named: name, in: zone.key) != nil
        case .notValidated:
            return try transaction.record(named: name, in: zone.key) != nil || !transaction.actions(on: name, in: zone.key).contains(.validate)
        }
    }
}
