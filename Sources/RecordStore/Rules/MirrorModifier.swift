public import Records

/// The rules of a mirror, shared by all engines: versions from the origin replace those in the mirror, unless an edit
/// is waiting to be sent.
public struct MirrorModifier {
    private let transaction: any MirrorTransaction
    private let now: Timestamp

    public init(_ transaction: any MirrorTransaction, now: Timestamp) {
        self.transaction = transaction
        self.now = now
    }

    /// Applies a batch within the engine's open transaction.
    public func apply(_ batch: MirrorBatch) throws -> MirrorOutcome {
        var outcome = MirrorOutcome()
        for (name, value) in batch.marks { try transaction.mark(name, value) }
        for type in batch.types {
            let extended = transaction.schema.types[type.name]?.adding(type) ?? type
            if extended != transaction.schema.types[type.name] { try transaction.grow(extended) }
        }
        guard let zoneID = batch.zoneID else { return outcome }
        let zone = try transaction.zone(zoneID)
        guard try transaction.makeMirror(zone.key) else {
            throw RecordError(
                .conflict, "The zone '\(zoneID.zoneName)' has records of its own; mirror into a container without it")
        }
        if let guest = batch.guest { try transaction.admit(guest, toMirror: zone.key) }
        for change in batch.changes { try apply(change, in: zone, &outcome) }
        for version in batch.sending {
            let name = version.recordID.recordName
            guard var edit = try transaction.unsentEdit(of: name, in: zone.key) else { continue }
            edit.sent = version
            try transaction.keep(edit, of: name, in: zone.key)
        }
        if batch.clearsOriginNames { try transaction.clearOriginNames(in: zone.key) }
        if !batch.originNames.isEmpty { try transaction.addOriginNames(batch.originNames, in: zone.key) }
        return outcome
    }

    /// Ends a conflict within the engine's open transaction.
    public func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions? = nil)
        throws
    {
        let zone = try transaction.zone(recordID.zoneID)
        let name = recordID.recordName
        guard var edit = try transaction.unsentEdit(of: name, in: zone.key), let theirs = edit.theirs else {
            throw RecordError(.notFound, "The record '\(name)' has no edit in conflict")
        }
        if let versions, versions != ConflictVersions(of: edit) {
            throw RecordError(
                .conflict, "The record '\(name)' changed meanwhile, here or in the origin; look at its versions again")
        }
        switch version {
        case .theirs:
            try transaction.keep(nil, of: name, in: zone.key)
            var outcome = MirrorOutcome()
            try adopt(MirrorBatch.Change(theirs, replacesSame: true), in: zone, &outcome)
        case .mine:
            (edit.base, edit.theirs, edit.sent) = (theirs.record, nil, nil)
            try transaction.keep(edit, of: name, in: zone.key)
        }
    }

    private func apply(_ change: MirrorBatch.Change, in zone: TransactionZone, _ outcome: inout MirrorOutcome) throws {
        var change = change
        let name = change.version.recordID.recordName
        guard var edit = try transaction.unsentEdit(of: name, in: zone.key) else {
            return try adopt(change, in: zone, &outcome)
        }
        switch try edit.verdict(on: change) {
        case .adopt:
            try transaction.keep(nil, of: name, in: zone.key)
            change.replacesSame = true
            try adopt(change, in: zone, &outcome)
            outcome.sent += 1
        case .ignore:
            outcome.unchanged += 1
        case .rebase:
            (edit.base, edit.theirs, edit.sent) = (change.version.record, nil, nil)
            // If the record was deleted on both sides, nothing remains to be sent.
            try transaction.keep(edit.base == nil && edit.mine == nil ? nil : edit, of: name, in: zone.key)
        case .conflict:
            edit.theirs = change.version
            try transaction.keep(edit, of: name, in: zone.key)
            outcome.conflicts.append(edit.recordID)
        }
    }

    /// Makes the record in the mirror equal to the one in the origin.
    private func adopt(_ change: MirrorBatch.Change, in zone: TransactionZone, _ outcome: inout MirrorOutcome) throws {
        let existing = try transaction.record(named: change.version.recordID.recordName, in: zone.key)
        guard case .saved(let record) = change.version else {
            guard let existing else { return outcome.unchanged += 1 }
            // CloudKit does not report who deleted a record, and when.
            _ = try transaction.delete(
                existing, in: zone.key, by: Signature(timestamp: now, userRecordName: "", deviceID: ""))
            return outcome.deleted += 1
        }
        // Equal tags mean equal versions, unless the record was edited here: two stores may assign the same tag to
        // different versions.
        if let existing, existing.recordChangeTag == record.recordChangeTag, !change.replacesSame {
            return outcome.unchanged += 1
        }
        var previous = existing
        if let existing, existing.recordType != record.recordType {
            _ = try transaction.delete(existing, in: zone.key, by: record.modified)
            previous = nil
        }
        let fields = try admitted(record.fields.decoded(), of: record.recordType)
        let before = Dictionary(
            try previous?.fields.decoded().map { ($0.name, $0) } ?? [], uniquingKeysWith: { first, _ in first })
        let draft = RecordDraft(
            recordID: RecordID(recordName: record.recordID.recordName, zoneID: zone.zoneID),
            recordType: record.recordType, created: record.created,
            modified: record.modified, parent: record.parent, fields: fields, text: FieldsText(Array(fields.values)),
            previousFields: before,
            recordChangeTag: record.recordChangeTag, sharing: record.sharing)
        _ = try transaction.save(draft, replacing: previous, in: zone.key)
        outcome.saved += 1
        if zone.zoneID.ownerRecordName == ZoneID.publicOwner, fields.values.contains(where: \.isEncrypted) {
            outcome.encryptedInPublic += 1
        }
    }

    /// The fields in the types of the mirror's schema. Unknown types and fields are added to the schema.
    private func admitted(_ fields: [Field], of typeName: Name) throws -> [Name: Field] {
        let declared = transaction.schema.types[typeName]
        var type = declared ?? .mirrored(typeName)
        var admitted: [Name: Field] = [:]
        for var field in fields {
            if let known = type.fields[field.name]?.type {
                guard let value = FieldInput(field.value).value(declared: known) else {
                    throw RecordError(
                        .badRequest,
                        "The field '\(field.name)' of type '\(typeName)' is \(field.value.typeName) in the origin and \(known.wireName) in the mirror's schema"
                    )
                }
                (field.value, field.isEncrypted) = (value, known.isEncrypted)
            } else {
                // The type of an empty list is unknown.
                guard var fieldType = field.value.type else { continue }
                fieldType.isEncrypted = field.isEncrypted && fieldType.canBeEncrypted
                field.isEncrypted = fieldType.isEncrypted
                type.fields[field.name] = FieldDefinition(type: fieldType, indexes: fieldType.allowedIndexes)
            }
            admitted[field.name] = field
        }
        if type != declared { try transaction.grow(type) }
        return admitted
    }
}

extension RecordType {
    /// A type of a mirror, with all indexes of the system fields, so that all queries are possible.
    fileprivate static func mirrored(_ name: Name) -> RecordType {
        RecordType(
            name: name,
            systemIndexes: Dictionary(uniqueKeysWithValues: SystemField.implicit.map { ($0, $0.allowedIndexes) }))
    }
}

extension RecordType {
    /// The type with the fields and indexes of another type added. Its own fields keep their types.
    fileprivate func adding(_ other: RecordType) -> RecordType {
        var type = self
        for (name, definition) in other.fields {
            if let known = type.fields[name] {
                type.fields[name]?.indexes = known.indexes.union(
                    definition.indexes.intersection(known.type.allowedIndexes))
            } else {
                type.fields[name] = definition
            }
        }
        type.systemIndexes.merge(other.systemIndexes) { $0.union($1) }
        return type
    }
}

extension UnsentEdit {
    /// The effect of a version in the origin on an edit.
    enum Verdict {
        /// The origin has received the edit.
        case adopt
        /// The version is the one on which the edit is based.
        case ignore
        /// The edit is now based on this version.
        case rebase
        case conflict
    }

    func verdict(on change: MirrorBatch.Change) throws -> Verdict {
        // The record may have been edited again while the edit was being sent.
        if let accepted = change.accepted { return accepted == position ? .adopt : .rebase }
        if try Self.isSame(change.version.record, mine) { return .adopt }
        if let base, let record = change.version.record, record.recordChangeTag == base.recordChangeTag {
            return .ignore
        }
        if base == nil, change.version.record == nil { return .ignore }
        // The response to a sent edit was lost, and the record was edited again since.
        if let sent, try Self.isSame(change.version.record, sent.record) { return .rebase }
        return .conflict
    }

    /// True if both versions have the same content, whoever saved them.
    private static func isSame(_ left: StoredRecord?, _ right: StoredRecord?) throws -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        guard left.recordType == right.recordType, left.parent == right.parent, rights(in: left) == rights(in: right)
        else { return false }
        return try left.fields == right.fields
            || Set(left.fields.decoded().map(\.content)) == Set(right.fields.decoded().map(\.content))
    }
}

extension UnsentEdit {
    /// The part of a share that its owner determines. The origin adds the rest.
    private static func rights(in record: StoredRecord) -> [String: String]? {
        record.sharing?.share.map { share in
            let permissions = share.participants.filter { $0.role != .owner }.map {
                ($0.participantID, "\($0.role) \($0.permission)")
            }
            return Dictionary(
                permissions + [("", share.publicPermission.rawValue)], uniquingKeysWith: { first, _ in first })
        }
    }
}

extension Field {
    /// The field without members that differ between containers with the same data.
    fileprivate var content: Field {
        Field(name: name, value: value.content)
    }
}

extension FieldValue {
    fileprivate var content: FieldValue {
        switch self {
        case .asset(let asset): .asset(Asset(fileChecksum: asset.fileChecksum, size: asset.size))
        case .list(let elements, let type): .list(elements.map(\.content), of: type)
        default: self
        }
    }
}
