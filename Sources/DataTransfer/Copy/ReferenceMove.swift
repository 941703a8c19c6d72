public import JSON
public import Records

/// What becomes of a reference when the record that holds it goes to another zone: one that names its own zone or owner names those of the
/// copy then.
public struct ReferenceMove: Sendable {
    private let source: ZoneID
    private let sourceScope: DatabaseScope
    private let sourceOwner: Name?
    private let target: ZoneID
    private let targetScope: DatabaseScope
    private let targetOwner: Name

    /// - Parameters:
    ///   - user: whose database the source is, where that is known.
    ///   - targetUser: whose database the target is.
    public init(
        from source: ZoneID, in scope: DatabaseScope, of user: Name?, to target: ZoneID, in targetScope: DatabaseScope, of targetUser: Name
    ) {
        self.source = source
        sourceScope = scope
        sourceOwner = scope == .public ? ZoneID.publicOwner : source.ownerRecordName ?? user
        self.target = target
        self.targetScope = targetScope
        targetOwner = targetScope == .public ? ZoneID.publicOwner : target.ownerRecordName ?? targetUser
    }

    /// Whether references stay what they are.
    var changesNothing: Bool { source.zoneName == target.zoneName && sourceOwner == targetOwner }

    /// The reference as the copy is to have it.
    public func moved(_ reference: Reference) -> Reference {
        guard !changesNothing, let named = reference.zoneID else { return reference }
        // In a shared database the names for whoever asks don't mean the owner of the zone.
        let isSymbolic = sourceScope != .shared && named.ownerRecordName.map(ZoneID.currentOwnerNames.contains) ?? false
        guard isSymbolic || named.ownerRecordName == nil || named.ownerRecordName == sourceOwner else { return reference }
        var moved = reference
        let zoneName = named.zoneName == source.zoneName ? target.zoneName : named.zoneName
        // Such a name means the new owner where that one asks, and is kept, so that exporting again gives the same bytes.
        let keepsOwner = named.ownerRecordName == nil || isSymbolic && targetScope != .shared
        moved.zoneID = ZoneID(zoneName: zoneName, ownerRecordName: keepsOwner ? named.ownerRecordName : targetOwner)
        return moved
    }

    /// The fields of a record as its copy has them.
    /// - Throws: `RecordError` INTERNAL_ERROR when the stored fields are damaged.
    public func fields(of record: StoredRecord) throws -> [Field] {
        try record.fields.decoded().map { field in
            Field(name: field.name, value: field.value.mappingReferences(moved), isEncrypted: field.isEncrypted)
        }
    }

    /// The records of the copy's own zone that have to be there when it is saved.
    /// - Parameter fields: as the copy has them.
    public func validated(by fields: [Field]) -> [Name] {
        fields.flatMap(\.value.elements).compactMap { value in
            guard case .reference(let reference) = value, reference.action == .validate else { return nil }
            return reference.zoneID.map { $0.zoneName == target.zoneName } ?? true ? reference.recordName : nil
        }
    }
}

extension FieldValue {
    /// The same value with every reference changed.
    func mappingReferences(_ change: (Reference) -> Reference) -> FieldValue {
        switch self {
        case .reference(let reference): .reference(change(reference))
        case .list(let elements, let type): .list(elements.map { $0.mappingReferences(change) }, of: type)
        default: self
        }
    }
}
