public import Records

/// The rules for creating, deleting and sharing zones.
public enum ZoneRules {
    /// - Throws: `RecordError` BAD_REQUEST or ACCESS_DENIED with the rule.
    public static func check(_ operation: ZoneOperation, in address: DatabaseAddress, as caller: Caller) throws {
        let zoneID = operation.zoneID
        switch address.scope {
        case .public:
            throw RecordError(
                .badRequest, "Custom zones exist in private databases only; the public database has the default zone")
        case .shared:
            throw ownersOnly
        case .private: break
        }
        if zoneID.isDefault { throw RecordError(.badRequest, "The default zone can't be created or deleted") }
        try NameRules.checkCustomZoneName(zoneID.zoneName)
        if let owner = zoneID.ownerRecordName, owner != caller.userRecordName, !ZoneID.currentOwnerNames.contains(owner)
        {
            throw RecordError(.accessDenied, "The zone '\(zoneID.zoneName)' belongs to another user")
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST with the rule.
    public static func checkSharing(
        _ zoneID: ZoneID, in address: DatabaseAddress, with userRecordName: Name, as caller: Caller
    ) throws {
        guard address.scope == .private, !zoneID.isDefault else {
            throw RecordError(.badRequest, "Only custom zones of a private database can be shared")
        }
        if userRecordName == caller.userRecordName {
            throw RecordError(.badRequest, "A zone can't be shared with its owner")
        }
    }

    public static let ownersOnly = RecordError(
        .accessDenied, "Only the owner of a zone can create or delete it, in the owner's private database")

    public static let notShared = RecordError(.notFound, "The zone is not shared with this user")

    /// The error for databases and zones without a change feed.
    public static let noFeed = RecordError(known: .noFeed)
}

// MARK: - Changes

/// The rules for pulling zone changes.
public enum ZoneChangeRules {
    /// - Throws: `RecordError` BAD_REQUEST if there is no feed: in the public database, in the default zone, and in
    ///   reverse from a shared database.
    public static func check(_ request: ZoneChangesRequest, in address: DatabaseAddress) throws {
        if address.scope == .public || request.zoneID.isDefault { throw ZoneRules.noFeed }
        if request.reverse, address.scope == .shared { throw RecordError(known: .reverseShared) }
    }
}
