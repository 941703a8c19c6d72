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
        if let deletion = try transaction.delete(existing, in: zone.key, by: signature), actions.contains(.deleteSelf) {
            try cascade(from: FallenTarget(zone: zone.key, name: name, position: deletion.position, signature: signature), in: zone, at: index)
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
        for fallen in cascade.validated { deferred.add(.notValidated, fallen.name, in: zone, at: index) }
        if !isComplete { try transaction.leave(cascade.queue.targetsLeft) }
    }

    /// Errors of the deferred checks by operation. Each target is looked up once.
    func failures() throws -> [(index: Int, error: RecordError)] {
        var found: [DeferredChecks.Question: Bool] = [:]
        return try deferred.all.compactMap { check in
            let isMet = try found[check.question] ?? isMet(check)
            found[check.question] = isMet
            return isMet ? nil : (check.index, check.failure)
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
