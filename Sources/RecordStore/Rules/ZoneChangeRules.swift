public import Records

/// The rules for pulling zone changes.
public enum ZoneChangeRules {
    /// - Throws: `RecordError` BAD_REQUEST if there is no feed: in the public database, in the default zone, and in
    ///   reverse from a shared database.
    public static func check(_ request: ZoneChangesRequest, in address: DatabaseAddress) throws {
        if address.scope == .public || request.zoneID.isDefault { throw ZoneRules.noFeed }
        if request.reverse, address.scope == .shared { throw RecordError(known: .reverseShared) }
    }
}
