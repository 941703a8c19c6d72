internal import JSON
internal import Records

/// Rejects sharing of record hierarchies, which is not supported.
enum SharingRules {
    private static let shareType: Name = "cloudkit.share"

    /// - Throws: `RecordError` BAD_REQUEST for a save that shares a record.
    static func check(_ operation: RecordOperation) throws {
        let what = operation.recordType == shareType ? "recordType '\(shareType)'" : operation.createsShortGUID ? "'createShortGUID'" : nil
        guard let what else { return }
        throw RecordError(
            .badRequest,
            "Sharing records is not supported yet by this version of Skylight: the operation has \(what). Leave it out; share whole zones with "
                + "/skylight/1/…/zones/share")
    }
}
