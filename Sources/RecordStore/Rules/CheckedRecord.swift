public import Records

/// Checks one record and lists the records and files it depends on.
struct CheckedRecord {
    /// A reference or a parent.
    struct Link: Hashable {
        let field: Name
        /// As stated in the record.
        let target: RecordID
        let action: Reference.Action?
        let isInOtherZone: Bool

        var isParent: Bool { action == nil }
    }

    /// The field name used in findings for a record's parent.
    static let parentField: Name = "parent"
    /// Size of fields in bytes from which a record counts as nearly too large.
    static let largeSize = BatchModifier.recordSizeLimit / 10 * 9

    let record: StoredRecord
    private let fields: [Field]

    /// - Throws: `RecordError` INTERNAL_ERROR when the stored fields are damaged.
    init(_ record: StoredRecord) throws {
        self.record = record
        fields = try record.fields.decoded()
    }

    /// Findings of the record by itself.
    /// - Parameter scope: the database of the record.
    func findings(in scope: DatabaseScope) -> [RecordFinding] {
        [size, entityName].compactMap(\.self)
            + (scope == .public ? fields.filter(\.isEncrypted).map(encryptedInPublic) : [])
            + links.filter(\.isInOtherZone).map(acrossZones)
    }

    private func encryptedInPublic(_ field: Field) -> RecordFinding {
        finding(
            .encryptedInPublic, field: field.name,
            "The field is encrypted, which CloudKit refuses in the public database, where no user has the keys. An earlier version accepted that. "
                + "Clear the field, or save the value in another one that is not encrypted, or in the private database")
    }

    private var size: RecordFinding? {
        let size = record.fields.bytes.count
        guard size >= Self.largeSize else { return nil }
        return finding(
            .nearSizeLimit,
            "Its fields have \(size) bytes, and the limit is \(BatchModifier.recordSizeLimit) without assets. A slightly larger save is "
                + "refused. Move large values into an asset, or into other records")
    }

    private var entityName: RecordFinding? {
        guard let entity = MirroredNaming.rootEntity(of: record.recordType) else { return nil }
        let field = MirroredNaming.entityField
        switch fields.first(where: { $0.name == field })?.value {
        case .string(let name)?:
            if Name(name) == Name(entity) { return nil }
            return finding(
                .entityName, field: field,
                "The type is '\(record.recordType)' and \(field) says '\(name)': Core Data creates an object of that entity, which must be '\(entity)' "
                    + "or a sub-entity of it. Core Data skips the record if its model has no such entity")
        case let other:
            return finding(
                .entityName, field: field,
                "The type is '\(record.recordType)' and \(field) \(other == nil ? "is missing" : "is not a string"): Core Data does not know the entity and "
                    + "skips the record. It expects '\(entity)'")
        }
    }

    private func acrossZones(_ link: Link) -> RecordFinding {
        finding(
            .referenceAcrossZones, field: link.field, target: link.target,
            "The reference points to '\(link.target.recordName)' in zone '\(link.target.zoneID.zoneName)'. Operations that follow references stop at the zone: "
                + "shares, deletions and the sync of a single zone")
    }

    /// All references, and the parent.
    var links: [Link] {
        var links = fields.flatMap { field in
            field.value.elements.compactMap { value -> Link? in
                guard case .reference(let reference) = value else { return nil }
                let zoneID = zone(of: reference)
                return Link(
                    field: field.name, target: RecordID(recordName: reference.recordName, zoneID: zoneID),
                    action: reference.action,
                    isInOtherZone: zoneID != record.recordID.zoneID)
            }
        }
        if let parentID {
            links.append(Link(field: Self.parentField, target: parentID, action: nil, isInOtherZone: false))
        }
        return links
    }

    /// The zone of the target. Without an explicit owner it has the owner of the record's zone.
    private func zone(of reference: Reference) -> ZoneID {
        guard let zoneID = reference.zoneID else { return record.recordID.zoneID }
        guard let owner = zoneID.ownerRecordName, !ZoneID.currentOwnerNames.contains(owner) else {
            return ZoneID(zoneName: zoneID.zoneName, ownerRecordName: record.recordID.zoneID.ownerRecordName)
        }
        return zoneID
    }

    var assets: [(field: Name, asset: Asset)] {
        fields.flatMap { field in field.value.assets.map { (field.name, $0) } }
    }

    var parentID: RecordID? { record.parent.map { RecordID(recordName: $0, zoneID: record.recordID.zoneID) } }

    /// The finding for a record that is among its own ancestors.
    var circle: RecordFinding {
        finding(
            .parentCircle, field: Self.parentField, target: parentID,
            "Its parents lead back to it. No share reaches the record, and an app can't place it in a tree. An earlier version accepted that; save one "
                + "record of the circle with another parent, or without one")
    }

    /// The finding for the root of a share that is below the root of another one.
    var nestedShare: RecordFinding {
        finding(
            .nestedShare, field: Self.parentField, target: parentID,
            "It has a share, and its parent is shared, too. Guests of the share above see neither this record nor those below it. CloudKit refuses "
                + "that, and an earlier version accepted it; stop one of the shares, or clear the parent")
    }

    /// The finding for a link whose target does not exist.
    func dangling(_ link: Link) -> RecordFinding {
        let target = link.target.recordName
        let place = link.isInOtherZone ? "in zone '\(link.target.zoneID.zoneName)'" : "in its zone"
        if link.isParent {
            return finding(
                .danglingParent, field: link.field, target: link.target,
                "Its parent '\(target)' is not \(place). A share of the parent will not include the record, and an app can't place it in a tree"
            )
        }
        let consequence =
            switch link.action {
            case .deleteSelf?:
                "A DELETE_SELF reference is deleted with its target, so the target was saved with another name, or never"
            case .validate?: "Saves of this record are refused while the reference has the action VALIDATE"
            default: "The target was deleted, or is not saved yet. An app that follows the reference finds nothing"
            }
        return finding(
            .danglingReference, field: link.field, target: link.target,
            "The reference points to '\(target)', which is not \(place). \(consequence)")
    }

    func missing(_ asset: Asset, in field: Name) -> RecordFinding {
        finding(
            .missingAsset, field: field,
            "The file \(asset.fileChecksum) is not stored, so a download fails with NOT_FOUND. Upload the file again; run skylight assets verify for details"
        )
    }

    private func finding(_ kind: RecordFinding.Kind, field: Name? = nil, target: RecordID? = nil, _ explanation: String)
        -> RecordFinding
    {
        RecordFinding(
            kind: kind, recordID: record.recordID, recordType: record.recordType, fieldName: field, target: target,
            explanation: explanation)
    }
}

// MARK: - Shares

/// Checks shares for problems that the server accepts: nobody has accepted the share, or an invited user does not
/// exist.
public enum ShareCheck {
    /// Returns `true` if an invitation names a user who exists.
    public typealias UserLookup = @Sendable (LookupInfo) async throws -> Bool

    /// The minimum age in milliseconds of a share without guests to be reported: a day.
    static let patience: Int64 = 86_400_000

    /// - Parameters:
    ///   - record: a record that contains a share. Other records have no findings.
    ///   - isKnown: checks the addresses of invitations; `nil` skips them.
    public static func findings(in record: StoredRecord, at now: Timestamp, isKnown: UserLookup?) async throws
        -> [RecordFinding]
    {
        guard let share = record.sharing?.share else { return [] }
        func finding(_ kind: RecordFinding.Kind, _ field: Name, _ explanation: String) -> RecordFinding {
            RecordFinding(
                kind: kind, recordID: record.recordID, recordType: record.recordType, fieldName: field,
                explanation: explanation)
        }
        let invited = share.participants.filter { $0.status == .invited }
        var findings: [RecordFinding] = []
        let age = now.milliseconds.subtractingSaturated(record.created.timestamp.milliseconds)
        if share.guests.isEmpty, age >= patience {
            let days = age / patience
            let reason =
                if !invited.isEmpty {
                    "\(invited.count) invited, nobody accepted"
                } else if share.publicPermission != .none {
                    "Everybody with the link may join, nobody did"
                } else { "Nobody is invited, and the link admits nobody" }
            findings.append(
                finding(
                    .unacceptedShare, "participants",
                    "\(reason). The share was made \(days == 1 ? "a day" : "\(days) days") ago"))
        }
        guard let isKnown else { return findings }
        for participant in invited {
            var address = participant.lookupInfo
            address.userRecordName = address.userRecordName ?? participant.userRecordName
            if try await isKnown(address) { continue }
            let name = address.words
            findings.append(
                finding(
                    .unknownAddress, "participants",
                    "The invitation of '\(name)' leads to nobody: no user of this server has this address. Add the user, or correct the address"
                ))
        }
        return findings
    }
}

extension LookupInfo {
    /// The address in words.
    public var words: String { emailAddress ?? phoneNumber ?? userRecordName?.string ?? "an unknown address" }
}

/// The shared hierarchies of a zone, as needed for its check.
struct ZoneHierarchies {
    private static let pageSize = 200
    /// Maximum number of records examined to collect the types below the roots.
    private static let treeLimit = 20_000

    /// The hierarchies of shares that have not ended.
    private var living: Set<Int64> = []
    /// The types of the records below roots.
    private var types: Set<Name> = []

    /// - Returns: `nil` if the zone shares no hierarchies.
    init?(of zoneID: ZoneID, in database: any RecordDatabase) async throws {
        guard let listing = database.part(.listShares) else { return nil }
        var last: Int64?
        repeat {
            let page = try await listing.shares(in: zoneID, after: last, limit: Self.pageSize)
            living.formUnion(page.filter { $0.rootName != nil }.map(\.hierarchy))
            last = page.count == Self.pageSize ? page.last?.hierarchy : nil
        } while last != nil
        if living.isEmpty { return nil }
        for node in try await listing.tree(of: zoneID, limit: Self.treeLimit).nodes
        where node.parent != nil && node.hierarchy.map(living.contains) ?? false {
            types.insert(node.recordType)
        }
    }

    /// True if a record is the root of one share and its parent belongs to the hierarchy of another one.
    func isNested(_ record: StoredRecord, below parent: Int64?) -> Bool {
        guard record.sharing?.shareName != nil, let own = record.sharing?.hierarchy, let parent else { return false }
        return own != parent && living.contains(own) && living.contains(parent)
    }

    /// The finding for a record outside the hierarchies that probably belongs below one of their roots.
    func finding(for record: StoredRecord) -> RecordFinding? {
        guard record.parent == nil, types.contains(record.recordType),
            !(record.sharing?.hierarchy.map(living.contains) ?? false)
        else { return nil }
        return RecordFinding(
            kind: .besideHierarchies, recordID: record.recordID, recordType: record.recordType,
            fieldName: CheckedRecord.parentField,
            explanation:
                "It has no parent, so that no guest sees it. Other records of the type \(record.recordType) are shared, below a root. "
                + "Save it with a parent if guests should see it")
    }
}
