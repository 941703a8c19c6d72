public import Records

/// A database whose zones can be purged: what happens when a user removes an app's data in the system settings.
public protocol ZonePurging: RecordDatabase {
    /// Removes a zone and everything in it; clients learn of it as a purge, which says: don't upload it again.
    func purge(_ zoneID: ZoneID) async throws
}
