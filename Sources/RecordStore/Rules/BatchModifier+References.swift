internal import Records

// Cascading deletions and reference rules.

extension BatchModifier {
    /// Checks the references of a saved record as far as possible at this point.
    /// - Parameter before: the fields of the replaced record; `nil` for a restored record. References that remain
    ///   unchanged or are restored may name another owner of the zone, because earlier versions did not check it.
    mutating func checkReferences(
        of fields: some Sequence<Field>, replacing before: [Name: Field]?, in zone: TransactionZone, at index: Int
    ) throws {
        for field in fields {
            let isKept = before.map { $0[field.name]?.value == field.value } ?? true
            for reference in field.value.references where reference.action != .none {
                let isOwnZone =
                    reference.zoneID.map { isKept ? $0.zoneName == zone.zoneID.zoneName : $0.isSame(as: zone.zoneID) }
                    ?? true
                guard isOwnZone else {
                    throw RecordError(
                        .badRequest,
                        "The reference in field '\(field.name)' has action \(reference.action.rawValue) and points into another zone; only NONE is allowed"
                    )
                }
                if reference.action == .validate {
                    deferred.add(.target(field: field.name), reference.recordName, in: zone, at: index)
                } else {
                    let limit = Self.deleteSelfLimit
                    if try transaction.deleteSelfCount(of: reference.recordName, in: zone.key, upTo: limit + 1) > limit
                    {
                        throw RecordError(
                            .badRequest,
                            "The record '\(reference.recordName)' already is the target of \(Self.deleteSelfLimit) DELETE_SELF references, which is the limit"
                        )
                    }
                }
            }
        }
    }

    mutating func delete(_ operation: RecordOperation, in zone: TransactionZone, at index: Int) throws -> ModifyOutcome
    {
        guard let name = operation.recordName else {
            throw RecordError.unexpectedInput(
                "Expected 'recordName' in the record of operation \(operation.kind.rawValue)")
        }
        let existing = try permitted(transaction.record(named: name, in: zone.key), by: operation, in: zone)
        if let existing { try grants.checkDeleting(existing, transaction.schema) }
        // A cascade of the same request may already have deleted the record.
        try checkOplock(operation, existing?.recordChangeTag ?? cascaded[zone.key]?[name])
        let recordID = RecordID(recordName: name, zoneID: zone.zoneID)
        guard let existing else { return .deleted(recordID) }
        // A share in a mirror gives no rights, and is deleted like any other record.
        if let sharing = existing.sharing, sharing.share != nil, sharing.hierarchy != nil {
            if database == .shared { try leaveShare(existing, in: zone) } else { try stopSharing(existing, in: zone) }
            return .deleted(recordID)
        }
        let signature = signature
        let actions = try transaction.actions(on: name, in: zone.key)
        if actions.contains(.validate) { deferred.add(.notValidated, name, in: zone, at: index) }
        if let deletion = try transaction.delete(existing, in: zone.key, by: signature) {
            let target = DeletedTarget(zone: zone.key, name: name, position: deletion.position, signature: signature)
            let isComplete = try !actions.contains(.deleteSelf) || cascade(from: target, in: zone, at: index)
            deferred.deletions.append(
                DeferredChecks.Deletion(index: index, name: name, zone: zone, isComplete: isComplete))
        }
        try followDeletion(of: existing, in: zone)
        return .deleted(recordID)
    }

    /// Deletes records that refer to a deleted record with DELETE_SELF.
    /// - Returns: `false` if the rest of a large cascade will be processed later.
    private mutating func cascade(from target: DeletedTarget, in zone: TransactionZone, at index: Int) throws -> Bool {
        if cascadeRoom <= 0 || transaction.hasWorkedLong {
            try transaction.enqueue([target])
            return false
        }
        var cascade = Cascade(CascadeMemory([target]))
        let mayGoOn = { [cascadeRoom, transaction] in $0 < cascadeRoom && !transaction.hasWorkedLong }
        var isComplete = try cascade.run(in: transaction, while: mayGoOn)
        // Records that refer to the remaining records with VALIDATE may themselves be deleted. This is checked after
        // all operations. The result must not depend on the length of texts.
        if isComplete, cascade.queue.holdsRecords {
            isComplete = try cascade.force(in: transaction) { [cascadeRoom] in $0 < cascadeRoom }
        }
        cascadeRoom -= cascade.work
        for item in cascade.walks { walk.add(item) }
        for record in cascade.cascaded { cascaded[zone.key, default: [:]][record.name] = record.recordChangeTag }
        for cascaded in cascade.validated { deferred.add(.notValidated, cascaded.name, in: zone, at: index) }
        if !isComplete { try transaction.enqueue(cascade.queue.targetsLeft) }
        return isComplete
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

    /// Errors of the deletions that would leave a child without its parent, by operation.
    func abandonments() throws -> [(index: Int, error: RecordError)] {
        try deferred.deletions.compactMap { deletion in try abandonment(by: deletion).map { (deletion.index, $0) } }
    }

    private func abandonment(by deletion: DeferredChecks.Deletion) throws -> RecordError? {
        let (name, zone, pageSize) = (deletion.name, deletion.zone, 100)
        var after: Name?
        while true {
            let page = try transaction.children(of: name, in: zone.key, after: after, limit: pageSize)
            for child in page {
                guard let record = try transaction.record(named: child, in: zone.key),
                    try deletion.isComplete || !mayDelete(record, in: zone)
                else { continue }
                // The error must not reveal a record that the caller can't read.
                let isSeen =
                    try zone.guest.map { $0.permission(for: record) != nil } ?? true
                    && grants.canRead(record, transaction.schema)
                return RecordError(
                    .validatingReferenceError,
                    "The record '\(name)' is the parent of \(isSeen ? "'\(child)'" : "another one"); delete its children first, or in the same request"
                )
            }
            guard page.count == pageSize else { return nil }
            after = page.last
        }
    }

    /// True if the rest of a cascade may delete a record.
    private func mayDelete(_ record: StoredRecord, in zone: TransactionZone) throws -> Bool {
        if zone.guest != nil, try transaction.isRoot(record) { return false }
        return try record.fields.decoded().contains { field in
            field.value.references.contains { $0.action == .deleteSelf }
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
        case .acyclic: return try !isAboveItself(name, in: zone.key)
        case .noShareAbove: return try !isRoot(name, in: zone.key) || !isBelowRoot(name, in: zone.key)
        case .noShareBelow:
            return try !isRoot(name, in: zone.key) && !isBelowRoot(name, in: zone.key)
                || !isAboveRoot(name, in: zone.key)
        case .notValidated:
            return try transaction.record(named: name, in: zone.key) != nil
                || !transaction.actions(on: name, in: zone.key).contains(.validate)
        }
    }
}

// MARK: - Deferred checks

/// Reference checks that run after all operations of a batch.
struct DeferredChecks {
    /// A condition that a record must satisfy.
    enum Rule {
        /// The record is in a hierarchy in which the guest may write.
        case reach(isNew: Bool)
        /// The record exists, because a field refers to it with VALIDATE.
        case target(field: Name)
        /// The record exists, because it is the parent of a saved record.
        case parent
        /// The record exists again, or no VALIDATE reference to it is left.
        case notValidated
        /// The record is not among its own ancestors.
        case acyclic
        /// The record is not the root of a share below the root of another one.
        case noShareAbove
        /// The record is not shared, or has no root of another share below it.
        case noShareBelow
    }

    enum Kind: Hashable { case reach, target, parent, notValidated, acyclic, noShareAbove, noShareBelow }

    /// Identifies checks with the same result.
    struct Question: Hashable {
        let kind: Kind
        let zone: Int64
        let name: Name
    }

    struct Check {
        let index: Int
        let rule: Rule
        let zone: TransactionZone
        let question: Question
    }

    /// A deleted record, which must have no children after all operations.
    struct Deletion {
        let index: Int
        let name: Name
        let zone: TransactionZone
        /// False if a cascade continues later, which may delete children.
        let isComplete: Bool
    }

    private(set) var all: [Check] = []
    var deletions: [Deletion] = []

    mutating func add(_ rule: Rule, _ name: Name, in zone: TransactionZone, at index: Int) {
        all.append(
            Check(index: index, rule: rule, zone: zone, question: Question(kind: rule.kind, zone: zone.key, name: name))
        )
    }
}

extension DeferredChecks.Rule {
    fileprivate var kind: DeferredChecks.Kind {
        switch self {
        case .reach: .reach
        case .target: .target
        case .parent: .parent
        case .notValidated: .notValidated
        case .acyclic: .acyclic
        case .noShareAbove: .noShareAbove
        case .noShareBelow: .noShareBelow
        }
    }
}

extension DeferredChecks.Check {
    var failure: RecordError {
        switch rule {
        case .reach(let isNew): isNew ? ShareRules.creatingRefused : ShareRules.writingRefused
        case .target(let field):
            RecordError(
                .validatingReferenceError,
                "The reference in field '\(field)' has action VALIDATE and its target '\(question.name)' does not exist"
            )
        case .parent:
            RecordError(
                .validatingReferenceError,
                "The parent '\(question.name)' does not exist in the zone; save it first, or in the same request")
        case .notValidated: RecordError(known: .stillReferenced)
        case .acyclic: ParentOrder.cycle(question.name)
        case .noShareAbove:
            RecordError(
                .badRequest,
                "The record '\(question.name)' can't have a share: it has a parent, and its parent has a share. Stop one of the shares first, or clear the parent"
            )
        case .noShareBelow:
            RecordError(
                .badRequest,
                "The record '\(question.name)' can't be shared: it is a parent, and one of its children has a share. Stop that share first, or clear its parent"
            )
        }
    }
}
