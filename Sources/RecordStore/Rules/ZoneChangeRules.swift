public import Records

/// Which pulls there are.
public enum ZoneChangeRules {
    /// - Throws: `RecordError` BAD_REQUEST where there is no feed: in the public database, in the default zone, and in reverse
    ///   from a shared database.
    public static func check(_ request: ZoneChangesRequest, in address: DatabaseAddress) throws {
        if address.scope == .public || request.zoneID.isDefault { throw ZoneRules.noFeed }
        if request.reverse, address.scope == .shared { throw RecordError(.badRequest, "Reverse sync of share db is unsupported") }
    }
}
