public import JSON
public import Records

/// User records: records of type Users in the default zone of the public database, named after the user.
///
/// Their first version is not saved by clients. An engine creates it when the record of a known user is requested by
/// name. So only requested user records exist.
public enum UserRecords {
    /// The field with the numbers of the user's roles (``CustomRole``).
    public static let rolesField: Name = "roles"

    /// True if only a user record can have this name.
    public static func isReserved(_ name: Name, in zoneID: ZoneID, of scope: DatabaseScope) -> Bool {
        scope == .public && zoneID.isDefault && name.isUserRecordName
    }

    /// Names that were not found and may be user records.
    public static func missing(_ recordIDs: [RecordID], _ found: [Result<StoredRecord, RecordError>], of scope: DatabaseScope) -> [Name] {
        guard scope == .public else { return [] }
        return zip(recordIDs, found).compactMap { recordID, result in
            guard isReserved(recordID.recordName, in: recordID.zoneID, of: scope), case .failure(.recordNotFound) = result else { return nil }
            return recordID.recordName
        }
    }

    /// The role numbers in a user record; none for other records.
    public static func roleNumbers(in record: StoredRecord?) throws -> Set<Int64> {
        guard let record, record.recordType == Schema.usersType, case .list(let elements, _)? = try record.fields.values(of: [rolesField])[rolesField]
        else { return [] }
        return Set(elements.compactMap { if case .int64(let number) = $0 { number } else { nil } })
    }
}

extension RecordTransaction {
    /// The record with a name. The record of a user known to the store is created if necessary.
    /// - Parameters:
    /// - zone: the zone to search.
    /// - scope: the database through which the zone was opened.
    public func record(orUser name: Name, in zone: TransactionZone, of scope: DatabaseScope, at now: Timestamp) throws -> StoredRecord? {
        if let record = try record(named: name, in: zone.key) { return record }
        guard UserRecords.isReserved(name, in: zone.zoneID, of: scope), schema.types[Schema.usersType] != nil, try knowsUser(name) else { return nil }
        let signature = Signature(timestamp: now, userRecordName: name, deviceID: Caller(userRecordName: name).deviceID)
        let draft = RecordDraft(
            recordID: RecordID(recordName: name, zoneID: zone.zoneID), recordType: Schema.usersType, created: signature, modified: signature,
            parent: nil, fields: [:], text: .empty, previousFields: [:])
        return try save(draft, replacing: nil, in: zone.key)
    }

    /// The role numbers of a user, from the public database.
    public func roleNumbers(of user: Name) throws -> Set<Int64> {
        try UserRecords.roleNumbers(in: record(named: user, in: zone(.default).key))
    }
}
