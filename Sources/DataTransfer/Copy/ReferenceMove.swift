public import JSON
public import Records

/// Rewrites references for a copy of their record in another zone. A reference to the source zone or owner becomes one to the target zone or owner.
public struct ReferenceMove: Sendable {
    private let source: ZoneID
    private let sourceScope: DatabaseScope
    private let sourceOwner: Name?
    private let target: ZoneID
    private let targetScope: DatabaseScope
    private let targetOwner: Name

    /// - Parameters:
    ///   - user: the owner of the source database, if known.
    ///   - targetUser: the owner of the target database.
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

    /// True if all references stay the same.
    var changesNothing: Bool { source.zoneName == target.zoneName && sourceOwner == targetOwner }

    /// The reference in the copy.
    public func moved(_ reference: Reference) -> Reference {
        guard !changesNothing, let named = reference.zoneID else { return reference }
        // In a shared database, the symbolic names of the current user do not mean the owner of the zone.
        let isSymbolic = sourceScope != .shared && named.ownerRecordName.map(ZoneID.currentOwnerNames.contains) ?? false
        guard isSymbolic || named.ownerRecordName == nil || named.ownerRecordName == sourceOwner else { return reference }
        var moved = reference
        let zoneName = named.zoneName == source.zoneName ? target.zoneName : named.zoneName
        // A symbolic name also means the owner in the target database. Keeping it makes a later export byte-identical.
        let keepsOwner = named.ownerRecordName == nil || isSymbolic && targetScope != .shared
        moved.zoneID = ZoneID(zoneName: zoneName, ownerRecordName: keepsOwner ? named.ownerRecordName : targetOwner)
        return moved
    }

    /// The fields of the copy.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func fields(of record: StoredRecord) throws -> [Field] {
        try record.fields.decoded().map { field in
            Field(name: field.name, value: field.value.mappingReferences(moved), isEncrypted: field.isEncrypted)
        }
    }

    /// The records in the copy's own zone that must exist when it is saved.
    /// - Parameter fields: the fields of the copy.
    public func validated(by fields: [Field]) -> [Name] {
        fields.flatMap(\.value.elements).compactMap { value in
            guard case .reference(let reference) = value, reference.action == .validate else { return nil }
            return reference.zoneID.map { $0.zoneName == target.zoneName } ?? true ? reference.recordName : nil
        }
    }
}

extension FieldValue {
    /// The value with every reference transformed.
    func mappingReferences(_ change: (Reference) -> Reference) -> FieldValue {
        switch self {
        case .reference(let reference): .reference(change(reference))
        case .list(let elements, let type): .list(elements.map { $0.mappingReferences(change) }, of: type)
        default: self
        }
    }
}
