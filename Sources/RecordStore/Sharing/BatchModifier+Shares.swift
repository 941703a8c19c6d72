public import Records

// Sharing: the effect of saves and deletions on shares, and the rights of guests.

extension BatchModifier {
    // MARK: Guests

    /// The record to which an operation applies: the stored record, unless the caller is a guest who does not see it.
    /// - Throws: `RecordError` ACCESS_DENIED if a guest may not do this; CONFLICT if the name is taken by a record
    ///   that the guest does not see.
    func permitted(
        _ record: StoredRecord?, by operation: RecordOperation, in zone: TransactionZone
    ) throws -> StoredRecord? {
        // Leaving a share needs no right.
        let isLeaving = operation.kind.isDeletion && record?.sharing?.share != nil
        guard zone.canWrite || isLeaving else { throw ShareRules.writingRefused }
        guard let guest = zone.guest else { return record }
        guard let record else {
            if operation.recordType == Share.recordType, !operation.kind.isDeletion { throw ShareRules.creatingRefused }
            return nil
        }
        guard let permission = guest.permission(for: record) else {
            guard guest.canWrite else { throw ShareRules.writingRefused }
            switch operation.kind {
            case .create: throw RecordError(known: .recordExists)
            case .forceUpdate, .forceReplace: throw ShareRules.writingRefused
            case .update, .replace, .delete, .forceDelete: return nil
            }
        }
        if isLeaving { return record }
        let isRoot = record.sharing?.shareName != nil
        guard permission == .readWrite, !(isRoot && operation.kind.isDeletion) else { throw ShareRules.writingRefused }
        let parent: Name? =
            switch operation.parent {
            case .unchanged: operation.kind.replacesFields ? nil : record.parent
            case .cleared: nil
            case .record(let name): name
            }
        if isRoot, parent != record.parent { throw ShareRules.writingRefused }
        return record
    }

    /// - Throws: `RecordError` ACCESS_DENIED if a guest makes a root depend on another record, because the share would
    ///   end when that record is deleted.
    func checkDependence(of fields: some Sequence<Field>, before: [Name: Field]) throws {
        func targets(_ field: Field) -> [Name] {
            field.value.references.filter { $0.action == .deleteSelf }.map(\.recordName)
        }
        let known = Set(before.values.flatMap(targets))
        for field in fields where !known.isSuperset(of: targets(field)) {
            throw RecordError(
                .accessDenied,
                "The reference in field '\(field.name)' has action DELETE_SELF; in the root of a share, only its owner may save that. Use NONE"
            )
        }
    }

    // MARK: Saves

    /// The sharing part of a record after a save.
    mutating func sharing(
        after operation: RecordOperation, of name: Name, _ typeName: Name, parent: Name?,
        replacing existing: StoredRecord?, in zone: TransactionZone
    ) throws -> RecordSharing? {
        if typeName == Share.recordType { return try share(after: operation, of: name, replacing: existing, in: zone) }
        let before = existing?.sharing
        guard
            zone.hasHierarchies || hasBegunHierarchy || before != nil || operation.createsShortGUID
                || operation.provenance?.shortGUID != nil
        else { return nil }
        let shortGUID =
            try before?.shortGUID ?? free(operation.provenance?.shortGUID)
            ?? (operation.createsShortGUID ? ShareRules.newShortGUID() : nil)
        let hierarchy: Int64? =
            if let existing, try transaction.isRoot(existing) {
                before?.hierarchy
            } else if let parent {
                try transaction.hierarchy(below: transaction.record(named: parent, in: zone.key))
            } else {
                nil
            }
        if shortGUID == nil, before?.shareName == nil, hierarchy == nil { return nil }
        return RecordSharing(shortGUID: shortGUID, shareName: before?.shareName, hierarchy: hierarchy)
    }

    /// Updates hierarchies and views after the save of a record.
    mutating func followSave(
        of saved: StoredRecord, replacing existing: StoredRecord?, by operation: RecordOperation,
        in zone: TransactionZone, at index: Int
    ) throws {
        if zone.guest != nil {
            deferred.add(.reach(isNew: existing == nil), saved.recordID.recordName, in: zone, at: index)
        }
        let (before, after) = (existing?.sharing?.hierarchy, saved.sharing?.hierarchy)
        if before == nil, after == nil { return }
        if let share = saved.sharing?.share, let after {
            if let former = existing?.sharing?.share {
                try admit(share, after: former, to: after)
            } else {
                // A restored share has guests at once. They are admitted before the records that they see are
                // processed.
                if let hierarchy = try transaction.hierarchy(after) {
                    for user in share.guests {
                        _ = try transaction.admit(user, to: hierarchy, share.permission(of: user))
                    }
                }
                if let root = share.rootName {
                    try begin(after, at: root, for: saved, in: zone)
                    if operation.provenance == nil { checkShares(around: root, in: zone, at: index) }
                }
            }
        }
        // Other saves of this kind are refused by the checks at the end of the batch. A restored record may be its own
        // ancestor as in earlier versions, but no version permitted that within a hierarchy.
        if operation.provenance != nil, after != nil, saved.parent != existing?.parent,
            try isCutOff(saved, in: zone.key)
        {
            throw ParentOrder.cycle(saved.recordID.recordName)
        }
        let isMoved = before != after || saved.parent != existing?.parent
        let change = try transaction.update(saved, in: zone.key, wasElsewhere: before != nil && isMoved, by: signature)
        guard isMoved || change.isOfMembers else { return }
        let name = saved.recordID.recordName
        // Most new records have no children yet.
        if existing == nil, try transaction.children(of: name, in: zone.key, after: nil, limit: 1).isEmpty { return }
        // A guest may have been admitted or removed while a walk to or from the record's place was not finished. The
        // records below the record must then be processed like the record itself.
        if before != after || change.isOfMembers {
            walk.add(
                HierarchyWalk.Item(zone: zone.key, name: name, view: nil, hides: before != nil, signature: signature))
        }
        if !isMoved { return }
        // Unfinished walks that have already passed the record's place, or no longer reach it, must also process the
        // records below it.
        for view in try transaction.unfinishedViews(ofZone: zone.key).union(
            walk.items.lazy.filter { $0.zone == zone.key }.compactMap(\.view)
        ).sorted() {
            walk.add(HierarchyWalk.Item(zone: zone.key, name: name, view: view, hides: true, signature: signature))
        }
    }

    // MARK: Parents

    /// Adds the checks for a record that was saved with another parent. They run after all operations. A restored
    /// record may be stored as it was, in any order.
    mutating func checkPlace(
        of saved: StoredRecord, replacing existing: StoredRecord?, by operation: RecordOperation,
        in zone: TransactionZone, at index: Int
    ) {
        guard operation.provenance == nil, case .record(let parent) = operation.parent else { return }
        let name = saved.recordID.recordName
        if existing?.parent != parent {
            deferred.add(.acyclic, name, in: zone, at: index)
            if zone.hasHierarchies || hasBegunHierarchy { checkShares(around: name, in: zone, at: index) }
        }
        deferred.add(.parent, parent, in: zone, at: index)
    }

    /// True for a record that is about to get its first child. Apple's page of `CKRecord.recordChangeTag` says that
    /// "in some situations" a parent gets a new tag when a child is saved; users report this for the first child, not
    /// for later ones. Excluded are the public database, in which nothing is shared, and mirrors, which use the tags
    /// of their origin.
    func isNewParent(_ parent: Name, in zone: TransactionZone) throws -> Bool {
        if database == .public || zone.isMirror { return false }
        return try transaction.children(of: parent, in: zone.key, after: nil, limit: 1).isEmpty
    }

    /// Gives the records that became parents a new change tag, unless the request saved them itself.
    mutating func renewParents() throws {
        defer { newParents = [] }
        for (name, zone) in newParents where renew(name, in: zone.key) {
            guard let record = try transaction.record(named: name, in: zone.key) else { continue }
            let draft = try RecordDraft(
                of: record, replacing: record, modified: signature, recordChangeTag: nil, sharing: record.sharing)
            try transaction.update(
                transaction.save(draft, replacing: record, in: zone.key), in: zone.key, wasElsewhere: false,
                by: signature)
        }
    }

    /// Adds the checks that a record is shared only once: Apple's page of `CKError.alreadyShared` names a share above
    /// the record and one below it.
    private mutating func checkShares(around name: Name, in zone: TransactionZone, at index: Int) {
        deferred.add(.noShareAbove, name, in: zone, at: index)
        deferred.add(.noShareBelow, name, in: zone, at: index)
    }

    func isAboveItself(_ name: Name, in zone: Int64) throws -> Bool {
        // Most records have no children, and some have many ancestors.
        if try transaction.children(of: name, in: zone, after: nil, limit: 1).isEmpty { return false }
        return try ancestor(of: name, in: zone) { $0.recordID.recordName == name } != nil
    }

    /// True if a record is among its own ancestors, so that it would remain in its hierarchy without a path to the
    /// root.
    private func isCutOff(_ record: StoredRecord, in zone: Int64) throws -> Bool {
        let name = record.recordID.recordName
        if try transaction.isRoot(record) { return false }
        return try ancestor(of: name, in: zone) { try $0.recordID.recordName == name || isRootOfOthers($0) }?.recordID
            .recordName == name
    }

    func isRoot(_ name: Name, in zone: Int64) throws -> Bool {
        try transaction.record(named: name, in: zone).map(isRootOfOthers) ?? false
    }

    func isBelowRoot(_ name: Name, in zone: Int64) throws -> Bool {
        try ancestor(of: name, in: zone, isRootOfOthers) != nil
    }

    /// True if a record below this one is the root of a share. Searches upward from the roots, because they are fewer
    /// than the records below this one.
    func isAboveRoot(_ name: Name, in zone: Int64) throws -> Bool {
        if try transaction.children(of: name, in: zone, after: nil, limit: 1).isEmpty { return false }
        return try transaction.hierarchies(in: zone).contains { hierarchy in
            guard let root = hierarchy.rootName, root != name else { return false }
            return try ancestor(of: root, in: zone) { $0.recordID.recordName == name } != nil
        }
    }

    /// True for the root of a hierarchy. A record that contains a share does not share the records whose parent it is.
    private func isRootOfOthers(_ record: StoredRecord) throws -> Bool {
        try record.sharing?.share == nil && transaction.isRoot(record)
    }

    /// The nearest ancestor that satisfies a condition. The parents may form a circle, because earlier versions
    /// permitted that.
    private func ancestor(of name: Name, in zone: Int64, _ isMeant: (StoredRecord) throws -> Bool) throws
        -> StoredRecord?
    {
        var next = try transaction.record(named: name, in: zone)?.parent
        var passed: Set<Name> = []
        while let name = next, passed.insert(name).inserted,
            let ancestor = try transaction.record(named: name, in: zone)
        {
            if try isMeant(ancestor) { return ancestor }
            next = ancestor.parent
        }
        return nil
    }

    mutating func followDeletion(of record: StoredRecord, in zone: TransactionZone) throws {
        for item in try transaction.followDeletion(of: record, in: zone.key, by: signature) { walk.add(item) }
    }

    /// Walks through the trees below the records of the operations, as far as the limit of a request permits.
    mutating func finishWalk() throws {
        if walk.items.isEmpty { return }
        let isFinished = try walk.run(in: transaction) { [transaction, walkLimit] in
            $0 < walkLimit && !transaction.hasWorkedLong
        }
        if !isFinished { try transaction.enqueue(walk.items) }
        walk = HierarchyWalk()
    }

    // MARK: Shares

    /// The share after a save.
    private mutating func share(
        after operation: RecordOperation, of name: Name, replacing existing: StoredRecord?, in zone: TransactionZone
    ) throws -> RecordSharing {
        if let sharing = existing?.sharing, let share = sharing.share {
            return try changed(share, sharing, by: operation, replacing: existing)
        }
        guard database == .private else { throw ShareRules.creatingRefused }
        let others = try transaction.hierarchies(in: zone.key)
        if others.contains(where: { $0.rootName == nil }) { throw ShareRules.zoneAlreadyShared }
        var shortGUID = operation.provenance?.shortGUID
        var rootName: Name?
        if name == Share.zoneWideName {
            if operation.share.root != nil {
                throw RecordError(.badRequest, "The record '\(name)' shares its zone; leave out 'forRecord'")
            }
            if !others.isEmpty { throw ShareRules.zoneAlreadyShared }
        } else {
            guard let given = operation.share.root else {
                throw RecordError.unexpectedInput(
                    "Expected 'forRecord' in the share '\(name)'; without it, '\(Share.zoneWideName)' shares the zone")
            }
            guard let root = try transaction.record(named: given.recordName, in: zone.key),
                root.recordType != Share.recordType
            else { throw ShareRules.noRoot }
            if let tag = given.recordChangeTag, Name(tag) != Name(root.recordChangeTag) {
                throw RecordError(known: .staleTag)
            }
            if try transaction.isRoot(root) { throw ShareRules.alreadyShared }
            rootName = given.recordName
            shortGUID = root.sharing?.shortGUID ?? shortGUID
        }
        let link = try free(shortGUID) ?? ShareRules.newShortGUID()
        let empty = Share(
            rootName: rootName, shortGUID: link, participants: [ShareRules.owner(caller.userRecordName, at: now)])
        let share =
            operation.provenance == nil
            ? try ShareRules.apply(operation.share, to: empty) : try ShareRules.restore(operation.share, over: empty)
        let number = try transaction.makeHierarchy(in: zone.key, rootName: rootName, shareName: name, shortGUID: link)
        hasBegunHierarchy = true
        return RecordSharing(shortGUID: link, share: share, hierarchy: number)
    }

    /// The short GUID of a link, unless another share already has it.
    private func free(_ shortGUID: String?) throws -> String? {
        guard let shortGUID, try transaction.hierarchy(shortGUID: shortGUID) == nil else { return nil }
        return shortGUID
    }

    private func changed(
        _ share: Share, _ sharing: RecordSharing, by operation: RecordOperation, replacing existing: StoredRecord?
    ) throws -> RecordSharing {
        if operation.provenance != nil, database == .private {
            if let root = operation.share.root, root.recordName != share.rootName { throw ShareRules.otherRoot }
            return RecordSharing(
                shortGUID: share.shortGUID, share: try ShareRules.restore(operation.share, over: share),
                hierarchy: sharing.hierarchy)
        }
        if operation.share.participants != nil {
            // This applies to every kind of operation, so that nobody undoes an invitation or an acceptance without
            // having seen it.
            guard let tag = operation.recordChangeTag else {
                throw RecordError.unexpectedInput(
                    "Expected 'recordChangeTag' in a save of a share with 'participants', which are saved only if unchanged"
                )
            }
            if Name(tag) != existing.map({ Name($0.recordChangeTag) }) { throw RecordError(known: .staleTag) }
        }
        let mayManage =
            share.owner?.userRecordName == caller.userRecordName
            || share.participant(caller.userRecordName)?.role == .administrator
        let after: Share
        do { after = try ShareRules.apply(operation.share, to: share) } catch {
            throw mayManage ? error : ShareRules.ownersOnly
        }
        if after != share, !mayManage { throw ShareRules.ownersOnly }
        return RecordSharing(shortGUID: share.shortGUID, share: after, hierarchy: sharing.hierarchy)
    }

    /// Makes a record the root of a hierarchy.
    private mutating func begin(_ number: Int64, at rootName: Name, for share: StoredRecord, in zone: TransactionZone)
        throws
    {
        guard let root = try transaction.record(named: rootName, in: zone.key) else { throw ShareRules.noRoot }
        try resave(
            root,
            RecordSharing(shortGUID: share.sharing?.shortGUID, shareName: share.recordID.recordName, hierarchy: number),
            in: zone.key)
    }

    /// Saves a record with only its sharing changed, which gives it a new change tag.
    private mutating func resave(_ record: StoredRecord, _ sharing: RecordSharing?, in zone: Int64) throws {
        let draft = try RecordDraft(
            of: record, replacing: record, modified: record.modified, recordChangeTag: nil, sharing: sharing)
        let saved = try transaction.save(draft, replacing: record, in: zone)
        renew(record.recordID.recordName, in: zone)
        let isElsewhere = record.sharing?.hierarchy != sharing?.hierarchy
        try transaction.update(
            saved, in: zone, wasElsewhere: isElsewhere && record.sharing?.hierarchy != nil, by: signature)
        if isElsewhere {
            walk.add(
                HierarchyWalk.Item(
                    zone: zone, name: record.recordID.recordName, view: nil, hides: record.sharing?.hierarchy != nil,
                    signature: signature))
        }
    }

    /// Updates the rights of the guests after a share was changed, and removes users who are no longer guests.
    private mutating func admit(_ share: Share, after former: Share, to number: Int64) throws {
        guard let hierarchy = try transaction.hierarchy(number) else { return }
        for user in former.members where !share.guests.contains(user) { try dismiss(user, from: hierarchy) }
        for user in share.guests where share.permission(of: user) != former.permission(of: user) {
            let view = try transaction.admit(user, to: hierarchy, share.permission(of: user))
            // The user was added with a restored share, or had accepted without having a right.
            guard !former.guests.contains(user), let rootName = hierarchy.rootName else { continue }
            if let root = try transaction.record(named: rootName, in: hierarchy.zone) {
                try transaction.show(root, in: view)
            }
            walk.add(
                HierarchyWalk.Item(zone: hierarchy.zone, name: rootName, view: view, hides: false, signature: signature)
            )
        }
    }

    private mutating func dismiss(_ user: Name, from hierarchy: Hierarchy) throws {
        guard let view = try transaction.dismiss(user, from: hierarchy) else { return }
        for item in try transaction.dismissal(of: view, from: hierarchy, by: signature) { walk.add(item) }
    }

    /// Deletes a share. Its records remain with their owner, and the root gets a new change tag.
    mutating func stopSharing(_ share: StoredRecord, in zone: TransactionZone) throws {
        let hierarchy = try share.sharing?.hierarchy.flatMap { try transaction.hierarchy($0) }
        if let hierarchy {
            for item in try transaction.endShare(hierarchy, by: signature) { walk.add(item) }
        }
        _ = try transaction.delete(share, in: zone.key, by: signature)
        guard let rootName = hierarchy?.rootName, let root = try transaction.record(named: rootName, in: zone.key)
        else { return }
        let outer = try root.parent.flatMap {
            try transaction.hierarchy(below: transaction.record(named: $0, in: zone.key))
        }
        try resave(root, RecordSharing(shortGUID: root.sharing?.shortGUID, hierarchy: outer), in: zone.key)
    }

    /// Ends the caller's participation in all shares of a zone, including those that give no right at present.
    /// - Throws: `RecordError` ACCESS_DENIED if the caller participates in no share.
    public mutating func leave(_ zoneID: ZoneID) throws -> ZoneID {
        let zone = try transaction.zone(zoneID)
        let shares = try transaction.hierarchies(in: zone.key).compactMap {
            try transaction.record(named: $0.shareName, in: zone.key)
        }
        .filter { $0.sharing?.share?.members.contains(caller.userRecordName) ?? false }
        if shares.isEmpty { throw ZoneRules.ownersOnly }
        for share in shares { try leaveShare(share, in: zone) }
        try finishWalk()
        return zone.zoneID
    }

    /// Ends the participation of a user who accepted the share, even without a right at present. The participant
    /// remains in the share with the status REMOVED.
    mutating func leaveShare(_ record: StoredRecord, in zone: TransactionZone) throws {
        guard var share = record.sharing?.share, let number = record.sharing?.hierarchy,
            let hierarchy = try transaction.hierarchy(number),
            share.members.contains(caller.userRecordName)
        else { throw RecordError.recordNotFound }
        for index in share.participants.indices where share.participants[index].user == caller.userRecordName {
            share.participants[index].status = .removed
        }
        try dismiss(caller.userRecordName, from: hierarchy)
        try resave(record, RecordSharing(shortGUID: share.shortGUID, share: share, hierarchy: number), in: zone.key)
    }
}
