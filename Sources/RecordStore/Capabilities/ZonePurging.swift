public import Records

/// A database whose zones can be purged, as when a user deletes an app's data in the system settings.
public protocol ZonePurging: RecordDatabase {
    /// Purges a zone and its records. The change feed reports a purge, which tells clients not to upload the zone
    /// again.
    func purge(_ zoneID: ZoneID) async throws
}
