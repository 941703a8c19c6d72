public import JSON
public import Records

/// The records of users: type Users, in the public database's default zone, under the name of the user.
///
/// Nobody saves the first version of one. An engine makes it when somebody asks for it by its name, for a user whom the store knows; so
/// there are as many as were asked for, and a user who never came has none.
public enum UserRecords {
    /// The field that holds the numbers of the user's roles (``CustomRole``).
    public static let rolesField: Name = "roles"

    /// Whether a name is one that only the record of a user can have.
    public static func isReserved(_ name: Name, in zoneID: ZoneID, of scope: DatabaseScope) -> Bool {
        scope == .public && zoneID.isDefault && name.isUserRecordName
    }

    /// The names that were looked up in vain and may be those of users.
    public static func missing(_ recordIDs: [RecordID], _ found: [Result<StoredRecord, RecordError>], of scope: DatabaseScope) -> [Name] {
        guard scope == .public else { return [] }
        return zip(recordIDs, found).compactMap { recordID, result in
            guard isReserved(recordID.recordName, in: recordID.zoneID, of: scope), case .failure(.recordNotFound) = result else { return nil }
            return recordID.recordName
        }
    }

    /// The roles' numbers that a record gives its user; none when it is no user's record.
    public static func roleNumbers(in record: StoredRecord?) throws -> Set<Int64> {
        guard let record, record.recordType == Schema.usersType, case .list(let elements, _)? = try record.fields.values(of: [rolesField])[rolesField]
        else { return [] }
        return Set(elements.compactMap { if case .int64(let number) = $0 { number } else { nil } })
    }
}

extension RecordTransaction {
    /// The record of a name, which is made when it is that of a user whom the store knows.
    /// - Parameters:
    ///   - zone: where to look.
    ///   - scope: the database that the zone was opened through.
    public func record(orUser name: Name, in zone: TransactionZone, of scope: DatabaseScope, at now: Timestamp) throws -> StoredRecord? {
        if let record = try record(named: name, in: zone.key) { return record }
        guard UserRecords.isReserved(name, in: zone.zoneID, of: scope), schema.types[Schema.usersType] != nil, try knowsUser(name) else { return nil }
        let signature = Signature(timestamp: now, userRecordName: name, deviceID: Caller(userRecordName: name).deviceID)
        let draft = RecordDraft(
            recordID: RecordID(recordName: name, zoneID: zone.zoneID), recordType: Schema.usersType, created: signature, modified: signature,
            parent: nil, fields: [:], text: .empty, previousFields: [:])
        return try save(draft, replacing: nil, in: zone.key)
    }

    /// The roles' numbers of a user, as the public database has them.
    public func roleNumbers(of user: Name) throws -> Set<Int64> {
        try UserRecords.roleNumbers(in: record(named: user, in: zone(.default).key))
    }
}
